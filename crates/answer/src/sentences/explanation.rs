//! The time that encryption adds to each request and each byte, if block sizes were swept.

use cryptbench_estimate::sweep::{most_added, sweeps};
use cryptbench_record::ArmRole;

use super::{Sentence, View};
use crate::explanation::addition;

/// Describes the encrypted arm that adds most to the smallest requests of the longest sweep.
pub(super) fn added(view: &View<'_>) -> Option<Sentence> {
    sweeps(view.lookup).iter().find_map(|sweep| {
        let arms = sweep.added(view.lookup);
        let most = most_added(arms.iter().filter(|a| a.arm.role == ArmRole::Encrypted))?;
        Some(Sentence::new(4, addition(sweep, most)))
    })
}
