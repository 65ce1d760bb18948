//! Whether what was measured is encryption at all, and keeps what it is given.

use cryptbench_record::{Arm, ArmRole};

use super::{Sentence, View};
use crate::quantity::count;

/// Nothing else matters if a system wrote plaintext or lost data; that all is well is worth a sentence.
pub(super) fn proof(view: &View<'_>) -> Vec<Sentence> {
    let evidence = &view.record.evidence;
    let arm = |id: &str| view.record.plan.arms.iter().find(|a| a.id == id);
    let is_encrypted = |a: &&Arm| a.role == ArmRole::Encrypted;
    let mut said = Vec::new();
    for found in evidence {
        let Some(arm) = arm(&found.arm) else { continue };
        if is_encrypted(&arm) && found.shows_plaintext() == Some(true) {
            said.push(Sentence::new(
                u8::MAX,
                format!(
                    "{} does not encrypt: what was written through it lies on the disk as it is. What it costs \
                     says nothing about encryption.",
                    arm.label
                ),
            ));
        }
        if !found.is_verified() {
            said.push(Sentence::new(
                u8::MAX,
                format!(
                    "{} does not give back all that was written, once it was closed and opened again.",
                    arm.label
                ),
            ));
        }
    }
    if !said.is_empty() {
        return said;
    }
    let clean = |id: &&str| arm(id).as_ref().is_some_and(is_encrypted);
    let searched: Vec<&str> = evidence
        .iter()
        .filter(|e| e.shows_plaintext() == Some(false))
        .map(|e| e.arm.as_str())
        .filter(clean)
        .collect();
    let proofs = evidence.iter().filter(|e| e.shows_plaintext() == Some(true)).count();
    if !searched.is_empty() && proofs > 0 {
        said.push(Sentence::new(
            1,
            format!(
                "No plaintext was found on the disk below {}, and all data came back; the same search finds it \
                 below {}.",
                count(searched.len(), "encrypted arm", "encrypted arms"),
                count(proofs, "arm that does not encrypt", "arms that do not encrypt")
            ),
        ));
    }
    said
}
