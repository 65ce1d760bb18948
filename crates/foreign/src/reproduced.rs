//! Whether a second record reproduces the costs of the first, and the difference that could have been detected.

use cryptbench_record::Record;
use cryptbench_stats::median;
use serde::Serialize;

use crate::costs::{CostChange, margin};

/// Whether a result was reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All costs are shown to be the same within the margin.
    Reproduced,
    /// No cost differs by more than chance explains, but some costs are not shown to be the same.
    NotContradicted,
    /// Some cost differs beyond chance.
    NotReproduced,
}

/// The costs of two records, taken together.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction {
    /// The verdict.
    pub outcome: Outcome,
    /// The minimum loss that the first record was meant to detect, as a fraction: costs that differ by less than this
    /// count as the same.
    pub margin: f64,
    /// Costs that both records have.
    pub costs: usize,
    /// Number of costs that are shown to be the same.
    pub same: usize,
    /// Number of costs that differ by more than chance explains, after Holm's correction over all costs.
    pub changed: usize,
    /// Lowest, median and highest probability that a difference of the size of the margin would have been detected.
    pub power: Option<[f64; 3]>,
}

/// Evaluates `changes` from the record `first` to another record; `None` if there are no changes.
pub fn reproduction(first: &Record, changes: &[CostChange]) -> Option<Reproduction> {
    let count = |is: fn(&CostChange) -> bool| changes.iter().filter(|change| is(change)).count();
    let (same, changed) = (count(|change| change.same), count(|change| change.changed));
    let outcome = match changes.len() {
        0 => return None,
        _ if changed > 0 => Outcome::NotReproduced,
        all if same == all => Outcome::Reproduced,
        _ => Outcome::NotContradicted,
    };
    let mut powers: Vec<f64> = changes.iter().filter_map(|change| change.power).collect();
    powers.sort_unstable_by(f64::total_cmp);
    let power = median(&powers).map(|middle| [powers[0], middle, powers[powers.len() - 1]]);
    Some(Reproduction {
        outcome,
        margin: margin(first),
        costs: changes.len(),
        same,
        changed,
        power,
    })
}

impl Reproduction {
    /// The verdict in two sentences.
    pub fn sentences(&self) -> String {
        let Self { outcome, margin, costs, same, changed, .. } = self;
        let percent = format!("{:.0} %", 100.0 * margin);
        let verdict = match outcome {
            Outcome::Reproduced => {
                format!("Reproduced: all {costs} costs are the same within {percent}.")
            }
            Outcome::NotReproduced => format!(
                "Not reproduced. Beyond chance: {changed} of {costs} costs. The same within {percent}: {same}."
            ),
            Outcome::NotContradicted => format!(
                "Not contradicted: no cost differs beyond chance, and {same} of {costs} are shown to be the same within \
                 {percent}."
            ),
        };
        let found = self.chance_of_finding().map_or_else(String::new, |found| format!(" {found}"));
        verdict + &found
    }

    /// The probability that a difference of the size of the margin would have been detected, as a sentence.
    pub fn chance_of_finding(&self) -> Option<String> {
        let percent = format!("{:.0} %", 100.0 * self.margin);
        let chance = |p: f64| match p {
            p if p < 0.005 => "less than 1 %".to_owned(),
            p if p > 0.995 => "more than 99 %".to_owned(),
            p => format!("{:.0} %", 100.0 * p),
        };
        self.power.map(|[least, middle, most]| {
            let range = match (chance(least), chance(most)) {
                (low, high) if low == high => low,
                (low, high) => format!("{low} to {high} (median {})", chance(middle)),
            };
            format!(
                "A difference of {percent} would have been found with a probability of {range}."
            )
        })
    }
}
