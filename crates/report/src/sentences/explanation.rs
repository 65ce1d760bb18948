//! What encryption adds to each request and each byte, where block sizes were swept.

use cryptbench_record::ArmRole;

use super::{Sentence, View};
use crate::explanation::reasons::addition;
use crate::explanation::sweep::sweeps;
use crate::lookup::Lookup;

/// Of the encrypted arm that adds most to the smallest requests of the longest sweep.
pub(super) fn added(view: &View<'_>) -> Option<Sentence> {
    let lookup = Lookup::new(view.record, view.results);
    sweeps(&lookup).iter().find_map(|sweep| {
        let arms = sweep.added(&lookup);
        let encrypted = arms.iter().filter(|a| a.arm.role == ArmRole::Encrypted);
        let most = encrypted.max_by(|a, b| a.ends[0].extra_s.total_cmp(&b.ends[0].extra_s))?;
        Some(Sentence::new(4, addition(sweep, most)))
    })
}
