//! The benefit of interleaving: the number of trials for the same precision as "all of A, then all of B, n = 10".
//!
//! *Precision* is the actual precision of a measurement, not the one that its interval claims: the distance from
//! the truth within which 95 % of the simulated measurements are. `cargo test -p cryptbench-stats --test
//! integration placement -- --nocapture` prints the table of docs/methodology.md.

#![expect(clippy::print_stdout, reason = "the table is for docs/methodology.md")]

use crate::simulation::storage::{DISTURBANCES, Disturbance, Storage};
use cryptbench_stats::{
    Decision, StoppingRule, block_order, estimate, estimate_unpaired, quantile,
};

/// Number of trials of each arm in the studies' design.
const TEN: usize = 10;

/// Minimum number of pairs for an interval.
const FEWEST: usize = 3;

const SD: f64 = 0.03;
const EFFECT: f64 = -0.15;
const REPETITIONS: u64 = 2000;

/// All of the plain trials, then all of the encrypted ones.
fn one_after_the_other(disturbance: Disturbance, trials: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut storage = Storage::new(disturbance, SD, seed);
    let mut all = |effect: f64| -> Vec<f64> {
        (0..trials)
            .map(|trial| {
                // A block of the other design lasts as long as two trials.
                if trial % 2 == 0 {
                    storage.block();
                }
                effect + storage.trial(1.0)
            })
            .collect()
    };
    let plain = all(0.0);
    (plain, all(EFFECT))
}

/// d of `pairs` blocks in the order of the real schedule.
fn interleaved(disturbance: Disturbance, pairs: usize, seed: u64) -> Vec<f64> {
    let mut storage = Storage::new(disturbance, SD, seed);
    (0..pairs as u32).map(|block| pair(&mut storage, seed, block)).collect()
}

fn pair(storage: &mut Storage, seed: u64, block: u32) -> f64 {
    storage.block();
    let mut speeds = [0.0; 2];
    for arm in block_order(seed, 0, block, 2) {
        speeds[arm] = [0.0, EFFECT][arm] + storage.trial(1.0);
    }
    speeds[1] - speeds[0]
}

fn mean(values: &[f64]) -> f64 {
    cryptbench_stats::mean(values).expect("some")
}

/// The distance from the truth within which 95 % of the estimates are.
fn precision(estimates: impl Iterator<Item = f64>) -> f64 {
    let distances: Vec<f64> = estimates.map(|found| (found - EFFECT).abs()).collect();
    quantile(&distances, 0.95).expect("some")
}

fn precision_of_ten(disturbance: Disturbance) -> f64 {
    precision((0..REPETITIONS).map(|seed| {
        let (plain, encrypted) = one_after_the_other(disturbance, TEN, seed);
        mean(&encrypted) - mean(&plain)
    }))
}

/// Share of the Welch intervals of the studies' design that contain the truth.
fn coverage_of_ten(disturbance: Disturbance) -> f64 {
    let held = (0..REPETITIONS).filter(|seed| {
        let (plain, encrypted) = one_after_the_other(disturbance, TEN, *seed);
        let found = estimate_unpaired(&plain, &encrypted, 0.95).expect("ten each");
        (found.low..=found.high).contains(&EFFECT)
    });
    held.count() as f64 / REPETITIONS as f64
}

/// The smallest number of pairs, at least 3, whose mean is as precise as required.
fn pairs_for(disturbance: Disturbance, wanted: f64) -> usize {
    let enough = |pairs: usize| {
        let means = (0..REPETITIONS).map(|seed| mean(&interleaved(disturbance, pairs, seed)));
        precision(means) <= wanted
    };
    (FEWEST..60).find(|pairs| enough(*pairs)).expect("some number of pairs is enough")
}

/// The real rule with its defaults: pairs on average, precision, coverage.
fn by_the_rule(disturbance: Disturbance) -> (f64, f64, f64) {
    let rule = StoppingRule::default();
    let measured: Vec<Vec<f64>> = (0..REPETITIONS / 4)
        .map(|seed| {
            let mut storage = Storage::new(disturbance, SD, seed);
            let mut d = Vec::new();
            while let Decision::Continue { .. } = rule.decide(std::slice::from_ref(&d)) {
                d.push(pair(&mut storage, seed, d.len() as u32));
            }
            d
        })
        .collect();
    let pairs = mean(&measured.iter().map(|d| d.len() as f64).collect::<Vec<_>>());
    let held = measured.iter().filter(|d| {
        let found = estimate(d, 0.95).expect("at least six");
        (found.low..=found.high).contains(&EFFECT)
    });
    let coverage = held.count() as f64 / measured.len() as f64;
    (pairs, precision(measured.iter().map(|d| mean(d))), coverage)
}

/// Number of trials of each arm that the studies' design needs for this precision; `None` if it is more than 160.
fn trials_for(disturbance: Disturbance, wanted: f64) -> Option<usize> {
    [10, 14, 20, 28, 40, 56, 80, 112, 160].into_iter().find(|trials| {
        let estimates = (0..REPETITIONS / 4).map(|seed| {
            let (plain, encrypted) = one_after_the_other(disturbance, *trials, seed);
            mean(&encrypted) - mean(&plain)
        });
        precision(estimates) <= wanted
    })
}

/// Whether the level changes over many trials, so that it differs between what runs first and what runs last.
fn drifts(disturbance: Disturbance) -> bool {
    use Disturbance::{Everything, LinearDrift, SharedDrift};
    matches!(disturbance, SharedDrift | LinearDrift(_) | Everything)
}

#[test]
fn pairs_need_a_third_of_the_trials_under_drift() {
    let mut table = String::from(
        "\n| noise of 3 % and | 10 + 10 one after the other: precision | its 95 % interval holds | pairs \
         for that precision | share of the 20 trials | the rule stops at, pairs | precision | interval \
         holds | trials for that one after the other |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for disturbance in
        DISTURBANCES.into_iter().chain([Disturbance::Bursts, Disturbance::Everything])
    {
        let (of_ten, holds) = (precision_of_ten(disturbance), coverage_of_ten(disturbance));
        let pairs = pairs_for(disturbance, of_ten);
        let share = pairs as f64 / TEN as f64;
        let (stopped, reached, covered) = by_the_rule(disturbance);
        let needed = trials_for(disturbance, reached);
        let percent = |log: f64| format!("{:.1} %", 100.0 * log.exp_m1());
        table.push_str(&format!(
            "| {disturbance:?} | ±{} | {:.1} % | {pairs} | {:.0} % | {stopped:.1} | ±{} | {:.1} % | {} |\n",
            percent(of_ten),
            100.0 * holds,
            100.0 * share,
            percent(reached),
            100.0 * covered,
            needed.map_or_else(|| "more than 320".to_owned(), |n| format!("{}", 2 * n)),
        ));
        if drifts(disturbance) {
            assert!(share <= 1.0 / 3.0, "{disturbance:?}: {pairs} pairs for {of_ten}");
            assert!(holds < 0.8, "{disturbance:?}: {holds}");
            // With more trials, the drift between the two halves only grows.
            let trials = needed.map_or(f64::INFINITY, |n| 2.0 * n as f64);
            assert!(2.0 * stopped <= trials / 3.0, "{disturbance:?}: {stopped}, {trials}");
        }
        // Without drift, pairing costs little: the same number of trials, and by chance one more pair.
        assert!(pairs <= TEN + 1, "{disturbance:?}: {pairs}");
    }
    println!("{table}");
}
