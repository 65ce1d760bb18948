//! What lies on the disk, in words: whether data came back, whether plaintext was found, and what shows of files.

use cryptbench_record::{Arm, ArmRole, Evidence, Names, Record, Rest, Reveals, Sizes};

use crate::quantity::{NONE, binary_bytes, fraction};
use crate::wording::list;

/// One arm's line of the table.
pub(crate) struct Row<'a> {
    pub(crate) arm: &'a Arm,
    /// Bytes that came back: `9.4 MiB`, `3 of 9.4 MiB`, `failed`.
    pub(crate) read_back: String,
    /// Whether plaintext was found: `none`, `FOUND`, `seen` and `unseen` where nothing is encrypted.
    pub(crate) plaintext: &'static str,
    /// Bits for each byte, and the share of blocks below the threshold if there are any.
    pub(crate) entropy: String,
    /// What shows besides.
    pub(crate) reveals: String,
    /// Whether something is not as it must be.
    pub(crate) wrong: bool,
}

/// The lines of the arms that were looked at, in the order of the plan.
pub(crate) fn rows(record: &Record) -> Vec<Row<'_>> {
    let of = |arm: &Arm| record.evidence.iter().find(|e| e.arm == arm.id);
    record.plan.arms.iter().filter_map(|arm| Some(row(arm, of(arm)?))).collect()
}

fn row<'a>(arm: &'a Arm, evidence: &Evidence) -> Row<'a> {
    let encrypted = arm.role == ArmRole::Encrypted;
    let plaintext = match (evidence.shows_plaintext(), encrypted) {
        (None, _) => "not searched",
        (Some(false), true) => "none",
        (Some(true), true) => "FOUND",
        (Some(true), false) => "seen",
        (Some(false), false) => "UNSEEN",
    };
    let wrong = !evidence.is_verified() || matches!(plaintext, "FOUND" | "UNSEEN");
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
    match () {
        () if evidence.is_verified() => mebibytes(verified),
        () if verified == 0 => "FAILED".to_owned(),
        () => format!("only {} of {}", mebibytes(verified), mebibytes(written)),
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
    match entropy.low_blocks {
        0 => mean,
        _ => format!("{mean}, {} low", fraction(entropy.low_share())),
    }
}

fn reveals(evidence: &Evidence, encrypted: bool) -> String {
    if !encrypted || evidence.shows_plaintext() == Some(true) {
        return "everything: it is not encrypted".to_owned();
    }
    let Some(reveals) = &evidence.reveals else {
        return match evidence.scan {
            Some(_) => "nothing: there are no files".to_owned(),
            None => "what is not known: it was not searched".to_owned(),
        };
    };
    let mut shows = shown(reveals);
    let marks: Vec<&str> = reveals.signatures.iter().map(String::as_str).collect();
    if !marks.is_empty() {
        shows.push(format!("what it is ({})", marks.join(", ")));
    }
    if shows.is_empty() {
        return "nothing, not even what it is".to_owned();
    }
    let shows: Vec<&str> = shows.iter().map(String::as_str).collect();
    list(&shows, shows.len())
}

/// What shows of files, each in a few words.
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
        when(reveals.times, "times of changes"),
    ]
    .into_iter()
    .flatten()
    .map(str::to_owned)
    .collect()
}

/// How the data lay at rest, and how much was searched, in sentences: what the table rests on.
pub(crate) fn method(record: &Record) -> Vec<String> {
    let evidence = &record.evidence;
    let ways: Vec<&str> = [
        (Rest::Unmounted, "unmounted, with its programs ended and its keys removed"),
        (Rest::KeyRemoved, "locked, with its key removed"),
        (Rest::CacheDropped, "dropped from the page cache"),
    ]
    .into_iter()
    .filter(|(rest, _)| evidence.iter().any(|e| e.rest == *rest))
    .map(|(_, words)| words)
    .collect();
    let mut said = vec![format!(
        "After the trials a marked text was written through each arm, which was then {}, searched as it lay on \
         the storage, opened again and read.",
        ways.join(", or ")
    )];
    let scans: Vec<_> = evidence.iter().filter_map(|e| e.scan.as_ref()).collect();
    let partly = scans.iter().filter(|s| s.scanned_bytes < s.stored_bytes).count();
    if let Some(least) = scans.iter().map(|s| s.scanned_bytes).min() {
        let part = match partly {
            0 => String::new(),
            n => format!(", and of {n} of {} arms only a part, evenly spread", scans.len()),
        };
        said.push(format!(
            "At least {} of each were searched{part}.",
            binary_bytes(least / 4096 * 4096)
        ));
    }
    said.push(
        "Entropy is in bits for each byte of blocks of 4 KiB: ciphertext has 7.95, and no block of it is below 7.9 \
         (low)."
            .to_owned(),
    );
    said.extend(evidence.iter().filter_map(|e| {
        let arm = record.plan.arms.iter().find(|a| a.id == e.arm)?;
        let why = e.failure.as_ref().or(e.not_scanned.as_ref())?;
        Some(format!("{}: {why}.", arm.label))
    }));
    said
}
/// Whether an encrypted arm was shown to store plaintext, or not to keep what it is given: no choice for anybody,
/// however fast.
pub(crate) fn is_unsound(record: &Record, arm: &Arm) -> bool {
    let evidence = record.evidence.iter().find(|e| e.arm == arm.id);
    arm.role == ArmRole::Encrypted
        && evidence.is_some_and(|e| {
            e.shows_plaintext() == Some(true)
                || (e.failure.is_none() && e.verified_bytes < e.written_bytes)
        })
}
