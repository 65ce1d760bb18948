//! dd's table: mean, standard deviation and speed of each copy, calculated as users of the profile calculate them.

use cryptbench_catalog::Estimator;
use cryptbench_estimate::arms::{compared, plain_arm};
use cryptbench_estimate::compatibility::{mean, mean_speed, sample_sd, trimmed, trimmed_speed};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, Workload};

use super::peers::estimator;
use crate::reading::{Reading, reading};

/// One copy on one arm.
pub struct Copy<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// Number of trials.
    pub trials: usize,
    /// Trials that the rule uses.
    pub used: usize,
    /// Mean of the times of the used trials, in seconds.
    pub mean_s: f64,
    /// Sample standard deviation of these times, in seconds.
    pub sd_s: Option<f64>,
    /// Size of a copy divided by the mean time, bytes per second.
    pub speed: Option<f64>,
    /// Our own estimate.
    pub reading: Reading,
}

/// The copies of each workload, plain first; workloads without trials are omitted.
///
/// The estimator `trimmed-mean` drops the longest and the shortest trial; otherwise all trials count.
pub fn copies<'a>(lookup: &Lookup<'a>) -> Vec<(&'a Workload, Vec<Copy<'a>>)> {
    let arms = || plain_arm(lookup.record).into_iter().chain(compared(lookup.arms()));
    lookup
        .workloads()
        .iter()
        .map(|w| (w, arms().filter_map(|arm| copy(lookup, w, arm)).collect::<Vec<_>>()))
        .filter(|(_, copies)| !copies.is_empty())
        .collect()
}

fn copy<'a>(lookup: &Lookup<'a>, workload: &Workload, arm: &'a Arm) -> Option<Copy<'a>> {
    let trials = lookup.trials.of_cell(&workload.id, &arm.id);
    let seconds: Vec<f64> =
        trials.iter().map(|t| t.measured.elapsed_s).filter(|s| s.is_finite() && *s > 0.0).collect();
    let bytes: Vec<f64> = trials.iter().map(|t| t.measured.bytes as f64).collect();
    let bytes = mean(&bytes)?;
    let (used, speed) = match is_trimmed(lookup) {
        true => (trimmed(&seconds), trimmed_speed(bytes, &seconds)),
        false => (seconds.clone(), mean_speed(bytes, &seconds)),
    };
    Some(Copy {
        arm,
        trials: seconds.len(),
        used: used.len(),
        mean_s: mean(&used)?,
        sd_s: sample_sd(&used),
        speed,
        reading: reading(lookup, workload, arm)?,
    })
}

fn is_trimmed(lookup: &Lookup<'_>) -> bool {
    estimator(lookup.record) == Some(Estimator::TrimmedMean)
}

/// The rule in words, to follow "condensed".
pub fn rule_words(lookup: &Lookup<'_>) -> &'static str {
    match is_trimmed(lookup) {
        true => "by the dd script's rule, without the longest and the shortest trial",
        false => "over all trials",
    }
}
