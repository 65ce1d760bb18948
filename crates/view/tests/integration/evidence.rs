//! The description of the stored data, in a terminal and on the page.

use cryptbench_answer::Labelled;
use cryptbench_record::{
    ArmRole, Entropy, Evidence, Names, Randomness, Record, Rest, Reveals, Scan, Sizes,
};
use cryptbench_view::html;
use cryptbench_view::terminal::{Style, render};

use crate::analyse;
use crate::fixture::Fixture;

/// A record whose arms were examined and are all as they must be.
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
                    markers_beside: 0,
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

/// The section alone.
fn section(record: &Record) -> String {
    let text = text(record);
    let from = text.find("Data stored on the disk").expect("the section");
    text[from..].split("\n\n").next().unwrap().to_owned()
}

/// What the section says about the last choice.
fn last(record: &Record) -> String {
    let (section, whole) = (section(record), section(&self::record()));
    let lines = section.lines().filter(|line| !whole.lines().any(|other| other == *line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The sentences that are based on the evidence; the first sentence of all comes first.
fn said(record: &Record) -> String {
    let others = analyse(&Record { evidence: Vec::new(), ..record.clone() }).sentences;
    let said = analyse(record).sentences.into_iter().filter(|s| !others.contains(s));
    said.collect::<Vec<_>>().join("\n")
}

#[test]
fn without_evidence_there_is_no_section() {
    let record = Fixture::default().record();
    assert!(!text(&record).contains("Data stored on the disk"));
    assert!(!html::page(&Labelled::of(&record).report()).contains("Data stored on the disk"));
}

#[test]
fn all_is_well_and_it_is_said() {
    let record = record();
    insta::assert_snapshot!(section(&record));
    insta::assert_snapshot!(said(&record), @"No plaintext was found on the disk of 2 choices, as far as it was searched, although the same search finds plaintext in 2 unencrypted locations. The data written last could be read back.");
    assert!(text(&record).lines().all(|line| line.chars().count() <= 80));
    let page = html::page(&Labelled::of(&record).report());
    assert!(page.contains("Data stored on the disk") && page.contains("7.95"));
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
    let mut all = vec![last(&record)];
    let hidden = Reveals {
        names: Some(Names::Hidden),
        sizes: Some(Sizes::Hidden),
        count: Some(false),
        ..Reveals::default()
    };
    record.evidence.last_mut().unwrap().reveals = Some(hidden);
    all.push(last(&record));
    let found = record.evidence.last_mut().unwrap();
    found.scan.as_mut().unwrap().scanned_bytes = 64 << 20;
    all.push(last(&record));
    // All entries of a directory are listed, whatever part of their content was searched.
    let found = record.evidence.last_mut().unwrap();
    found.scan.as_mut().unwrap().scanned_bytes = 1 << 20;
    found.reveals.as_mut().unwrap().files = Some((5, 70));
    all.push(last(&record));
    insta::assert_snapshot!(all.join("\n\n"), @"
            shows rounded length of names, exact sizes, number of files, modification
            times and its format (gocryptfs.conf)

            shows nothing in the part that was searched, not even its format

            shows nothing, not even its format
        At least 32 MiB of each was searched; in 3 of 4, only the data written last and
          a sample spread evenly over the rest.

            shows nothing, not even its format
        At least 1 MiB of each was searched: the data written last, and a sample spread
        ");
}

#[test]
fn plaintext_comes_before_every_figure() {
    let mut record = record();
    record.evidence.last_mut().unwrap().scan.as_mut().unwrap().markers = 3;
    assert!(said(&record).starts_with(&analyse(&record).sentences[0]));
    insta::assert_snapshot!(said(&record) + "\n" + &last(&record), @"
        AES-256 alone, 4096 B does not encrypt: data written through it is stored on the disk as plaintext. Its cost says nothing about encryption.
        AES-256 alone, 4096 B       8.0 MiB       FOUND              7.95
        ");
    assert!(html::page(&Labelled::of(&record).report()).contains("<strong>FOUND</strong>"));
}

#[test]
fn plaintext_in_a_cache_is_called_that() {
    let mut record = record();
    let scan = record.evidence.last_mut().unwrap().scan.as_mut().unwrap();
    (scan.markers, scan.markers_beside) = (3, 3);
    insta::assert_snapshot!(said(&record) + "\n" + &last(&record), @"
        AES-256 alone, 4096 B leaves plaintext in its cache: written data is stored there unencrypted. No plaintext was found in its encrypted files. While a file is open, its speed is that of the cache.
        AES-256 alone, 4096 B       8.0 MiB    IN CACHE              7.95
            shows everything in its cache, which is not encrypted
        ");
}

#[test]
fn what_did_not_come_back_and_what_was_not_seen_are_told() {
    let mut record = record();
    let told = |record: &Record| said(record) + "\n" + &last(record);
    let found = record.evidence.last_mut().unwrap();
    found.verified_bytes = 3 << 20;
    let mut all = vec![told(&record)];
    let found = record.evidence.last_mut().unwrap();
    (found.verified_bytes, found.failure) = (0, Some("it was gone".to_owned()));
    all.push(told(&record));
    let found = record.evidence.last_mut().unwrap();
    (found.lost, found.failure) = (Some("it cannot be read".to_owned()), None);
    all.push(told(&record));
    assert!(said(&record).starts_with(&analyse(&record).sentences[0]));
    record.evidence[0].scan.as_mut().unwrap().markers = 0;
    all.push(told(&record));
    insta::assert_snapshot!(all.join("\n\n"), @"
        AES-256 alone, 4096 B did not return all written data after it was closed and opened again.
        Data stored on the disk                 read back   plaintext         bits/byte
        ───────────────────────────────────────────────────────────────────────────────
        plain, repeated                           8.0 MiB        seen   4.12, 100 % low
        pass-through                              8.0 MiB        seen   4.12, 100 % low
        AES-256 alone, 512 B                      8.0 MiB        none              7.95
        AES-256 alone, 4096 B     only 3.0 MiB of 8.0 MiB        none              7.95

        AES-256 alone, 4096 B could not be checked after the trials: it was gone.
        No plaintext was found on the disk of 1 of 2 choices, as far as it was searched, although the same search finds plaintext in 2 unencrypted locations. The data written last could be read back.
        Data stored on the disk     read back   plaintext         bits/byte
        ───────────────────────────────────────────────────────────────────
        plain, repeated               8.0 MiB        seen   4.12, 100 % low
        pass-through                  8.0 MiB        seen   4.12, 100 % low
        AES-256 alone, 512 B          8.0 MiB        none              7.95
        AES-256 alone, 4096 B     not checked        none              7.95
        AES-256 alone, 4096 B could not be checked: it was gone.

        AES-256 alone, 4096 B did not return all written data after it was closed and opened again.
        AES-256 alone, 4096 B          LOST        none              7.95
        AES-256 alone, 4096 B lost written data: it cannot be read.

        AES-256 alone, 4096 B did not return all written data after it was closed and opened again.
        plain, repeated             8.0 MiB      UNSEEN   4.12, 100 % low
        AES-256 alone, 4096 B          LOST        none              7.95
        AES-256 alone, 4096 B lost written data: it cannot be read.
        ");
}

#[test]
fn what_was_not_looked_at_is_not_counted() {
    let mut record = record();
    let encrypted =
        |r: &Record| r.plan.arms.iter().filter(|a| a.role == ArmRole::Encrypted).count();
    let all = encrypted(&record);
    assert!(all > 1, "the fixture has two");
    let found = record.evidence.last_mut().unwrap();
    (found.scan, found.not_scanned) = (None, Some("nobody knows where it is".to_owned()));
    let one = said(&record) + "\n" + &last(&record);
    record.evidence.pop();
    insta::assert_snapshot!(one + "\n\n" + &last(&record), @"
        No plaintext was found on the disk of 1 of 2 choices, as far as it was searched, although the same search finds plaintext in 2 unencrypted locations. The data written last could be read back.
        Data stored on the disk   read back      plaintext         bits/byte
        ────────────────────────────────────────────────────────────────────
        plain, repeated             8.0 MiB           seen   4.12, 100 % low
        pass-through                8.0 MiB           seen   4.12, 100 % low
        AES-256 alone, 512 B        8.0 MiB           none              7.95
        AES-256 alone, 4096 B       8.0 MiB   not searched                 –
            shows unknown: it was not searched
          storage of 3 of them was searched for that text; then everything was opened
          again and read back.
        AES-256 alone, 4096 B: nobody knows where it is.

        After the trials 3 of the 4 choices other than plain wrote a marked text and
          were closed (unmounted, with its programs stopped and its keys removed).
          Meanwhile the storage was searched for that text; then everything was opened
          again and read back.
        ");
}

#[test]
fn what_is_less_random_than_ciphertext_holds_the_sentence_back() {
    let mut record = record();
    let scan = record.evidence.last_mut().unwrap().scan.as_mut().unwrap();
    scan.randomness = Randomness::Doubtful;
    scan.entropy.as_mut().unwrap().low_blocks = 1024;
    let all = [Randomness::Doubtful, Randomness::Broken, Randomness::Untold].map(|randomness| {
        record.evidence.last_mut().unwrap().scan.as_mut().unwrap().randomness = randomness;
        said(&record) + "\n" + &last(&record)
    });
    insta::assert_snapshot!(all.join("\n\n"), @"
        Much of the data of AES-256 alone, 4096 B on the disk has less entropy than ciphertext: that no plaintext was found there proves little.
        AES-256 alone, 4096 B       8.0 MiB        none    7.95, 50 % low

        AES-256 alone, 4096 B does not encrypt properly: its data on the disk has too little entropy for ciphertext. Its cost says nothing about encryption.
        Data stored on the disk   read back   plaintext            bits/byte
        ────────────────────────────────────────────────────────────────────
        plain, repeated             8.0 MiB        seen      4.12, 100 % low
        pass-through                8.0 MiB        seen      4.12, 100 % low
        AES-256 alone, 512 B        8.0 MiB        none                 7.95
        AES-256 alone, 4096 B       8.0 MiB        none   7.95, 50 % TOO LOW

        No plaintext was found on the disk of 2 choices, as far as it was searched, although the same search finds plaintext in 2 unencrypted locations. The data written last could be read back.
        AES-256 alone, 4096 B       8.0 MiB        none    7.95, 50 % low
        It is not informative for 1 choice, because the system's own file systems and
          logs are mixed with the ciphertext.
        ");
}
