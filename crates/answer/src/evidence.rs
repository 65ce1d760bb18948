//! What is stored on the disk, in words: whether data was read back intact, whether plaintext was found, and which
//! properties of files are visible.

use cryptbench_record::{
    Arm, ArmRole, Evidence, Names, Randomness, ReadBack, Record, Rest, Reveals, Sizes,
};

use crate::quantity::{NONE, binary_bytes, count, fraction};
use crate::wording::list;

/// An arm's row of the table.
pub struct Row<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// Bytes that came back: `9.4 MiB`, `only 3.0 MiB of 9.4 MiB`, `LOST`, `not checked`.
    pub read_back: String,
    /// Whether plaintext was found: `none`, `FOUND` or `IN CACHE`; if nothing is encrypted, `seen` or `unseen`.
    pub plaintext: &'static str,
    /// Bits per byte, and the share of blocks below the threshold, if there are any such blocks.
    pub entropy: String,
    /// Other visible properties.
    pub reveals: String,
    /// Whether something is wrong.
    pub wrong: bool,
}

/// The rows of the examined arms, in the order of the plan.
pub fn rows(record: &Record) -> Vec<Row<'_>> {
    let of = |arm: &Arm| record.evidence.iter().find(|e| e.arm == arm.id);
    record.plan.arms.iter().filter_map(|arm| Some(row(arm, of(arm)?))).collect()
}

fn row<'a>(arm: &'a Arm, evidence: &Evidence) -> Row<'a> {
    let encrypted = arm.role == ArmRole::Encrypted;
    let plaintext = match (evidence.shows_plaintext(), encrypted) {
        (None, _) => "not searched",
        (Some(false), true) => "none",
        (Some(true), true) if evidence.shows_plaintext_in_cache() => "IN CACHE",
        (Some(true), true) => "FOUND",
        (Some(true), false) => "seen",
        (Some(false), false) => "UNSEEN",
    };
    let weak = matches!(evidence.randomness(), Randomness::Broken | Randomness::Doubtful);
    // Plaintext must be found on plain storage, and must not be found on encrypted storage.
    let as_it_must = evidence.shows_plaintext().is_none_or(|shows| shows != encrypted);
    let wrong = !evidence.is_verified() || weak || !as_it_must;
    Row {
        arm,
        read_back: read_back(evidence),
        plaintext,
        entropy: entropy(evidence),
        reveals: reveals(evidence, encrypted),
        wrong,
    }
}

fn read_back(evidence: &Evidence) -> String {
    let (written, verified) = (evidence.written_bytes, evidence.verified_bytes);
    match evidence.read_back() {
        ReadBack::Whole => mebibytes(verified),
        ReadBack::Unchecked => "not checked".to_owned(),
        ReadBack::Lost if verified == 0 => "LOST".to_owned(),
        ReadBack::Lost => format!("only {} of {}", mebibytes(verified), mebibytes(written)),
    }
}

/// `9.4 MiB`.
fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / 1_048_576.0)
}

fn entropy(evidence: &Evidence) -> String {
    let Some(entropy) = evidence.scan.as_ref().and_then(|s| s.entropy) else {
        return NONE.to_owned();
    };
    let mean = format!("{:.2}", entropy.mean);
    let low = if evidence.randomness() == Randomness::Broken { "TOO LOW" } else { "low" };
    match entropy.low_blocks {
        0 => mean,
        _ => format!("{mean}, {} {low}", fraction(entropy.low_share())),
    }
}

fn reveals(evidence: &Evidence, encrypted: bool) -> String {
    if encrypted && evidence.shows_plaintext_in_cache() {
        return "everything in its cache, which is not encrypted".to_owned();
    }
    if !encrypted || evidence.shows_plaintext() == Some(true) {
        return "everything: it is not encrypted".to_owned();
    }
    let partly = evidence.scan.as_ref().is_some_and(|scan| !scan.is_whole());
    let Some(reveals) = &evidence.reveals else {
        return match evidence.scan {
            Some(_) if partly => {
                "nothing in the part that was searched: no files, so no names or sizes".to_owned()
            }
            Some(_) => "nothing: no files, so no names or sizes".to_owned(),
            None => "unknown: it was not searched".to_owned(),
        };
    };
    // In a directory all names and sizes are visible, even if little of the content was searched.
    let partly = partly && reveals.files.is_none();
    let mut shows = shown(reveals);
    let marks: Vec<&str> = reveals.signatures.iter().map(String::as_str).collect();
    if !marks.is_empty() {
        shows.push(format!("its format ({})", marks.join(", ")));
    }
    if shows.is_empty() {
        return match partly {
            true => "nothing in the part that was searched, not even its format".to_owned(),
            false => "nothing, not even its format".to_owned(),
        };
    }
    let shows: Vec<&str> = shows.iter().map(String::as_str).collect();
    list(&shows, shows.len())
}

