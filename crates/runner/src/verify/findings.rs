//! Draws conclusions from the evidence: whether a run has failed, and why.

use cryptbench_record::{Arm, ArmRole, Entropy, Evidence, Randomness, ReadBack};
use cryptbench_text::chain;

use super::inspect::Failure;
use crate::RunError;

/// A violated requirement.
pub(super) struct Finding {
    /// Severity; a lower number is more serious.
    pub(super) gravity: u8,
    /// A sentence with the name of the arm.
    pub(super) note: String,
    pub(super) error: RunError,
}

/// All faults of an arm; `failed` if it could not be inspected completely.
pub(super) fn findings(arm: &Arm, evidence: &Evidence, failed: Option<Failure>) -> Vec<Finding> {
    let wrong =
        |gravity, error: RunError| Finding { gravity, note: format!("{}.", chain(&error)), error };
    let mut all = Vec::new();
    all.extend(plaintext(arm, evidence).map(|e| wrong(0, e)));
    all.extend(not_random(arm, evidence).map(|e| wrong(1, e)));
    all.extend(lost(arm, evidence).map(|e| wrong(2, e)));
    all.extend(failed.and_then(unchecked).map(|error| Finding {
        gravity: 3,
        note: format!("{} could not be checked: {}.", arm.label, chain(&error)),
        error,
    }));
    all
}

fn plaintext(arm: &Arm, evidence: &Evidence) -> Option<RunError> {
    let scan = evidence.scan.as_ref()?;
    if arm.role != ArmRole::Encrypted || scan.markers == 0 {
        return None;
    }
    let (file, offset) = scan.first_marker.clone().unwrap_or_default();
    let (arm, places) = (arm.label.clone(), scan.markers);
    Some(match evidence.shows_plaintext_in_cache() {
        true => RunError::PlaintextInCache { arm, places, file, offset },
        false => RunError::Plaintext { arm, places, file, offset },
    })
}

/// If everything must be ciphertext, a single block with too little entropy is a failure, because random blocks do
/// not fall below the threshold by chance.
fn not_random(arm: &Arm, evidence: &Evidence) -> Option<RunError> {
    if arm.role != ArmRole::Encrypted || evidence.randomness() != Randomness::Broken {
        return None;
    }
    let Entropy { low_blocks, blocks, .. } = evidence.scan.as_ref()?.entropy?;
    Some(RunError::NotRandom { arm: arm.label.clone(), low: low_blocks, blocks })
}

fn lost(arm: &Arm, evidence: &Evidence) -> Option<RunError> {
    let problem = || match &evidence.lost {
        Some(why) => why.clone(),
        None => format!(
            "of {} bytes written, only {} were read back unchanged",
            evidence.written_bytes, evidence.verified_bytes
        ),
    };
    (evidence.read_back() == ReadBack::Lost)
        .then(|| RunError::NotKept { arm: arm.label.clone(), problem: problem() })
}

fn unchecked(failure: Failure) -> Option<RunError> {
    match failure {
        Failure::Storage(act, source) => Some(RunError::Storage { act, source }),
        Failure::System(e) => Some(RunError::System(e)),
        Failure::Stopped => None,
    }
}

/// Notes for the record in two cases. One is an arm without encryption whose storage does not contain the written
/// data: then the search of the other arms does not prove anything either. The other case is an encrypting arm that
/// stores much data that is not random.
pub(crate) fn doubts(arms: &[Arm], evidence: &[Evidence]) -> Vec<String> {
    let of = |e: &Evidence| arms.iter().find(|a| a.id == e.arm);
    let doubt = |e: &Evidence| {
        let arm = of(e)?;
        let encrypted = arm.role == ArmRole::Encrypted;
        if !encrypted && e.shows_plaintext() == Some(false) {
            return Some(format!(
                "Data written through {}, which does not encrypt, was not found on the storage, so not finding it \
                 under other systems proves nothing.",
                arm.label
            ));
        }
        (encrypted && e.randomness() == Randomness::Doubtful).then(|| {
            format!(
                "Much of the data stored under {} has too little entropy for ciphertext: it may contain the written \
                 data in another form.",
                arm.label
            )
        })
    };
    evidence.iter().filter_map(doubt).collect()
}

