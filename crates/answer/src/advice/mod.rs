//! Results in addition to the answer: where the time goes, which cipher is fast, the uses that each system suits, and
//! known risks. Each sentence contains its supporting figure and interval, and is omitted if the data does not support
//! it.

mod bottleneck;
mod cipher;
pub mod container;
pub mod opening;
mod risks;
pub mod settings;
mod suitability;

use cryptbench_catalog::Presentation;
use cryptbench_estimate::arms::is_choice;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_estimate::ranking::Mean;
use cryptbench_estimate::soundness::{has_known_weakness, is_unsound};
use cryptbench_record::{Arm, ArmRole};

use crate::quantity::percent_digits;

/// The observations as sentences. Records do not contain these sentences, because the sentences can be derived from the
/// trials.
pub fn observations(lookup: &Lookup<'_>) -> Vec<String> {
    if lookup.record.plan.form() == Presentation::Unlock {
        return Vec::new();
    }
    let arms = sound(lookup);
    let choices: Vec<&Arm> = arms.iter().copied().filter(|arm| is_choice(arm)).collect();
    let mut found = Vec::new();
    found.extend(cipher::fastest(lookup, &arms));
    found.extend(bottleneck::bottleneck(lookup));
    // A system to avoid is not suited for anything.
    let usable: Vec<&Arm> =
        choices.iter().copied().filter(|arm| !has_known_weakness(arm)).collect();
    found.extend(suitability::uses(lookup, &usable));
    found.extend(risks::risks(&choices));
    found
}

/// The encrypted arms without evidence of plaintext or lost data.
fn sound<'a>(lookup: &Lookup<'a>) -> Vec<&'a Arm> {
    let encrypted = lookup.arms().iter().filter(|a| a.role == ArmRole::Encrypted);
    encrypted.filter(|arm| !is_unsound(lookup.record, arm)).collect()
}

/// `86 % [83, 89]`.
fn interval(mean: &Mean) -> String {
    let [ratio, low, high] = [mean.ratio, mean.low, mean.high].map(|r| percent_digits(100.0 * r));
    format!("{ratio} % [{low}, {high}]")
}
