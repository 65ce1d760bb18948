//! Whether the measured systems really encrypt and preserve their data.

use cryptbench_record::{Arm, ArmRole, Evidence, Randomness, ReadBack};

use super::{Sentence, View};
use crate::quantity::count;

/// Nothing else matters if a system wrote plaintext or lost data. If all checks passed, one sentence says so, and says
/// what the checks covered.
pub(super) fn proof(view: &View<'_>) -> Vec<Sentence> {
    let arms = &view.record.plan.arms;
    let found: Vec<(&Arm, &Evidence)> = view
        .record
        .evidence
        .iter()
        .filter_map(|e| Some((arms.iter().find(|a| a.id == e.arm)?, e)))
        .collect();
    let wrong: Vec<Sentence> = found.iter().flat_map(|(arm, e)| wrong(arm, e)).collect();
    if !wrong.is_empty() {
        return wrong;
    }
    let mut said: Vec<Sentence> = found.iter().filter_map(|(arm, e)| unchecked(arm, e)).collect();
    said.extend(all_well(arms, &found));
    said
}

fn is_encrypted(arm: &Arm) -> bool {
    arm.role == ArmRole::Encrypted
}

/// The fault of an arm.
fn wrong(arm: &Arm, found: &Evidence) -> Vec<Sentence> {
    let label = &arm.label;
    let mut said = Vec::new();
    let mut say = |words: String| said.push(Sentence::new(u8::MAX, words));
    if is_encrypted(arm) && found.shows_plaintext_in_cache() {
        say(format!(
            "{label} leaves plaintext in its cache: written data is stored there unencrypted. No plaintext was found \
             in its encrypted files. While a file is open, its speed is that of the cache."
        ));
    } else if is_encrypted(arm) && found.shows_plaintext() == Some(true) {
        say(format!(
            "{label} does not encrypt: data written through it is stored on the disk as plaintext. Its cost says \
             nothing about encryption."
        ));
    } else if is_encrypted(arm) {
        match found.randomness() {
            Randomness::Broken => say(format!(
                "{label} does not encrypt properly: its data on the disk has too little entropy for ciphertext. Its \
                 cost says nothing about encryption."
            )),
            Randomness::Doubtful => say(format!(
                "Much of the data of {label} on the disk has less entropy than ciphertext: that no plaintext was \
                 found there proves little."
            )),
            Randomness::Random | Randomness::Untold => {}
        }
    }
    if found.read_back() == ReadBack::Lost {
        say(format!(
            "{label} did not return all written data after it was closed and opened again."
        ));
    }
    said
}

/// States that nothing is known about an arm.
fn unchecked(arm: &Arm, found: &Evidence) -> Option<Sentence> {
    let why = found.failure.as_ref()?;
    Some(Sentence::new(
        u8::MAX - 1,
        format!("{} could not be checked after the trials: {why}.", arm.label),
    ))
}

/// The checks that passed, and for how many arms.
fn all_well(arms: &[Arm], found: &[(&Arm, &Evidence)]) -> Option<Sentence> {
    let proofs = found.iter().filter(|(_, e)| e.shows_plaintext() == Some(true)).count();
    let clean: Vec<&Evidence> = found
        .iter()
        .filter(|(arm, e)| {
            is_encrypted(arm) && e.shows_plaintext() == Some(false) && e.is_verified()
        })
        .map(|(_, e)| *e)
        .collect();
    if clean.is_empty() || proofs == 0 {
        return None;
    }
    let all = arms.iter().filter(|arm| is_encrypted(arm)).count();
    let below = match clean.len() == all {
        true => count(all, "choice", "choices"),
        false => format!("{} of {}", clean.len(), count(all, "choice", "choices")),
    };
    let whole =
        clean.iter().all(|e| e.scan.as_ref().is_some_and(cryptbench_record::Scan::is_whole));
    let part = if whole { "" } else { ", as far as it was searched" };
    Some(Sentence::new(
        1,
        format!(
            "No plaintext was found on the disk of {below}{part}, although the same search finds plaintext in {}. \
             The data written last could be read back.",
            count(proofs, "unencrypted location", "unencrypted locations")
        ),
    ))
}