/// The visible properties of files, each in a few words.
fn shown(reveals: &Reveals) -> Vec<String> {
    let names = reveals.names.and_then(|names| match names {
        Names::Plain => Some("names"),
        Names::Length => Some("exact length of names"),
        Names::RoundedLength => Some("rounded length of names"),
        Names::Hidden => None,
    });
    let sizes = reveals.sizes.and_then(|sizes| match sizes {
        Sizes::Exact => Some("exact sizes"),
        Sizes::Rounded => Some("rounded sizes"),
        Sizes::Hidden => None,
    });
    let when = |shows: Option<bool>, words| (shows == Some(true)).then_some(words);
    [
        names,
        sizes,
        when(reveals.count, "number of files"),
        when(reveals.tree, "directories"),
        when(reveals.times, "modification times"),
    ]
    .into_iter()
    .flatten()
    .map(str::to_owned)
    .collect()
}

/// How the storage was closed before the search, and how much of it was searched, in sentences: the basis of the table.
pub fn method(record: &Record) -> Vec<String> {
    let evidence = &record.evidence;
    let ways: Vec<&str> = [
        (Rest::Unmounted, "unmounted, with its programs stopped and its keys removed"),
        (Rest::KeyRemoved, "locked, with its key removed"),
        (Rest::CacheDropped, "dropped from the page cache"),
    ]
    .into_iter()
    .filter(|(rest, _)| evidence.iter().any(|e| e.rest == *rest))
    .map(|(_, words)| words)
    .collect();
    // Everything in the schedule except plain itself.
    let wanted = record.plan.arms.iter().filter(|a| a.role != ArmRole::Plain).count();
    let (who, was) = match evidence.len() {
        n if n == wanted => ("each choice except plain".to_owned(), "was"),
        n => {
            (format!("{n} of the {} other than plain", count(wanted, "choice", "choices")), "were")
        }
    };
    let scans: Vec<_> = evidence.iter().filter_map(|e| e.scan.as_ref()).collect();
    let searched = match scans.len() {
        0 => "the storage was not searched".to_owned(),
        n if n == evidence.len() => "the storage was searched for that text".to_owned(),
        n => format!("the storage of {n} of them was searched for that text"),
    };
    let mut said = vec![format!(
        "After the trials {who} wrote a marked text and {was} closed ({}). Meanwhile {searched}; then everything was \
         opened again and read back.",
        ways.join("; or ")
    )];
    let partly = scans.iter().filter(|s| !s.is_whole()).count();
    if let Some(least) = scans.iter().map(|s| s.scanned_bytes).min() {
        let part = match partly {
            0 => String::new(),
            n if n == scans.len() => {
                ": the data written last, and a sample spread evenly over the rest".to_owned()
            }
            n => format!(
                "; in {n} of {}, only the data written last and a sample spread evenly over the rest",
                scans.len()
            ),
        };
        said.push(format!(
            "At least {} of each was searched{part}.",
            binary_bytes(least / 4096 * 4096)
        ));
    }
    said.push(
        "Entropy is in bits per byte of 4 KiB blocks: ciphertext has 7.95, and none of its blocks is below 7.9 (low)."
            .to_owned(),
    );
    let untold = |e: &&Evidence| e.scan.is_some() && e.randomness() == Randomness::Untold;
    let encrypted = |e: &&Evidence| {
        record.plan.arms.iter().any(|a| a.id == e.arm && a.role == ArmRole::Encrypted)
    };
    let untold = evidence.iter().filter(untold).filter(encrypted).count();
    if untold > 0 {
        said.push(format!(
            "It is not informative for {}, because the system's own file systems and logs are mixed with the ciphertext.",
            count(untold, "choice", "choices")
        ));
    }
    said.extend(evidence.iter().filter_map(|e| {
        let arm = record.plan.arms.iter().find(|a| a.id == e.arm)?;
        let said = |why: &String, what: &str| format!("{}{what}: {why}.", arm.label);
        let lost = e.lost.as_ref().map(|why| said(why, " lost written data"));
        let unchecked = || e.failure.as_ref().map(|why| said(why, " could not be checked"));
        let not_scanned = || e.not_scanned.as_ref().map(|why| said(why, ""));
        lost.or_else(unchecked).or_else(not_scanned)
    }));
    said
}
