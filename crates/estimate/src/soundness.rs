//! Arms that must not be chosen, however fast they are.

use cryptbench_catalog::find;
use cryptbench_record::{Arm, ArmRole, Randomness, ReadBack, Record};

/// Whether an encrypted arm was found to store plaintext or non-random data, or to lose data. Such an arm must not be
/// chosen, however fast it is. Arms that could not be checked do not count.
pub fn is_unsound(record: &Record, arm: &Arm) -> bool {
    let evidence = record.evidence.iter().find(|e| e.arm == arm.id);
    arm.role == ArmRole::Encrypted
        && evidence.is_some_and(|e| {
            e.shows_plaintext() == Some(true)
                || e.randomness() == Randomness::Broken
                || e.read_back() == ReadBack::Lost
        })
}

/// Whether the system of an arm should be avoided, whatever its speed.
pub fn has_known_weakness(arm: &Arm) -> bool {
    find(&arm.system).is_some_and(|system| system.weakness.is_some())
}