#[cfg(test)]
mod tests {
    use cryptbench_record::Scan;

    use super::*;

    fn arm(role: ArmRole) -> Arm {
        Arm { id: "a".to_owned(), label: "A".to_owned(), role, ..Arm::default() }
    }

    fn evidence(markers: u64, verified: u64) -> Evidence {
        let first_marker = (markers > 0).then(|| ("stored".to_owned(), 7));
        let entropy = Some(Entropy { blocks: 10, mean: 7.9, low_blocks: 1 });
        let scan = Scan { markers, first_marker, entropy, ..Scan::default() };
        Evidence {
            arm: "a".to_owned(),
            written_bytes: 9,
            verified_bytes: verified,
            scan: Some(scan),
            ..Evidence::default()
        }
    }

    fn random(randomness: Randomness) -> Evidence {
        let mut found = evidence(0, 9);
        found.scan.as_mut().unwrap().randomness = randomness;
        found
    }

    #[test]
    fn plaintext_fails_only_who_should_encrypt() {
        let error = plaintext(&arm(ArmRole::Encrypted), &evidence(3, 9)).unwrap();
        insta::assert_snapshot!(error, @"A does not encrypt: data written through it is stored as plaintext, at 3 offsets; the first is byte 7 of stored");
        assert!(plaintext(&arm(ArmRole::Encrypted), &evidence(0, 9)).is_none());
        assert!(plaintext(&arm(ArmRole::NullLayer), &evidence(3, 9)).is_none());
    }

    #[test]
    fn plaintext_in_a_cache_is_called_that_and_elsewhere_it_is_not() {
        let mut found = evidence(3, 9);
        found.scan.as_mut().unwrap().markers_beside = 3;
        let error = plaintext(&arm(ArmRole::Encrypted), &found).unwrap().to_string();
        insta::assert_snapshot!(error, @"A leaves plaintext in its cache: data written through it is stored there unencrypted, at 3 offsets; the first is byte 7 of stored. None was found in its encrypted storage");
        found.scan.as_mut().unwrap().markers_beside = 2;
        let error = plaintext(&arm(ArmRole::Encrypted), &found).unwrap().to_string();
        assert!(error.contains("does not encrypt"), "{error}");
    }

    #[test]
    fn what_is_not_random_fails_where_all_must_be() {
        let error = not_random(&arm(ArmRole::Encrypted), &random(Randomness::Broken)).unwrap();
        insta::assert_snapshot!(error, @"A does not encrypt as required: 1 of 10 blocks in its storage have too little entropy for ciphertext");
        for harmless in [Randomness::Untold, Randomness::Random, Randomness::Doubtful] {
            assert!(not_random(&arm(ArmRole::Encrypted), &random(harmless)).is_none());
        }
        assert!(not_random(&arm(ArmRole::NullLayer), &random(Randomness::Broken)).is_none());
        let doubtful = [random(Randomness::Doubtful)];
        assert_eq!(doubts(&[arm(ArmRole::Encrypted)], &doubtful).len(), 1);
    }

    #[test]
    fn what_does_not_come_back_fails_whoever_it_is() {
        for role in [ArmRole::Encrypted, ArmRole::NullLayer, ArmRole::PlainAgain] {
            assert!(lost(&arm(role), &evidence(0, 8)).is_some());
            assert!(lost(&arm(role), &evidence(0, 9)).is_none());
        }
    }

    #[test]
    fn a_search_that_finds_nothing_where_there_is_something_is_doubted() {
        let (null, encrypted) = (arm(ArmRole::NullLayer), arm(ArmRole::Encrypted));
        assert_eq!(doubts(std::slice::from_ref(&null), &[evidence(0, 9)]).len(), 1);
        assert!(doubts(&[null], &[evidence(1, 9)]).is_empty());
        assert!(doubts(&[encrypted], &[evidence(0, 9)]).is_empty());
    }
}
