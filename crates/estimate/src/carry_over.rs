//! The effect of a slice on the next slice: an estimate for each workload and arm.

use std::collections::BTreeMap;

use cryptbench_record::{Plan, Trial, Workload};
use cryptbench_stats::{FAMILY_LEVEL, estimate};

/// By how much slices are faster or slower if they directly follow a slice of this arm.
#[derive(Clone, Debug, PartialEq)]
pub struct CarryOver {
    /// Workload identifier.
    pub workload: String,
    /// Identifier of the arm to which the preceding slices belong.
    pub behind: String,
    /// ln(speed after that arm / speed after any arm), relative to each arm's own speed in the block.
    pub effect: f64,
    /// Lower end of the effect's interval (t over blocks).
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// p-value of "no effect".
    pub p_value: f64,
}

impl CarryOver {
    /// Whether the effect is significant among this many effects (Bonferroni).
    pub fn is_proven(&self, effects: usize) -> bool {
        self.p_value * effects as f64 <= FAMILY_LEVEL
    }
}

/// The effects of all workloads with sliced trials, and of all interleaved arms.
///
/// In each block a slice is compared with the mean of its own arm, so that differences between arms do not
/// matter. The mean over the slices that follow an arm is one observation of that arm's effect.
pub fn carry_overs(plan: &Plan, trials: &[Trial]) -> Vec<CarryOver> {
    plan.workloads.iter().flat_map(|w| of_workload(w, trials, plan.confidence)).collect()
}

fn of_workload(workload: &Workload, trials: &[Trial], confidence: f64) -> Vec<CarryOver> {
    let mut blocks: BTreeMap<u32, Vec<&Trial>> = BTreeMap::new();
    for trial in trials.iter().filter(|t| t.workload == workload.id && t.measured.slices.is_some())
    {
        if let Some(block) = trial.block {
            blocks.entry(block).or_default().push(trial);
        }
    }
    let mut observed: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for trials in blocks.values() {
        for (behind, effects) in of_block(trials) {
            let mean = effects.iter().sum::<f64>() / effects.len() as f64;
            observed.entry(behind).or_default().push(mean);
        }
    }
    let effect = |(behind, effects): (&str, Vec<f64>)| {
        let found = estimate(&effects, confidence)?;
        Some(CarryOver {
            workload: workload.id.clone(),
            behind: behind.to_owned(),
            effect: found.mean,
            low: found.low,
            high: found.high,
            p_value: found.p_value,
        })
    };
    observed.into_iter().filter_map(effect).collect()
}

/// For one block: ln(speed of a slice / mean speed of its arm), grouped by the preceding arm.
fn of_block<'a>(trials: &[&'a Trial]) -> BTreeMap<&'a str, Vec<f64>> {
    let mut slices: Vec<(f64, &str, f64)> = Vec::new();
    for trial in trials {
        let logs: Vec<(f64, f64)> =
            trial.course().into_iter().map(|(at, v)| (at, v.ln())).collect();
        if logs.len() < 2 || logs.iter().any(|(_, log)| !log.is_finite()) {
            continue;
        }
        let mean = logs.iter().map(|(_, log)| log).sum::<f64>() / logs.len() as f64;
        slices.extend(logs.into_iter().map(|(at, log)| (at, trial.arm.as_str(), log - mean)));
    }
    slices.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut behind: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for pair in slices.windows(2) {
        behind.entry(pair[0].1).or_default().push(pair[1].2);
    }
    behind
}

#[cfg(test)]
mod tests {
    use cryptbench_record::{Observation, Slices};

    use super::*;

    /// Ten blocks of two arms. Slices that follow arm `b` are slower by `left`; `b` itself has 80 % of the
    /// speed of `a`.
    fn effects(left: f64) -> Vec<CarryOver> {
        let plan = Plan {
            workloads: vec![Workload { id: "w".to_owned(), ..Workload::default() }],
            confidence: 0.95,
            ..Plan::default()
        };
        carry_overs(&plan, &trials(left))
    }

    fn trials(left: f64) -> Vec<Trial> {
        let mut all = Vec::new();
        for block in 0..10_u32 {
            let order = cryptbench_stats::slice_order(7, 0, block, 2, 12);
            let mut trials = ["a", "b"].map(|arm| Trial {
                block: Some(block),
                workload: "w".to_owned(),
                arm: arm.to_owned(),
                measured: Observation { slices: Some(Slices::default()), ..Observation::default() },
                ..Trial::default()
            });
            let mut before = 0;
            for (number, &arm) in order.iter().enumerate() {
                let own = if arm == 1 { 0.8 } else { 1.0 };
                let noise = 1.0 + 0.001 * f64::from((number as u32 * 7 + block) % 5);
                let speed = 1e6 * own * noise * if before == 1 { 1.0 - left } else { 1.0 };
                let slices = trials[arm].measured.slices.as_mut().unwrap();
                slices.at_us.push(number as u64 * 10_000);
                slices.elapsed_us.push(1_000_000);
                slices.ios.push(speed as u64);
                before = arm;
            }
            all.extend(trials);
        }
        all
    }

    #[test]
    fn what_is_left_behind_is_found_and_what_arms_differ_by_is_not() {
        let found = effects(0.10);
        let of = |arm: &str| found.iter().find(|c| c.behind == arm).unwrap();
        // Half of the slices are behind `b`: both are seen against their mean.
        let contrast = of("b").effect - of("a").effect;
        assert!((contrast - 0.9_f64.ln()).abs() < 0.03, "{contrast}");
        assert!(of("b").is_proven(2) && of("b").high < 0.0);
        let nothing = effects(0.0);
        assert!(nothing.iter().all(|c| !c.is_proven(2) && c.effect.abs() < 0.003), "{nothing:?}");
    }

    #[test]
    fn whole_trials_have_none() {
        let mut trials = trials(0.1);
        trials.iter_mut().for_each(|trial| trial.measured.slices = None);
        let workload = Workload { id: "w".to_owned(), ..Workload::default() };
        assert!(of_workload(&workload, &trials, 0.95).is_empty());
    }
}
