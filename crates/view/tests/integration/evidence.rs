//! What a person reads of what lies on the disk, in a terminal and on the page.

use cryptbench_answer::Labelled;
use cryptbench_record::{
    ArmRole, Entropy, Evidence, Names, Randomness, Record, Rest, Reveals, Scan, Sizes,
};
use cryptbench_view::html;
use cryptbench_view::terminal::{Style, render};

use crate::analyse;
use crate::fixture::Fixture;

/// A record whose arms were looked at: all as it must be.
fn record() -> Record {
    let mut record = Fixture::default().record();
    record.evidence = record.plan.arms[1..]
        .iter()
        .map(|arm| {
            let encrypted = arm.role == ArmRole::Encrypted;
            let entropy = match encrypted {
                true => Entropy { blocks: 2048, mean: 7.9547, low_blocks: 0 },
                false => Entropy { blocks: 2048, mean: 4.1184, low_blocks: 2048 },
            };
            let markers = if encrypted { 0 } else { 131_072 };
            let first_marker = (!encrypted).then(|| ("the scratch file".to_owned(), 0));
            Evidence {
                arm: arm.id.clone(),
                rest: Rest::Unmounted,
                written_bytes: 8 << 20,
                verified_bytes: 8 << 20,
                scan: Some(Scan {
                    stored_bytes: 64 << 20,
                    scanned_bytes: 32 << 20,
                    markers,
                    first_marker,
                    entropy: Some(entropy),
                    randomness: if encrypted { Randomness::Random } else { Randomness::Untold },
                }),
                ..Evidence::default()
            }
        })
        .collect();
    record
}

fn text(record: &Record) -> String {
    render(&Labelled::of(record).report(), Style { width: 80, colour: false })
}

