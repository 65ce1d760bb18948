//! What to do with what was measured: each sentence with the figure and the interval that carry it, and left out where
//! the data do not.

mod bottleneck;
mod choice;
mod cipher;
mod container;
mod opening;
mod risks;
mod settings;
mod suitability;

use cryptbench_record::{Arm, ArmRole};

use crate::evidence::is_unsound;
use crate::lookup::Lookup;
use crate::presentation::Form;

/// The sentences of [`Results::advice`], the choice of a system first.
pub(crate) fn advice(lookup: &Lookup<'_>) -> Vec<String> {
    if Form::of(lookup.record) == Form::Unlock {
        return opening::openings(lookup);
    }
    let arms = sound(lookup);
    let mut found = choice::best(lookup, &arms);
    found.extend(cipher::fastest(lookup, &arms));
    found.extend(bottleneck::bottleneck(lookup));
    found.extend(settings::changes(lookup, &arms));
    found.extend(container::places(lookup, &arms));
    found.extend(suitability::uses(lookup, &arms));
    found.extend(risks::risks(&arms));
    found
}

/// The encrypted arms that encrypt and lose nothing, as far as that was checked.
fn sound<'a>(lookup: &Lookup<'a>) -> Vec<&'a Arm> {
    let encrypted = lookup.arms().iter().filter(|a| a.role == ArmRole::Encrypted);
    encrypted.filter(|arm| !is_unsound(lookup.record, arm)).collect()
}
