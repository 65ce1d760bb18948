//! The report's rule that leads from an estimate to a verdict (only the word), and how often runs reach each
//! verdict.

use cryptbench_stats::{
    FAMILY_LEVEL, PairedEstimate, equivalent_within, estimate, holm, noise_of_mean,
};

use super::{Measured, Scenario, seeds};

/// The verdict on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Costs,
    Gains,
    Equivalent,
    WithinNoise,
    Inconclusive,
}

/// The verdict of the first rule that applies; `margin` is ln(1 + target), `noise` the noise of one trial.
pub fn judge(d: &[f64], estimate: &PairedEstimate, p_holm: f64, noise: f64, margin: f64) -> Word {
    let noise = noise_of_mean(noise, estimate.pairs);
    if p_holm < FAMILY_LEVEL && estimate.mean.abs() > noise {
        if estimate.mean < 0.0 { Word::Costs } else { Word::Gains }
    } else if equivalent_within(d, margin, 0.05) {
        Word::Equivalent
    } else if estimate.half_width <= margin.max(3.0 * noise) {
        Word::WithinNoise
    } else {
        Word::Inconclusive
    }
}

/// How often runs with several workloads reach right or wrong verdicts on the encrypted arms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verdicts {
    /// Share of the runs with at least one cell that costs or gains.
    pub any_claimed: f64,
    /// Share of the runs with at least one cell that is inconclusive.
    pub any_inconclusive: f64,
    /// Of the first workload's cells: share that costs.
    pub costs: f64,
    /// Of the first workload's cells: share that is within noise.
    pub within_noise: f64,
    /// Of the first workload's cells: share that is within noise although its interval excludes 0.
    pub within_noise_not_zero: f64,
    /// Of the first workload's cells: share that is equivalent.
    pub equivalent: f64,
}

/// Reaches verdicts on `runs` runs of `workloads` workloads, each measured by `measure`, with a target of 3 %.
///
/// Only the first workload has the scenario's effect. That is the hard case: if others have costs as well, Holm is
/// less strict with each.
pub fn verdicts(
    scenario: &Scenario,
    runs: u32,
    workloads: usize,
    measure: impl Fn(&Scenario, u64) -> Measured,
) -> Verdicts {
    let silent = Scenario { effect: 0.0, ..*scenario };
    let seeds: Vec<u64> = seeds(scenario, runs * workloads as u32).collect();
    let mut found = Verdicts::default();
    let first = 1.0 / f64::from(runs) / scenario.encrypted_arms as f64;
    for run in seeds.chunks(workloads) {
        let measured: Vec<Measured> = (run.iter().enumerate())
            .map(|(i, &seed)| measure(if i == 0 { scenario } else { &silent }, seed))
            .collect();
        let words: Vec<Vec<(Word, bool)>> =
            (0..scenario.encrypted_arms).map(|arm| judge_arm(&measured, arm)).collect();
        let any = |sought: &[Word]| words.iter().flatten().any(|(word, _)| sought.contains(word));
        found.any_claimed += f64::from(any(&[Word::Costs, Word::Gains])) / f64::from(runs);
        found.any_inconclusive += f64::from(any(&[Word::Inconclusive])) / f64::from(runs);
        for (word, excludes_zero) in words.iter().map(|arm| arm[0]) {
            match word {
                Word::Costs => found.costs += first,
                Word::Equivalent => found.equivalent += first,
                Word::WithinNoise => {
                    found.within_noise += first;
                    found.within_noise_not_zero += if excludes_zero { first } else { 0.0 };
                }
                Word::Gains | Word::Inconclusive => {}
            }
        }
    }
    found
}

/// The verdicts on one arm by workload, each with whether the interval excludes 0. Holm corrects over the
/// workloads.
fn judge_arm(measured: &[Measured], arm: usize) -> Vec<(Word, bool)> {
    let estimates: Vec<PairedEstimate> = measured
        .iter()
        .map(|cell| estimate(&cell.encrypted[arm], 0.95).expect("at least three pairs"))
        .collect();
    let p = holm(&estimates.iter().map(|e| e.p_value).collect::<Vec<_>>());
    (0..measured.len())
        .map(|i| {
            let noise = measured[i].floor().unwrap_or(0.0);
            let (d, e) = (&measured[i].encrypted[arm], &estimates[i]);
            (judge(d, e, p[i], noise, 1.03_f64.ln()), e.mean.abs() > e.half_width)
        })
        .collect()
}