/// The section alone, its lines joined.
fn section(record: &Record) -> String {
    let text = text(record);
    let from = text.find("What lies on the disk").expect("the section");
    text[from..].split("\n\n").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn without_evidence_there_is_no_section() {
    let record = Fixture::default().record();
    assert!(!text(&record).contains("What lies on the disk"));
    assert!(!html::page(&Labelled::of(&record).report()).contains("What lies on the disk"));
}

#[test]
fn all_is_well_and_it_is_said() {
    let record = record();
    let section = section(&record);
    assert!(section.contains("8.0 MiB none 7.95"), "{section}");
    assert!(section.contains("8.0 MiB seen 4.12, 100 % low"), "{section}");
    assert!(section.contains("everything: it is not encrypted"), "{section}");
    assert!(section.contains("At least 32 MiB of each were searched; of"), "{section}");
    assert!(
        section
            .contains("each choice but plain itself wrote a marked text and was closed (unmounted"),
        "{section}"
    );
    let said = analyse(&record).sentences.join("\n");
    assert!(said.contains("No plaintext was found on the disk"), "{said}");
    assert!(said.contains("as far as it was searched"), "half of it: {said}");
    assert!(text(&record).lines().all(|line| line.chars().count() <= 80));
    let page = html::page(&Labelled::of(&record).report());
    assert!(page.contains("What lies on the disk") && page.contains("7.95"));
}

#[test]
fn what_shows_is_listed_in_words() {
    let mut record = record();
    record.evidence.last_mut().unwrap().reveals = Some(Reveals {
        names: Some(Names::RoundedLength),
        sizes: Some(Sizes::Exact),
        count: Some(true),
        tree: Some(false),
        times: Some(true),
        signatures: vec!["gocryptfs.conf".to_owned()],
        files: Some((5, 7)),
    });
    let all = section(&record);
    let expected = "shows rounded length of names, exact sizes, number of files, times of changes and what it is \
                    (gocryptfs.conf)";
    assert!(all.contains(expected), "{all}");
    let hidden = Reveals {
        names: Some(Names::Hidden),
        sizes: Some(Sizes::Hidden),
        count: Some(false),
        ..Reveals::default()
    };
    record.evidence.last_mut().unwrap().reveals = Some(hidden);
    let shows = "shows nothing in the part that was searched, not even what it is";
    assert!(section(&record).contains(shows), "{}", section(&record));
    let last = record.evidence.last_mut().unwrap();
    last.scan.as_mut().unwrap().scanned_bytes = 64 << 20;
    assert!(section(&record).contains("shows nothing, not even what it is"));
    // Of a directory all entries are seen, whatever part of their content was searched.
    let last = record.evidence.last_mut().unwrap();
    last.scan.as_mut().unwrap().scanned_bytes = 1 << 20;
    last.reveals.as_mut().unwrap().files = Some((5, 70));
    assert!(section(&record).contains("shows nothing, not even what it is"));
}

#[test]
fn plaintext_comes_before_every_figure() {
    let mut record = record();
    let last = record.evidence.last_mut().unwrap();
    last.scan.as_mut().unwrap().markers = 3;
    let label = record.plan.arms.last().unwrap().label.clone();
    let sentences = analyse(&record).sentences;
    assert!(sentences[0].starts_with(&label) && sentences[0].contains("does not encrypt"));
    assert!(!sentences.join(" ").contains("No plaintext was found"));
    assert!(section(&record).contains("FOUND"));
    assert!(html::page(&Labelled::of(&record).report()).contains("<strong>FOUND</strong>"));
}

#[test]
fn what_did_not_come_back_and_what_was_not_seen_are_told() {
    let mut record = record();
    let last = record.evidence.last_mut().unwrap();
    last.verified_bytes = 3 << 20;
    assert!(section(&record).contains("only 3.0 MiB of 8.0 MiB"));
    assert!(analyse(&record).sentences[0].contains("does not give back"));
    let last = record.evidence.last_mut().unwrap();
    (last.verified_bytes, last.failure) = (0, Some("it was gone".to_owned()));
    assert!(section(&record).contains("not checked") && section(&record).contains("it was gone"));
    let said = analyse(&record).sentences.join(" ");
    assert!(said.contains("could not be checked after the trials: it was gone"), "{said}");
    assert!(!said.contains("does not give back"), "{said}");
    let last = record.evidence.last_mut().unwrap();
    (last.lost, last.failure) = (Some("it cannot be read".to_owned()), None);
    assert!(section(&record).contains("LOST") && section(&record).contains("it cannot be read"));
    assert!(analyse(&record).sentences[0].contains("does not give back"));
    record.evidence[0].scan.as_mut().unwrap().markers = 0;
    assert!(section(&record).contains("UNSEEN"));
}

#[test]
fn what_was_not_looked_at_is_not_counted() {
    let mut record = record();
    let encrypted =
        |r: &Record| r.plan.arms.iter().filter(|a| a.role == ArmRole::Encrypted).count();
    let all = encrypted(&record);
    assert!(all > 1, "the fixture has two");
    let last = record.evidence.last_mut().unwrap();
    (last.scan, last.not_scanned) = (None, Some("nobody knows where it is".to_owned()));
    let said = analyse(&record).sentences.join(" ");
    assert!(said.contains(&format!("below {} of {all} choices", all - 1)), "{said}");
    let looked = record.evidence.len();
    let section = section(&record);
    assert!(section.contains(&format!("what lay on the storage of {} of them", looked - 1)));
    record.evidence.pop();
    let section = self::section(&record);
    let beside = record.plan.arms.len() - 1;
    assert!(
        section.contains(&format!("{} of the {beside} choices beside plain wrote", looked - 1))
    );
}

#[test]
fn what_is_less_random_than_ciphertext_holds_the_sentence_back() {
    let mut record = record();
    let scan = record.evidence.last_mut().unwrap().scan.as_mut().unwrap();
    scan.randomness = Randomness::Doubtful;
    scan.entropy.as_mut().unwrap().low_blocks = 1024;
    let said = analyse(&record).sentences.join(" ");
    assert!(said.contains("proves little") && !said.contains("No plaintext was found"), "{said}");
    record.evidence.last_mut().unwrap().scan.as_mut().unwrap().randomness = Randomness::Broken;
    let said = analyse(&record).sentences;
    assert!(said[0].contains("does not encrypt as it must"), "{said:?}");
    assert!(section(&record).contains("50 % TOO LOW"), "{}", section(&record));
    record.evidence.last_mut().unwrap().scan.as_mut().unwrap().randomness = Randomness::Untold;
    assert!(section(&record).contains("Of 1 choice it tells nothing"));
    assert!(analyse(&record).sentences.join(" ").contains("No plaintext was found"));
}
