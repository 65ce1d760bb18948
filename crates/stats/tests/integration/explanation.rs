//! Explanations of a cost on data whose truth is known: waterfalls, shares, cost models, bootstrap, trimming.

#![expect(clippy::print_stdout, reason = "figures for docs/methodology.md")]

use crate::simulation::storage::{DISTURBANCES, Disturbance, Storage};
use cryptbench_stats::cost_model::{self, CostModel, SizePoint};
use cryptbench_stats::decompose::share;
use cryptbench_stats::{
    Scale, bootstrap, decompose, equivalent_unpaired, estimate, estimate_unpaired, median, trimmed,
    trimmed_mean,
};
use proptest::prelude::*;

/// Speeds of plain, null layer and encrypted, block by block: the layer keeps 95 % of plain speed, and the cipher
/// 90 % of the rest.
fn speeds(disturbance: Disturbance, blocks: usize, seed: u64) -> [Vec<f64>; 3] {
    let mut storage = Storage::new(disturbance, 0.03, seed);
    let mut arms = [const { Vec::new() }; 3];
    for block in 0..blocks {
        storage.block();
        // A different arm is first in each block, as in the real schedule.
        for position in 0..3 {
            let arm = (block + position) % 3;
            let kept = [1.0, 0.95, 0.95 * 0.90][arm];
            arms[arm].push(1e3 * kept * storage.trial(1.0).exp());
        }
    }
    arms
}

/// The true values of the layer's step, the cipher's step, the whole, and the cipher's share of it.
fn truths() -> [f64; 4] {
    let (layer, cipher) = (0.95_f64.ln(), 0.90_f64.ln());
    [layer, cipher, layer + cipher, cipher / (layer + cipher)]
}

#[test]
fn each_step_of_a_waterfall_holds_its_truth() {
    let runs = 400;
    let [layer, cipher, whole, part] = truths();
    for disturbance in DISTURBANCES {
        let mut held = [0.0; 4];
        for seed in 0..runs {
            let [p, n, e] = speeds(disturbance, 12, seed);
            let found = decompose(&[&p, &n, &e], Scale::Log, 0.95).unwrap();
            let inside = |low: f64, high: f64, truth: f64| f64::from(low <= truth && truth <= high);
            let (steps, levels) = (&found.steps, &found.levels);
            held[0] += inside(steps[0].change.low, steps[0].change.high, layer);
            held[1] += inside(steps[1].change.low, steps[1].change.high, cipher);
            held[2] += inside(levels[1].low, levels[1].high, whole);
            // Without a significant whole, no share is stated, so such a run states nothing false.
            held[3] += steps[1].share.map_or(1.0, |s| inside(s.low, s.high, part));
        }
        for (what, held) in ["layer", "cipher", "whole", "share"].iter().zip(held) {
            let covered = held / runs as f64;
            println!("{disturbance:?}: interval of {what} holds in {covered:.3}");
            // 3 standard errors of 400 runs: 0.033.
            assert!(covered >= 0.93 - 0.033, "{disturbance:?}, {what}: {covered}");
        }
    }
}

#[test]
fn a_waterfall_of_amounts_adds_up_in_their_unit() {
    let (p, n, e) = ([2.0, 2.1, 1.9, 2.0], [2.5, 2.7, 2.5, 2.4], [4.0, 4.1, 3.8, 4.1]);
    let found = decompose(&[&p, &n, &e], Scale::Difference, 0.95).unwrap();
    let means: Vec<f64> = found.steps.iter().map(|s| s.change.mean).collect();
    assert!((means[0] - 0.525).abs() < 1e-12 && (means[1] - 1.475).abs() < 1e-12, "{means:?}");
    assert!((found.levels[1].mean - 2.0).abs() < 1e-12);
    let shares: f64 = found.steps.iter().map(|s| s.share.unwrap().value).sum();
    assert!((shares - 1.0).abs() < 1e-12);
    // With two arms there is one step, which is the whole.
    let two = decompose(&[&p, &e], Scale::Difference, 0.95).unwrap();
    assert_eq!((two.steps.len(), two.steps[0].change), (1, two.levels[0]));
    assert_eq!(two.steps[0].share.map(|s| (s.value, s.low, s.high)), Some((1.0, 1.0, 1.0)));
}

#[test]
fn what_cannot_be_taken_apart_is_not() {
    let three = [1.0, 2.0, 3.0];
    assert_eq!(decompose(&[], Scale::Log, 0.95), None);
    assert_eq!(decompose(&[&three], Scale::Log, 0.95), None);
    assert_eq!(decompose(&[&three, &three[..2]], Scale::Log, 0.95), None);
    assert_eq!(decompose(&[&three[..2], &three[..2]], Scale::Log, 0.95), None);
    assert_eq!(decompose(&[&three, &[1.0, 0.0, 2.0]], Scale::Log, 0.95), None);
    assert!(decompose(&[&three, &[1.0, 0.0, 2.0]], Scale::Difference, 0.95).is_some());
    assert_eq!(decompose(&[&three, &[1.0, f64::NAN, 2.0]], Scale::Difference, 0.95), None);
    // If the whole cannot be distinguished from zero, it has no parts.
    assert_eq!(share(&[0.1, 0.2, 0.1], &[0.1, -0.1, 0.05], 0.95), None);
    assert_eq!(share(&[0.1; 3], &[0.0; 3], 0.95), None);
    assert_eq!(share(&[0.1; 3], &[0.1; 4], 0.95), None);
}

/// Plain storage takes 60 µs plus the size at 500 MB/s. The arm takes 5 µs and 0.3 ns per byte more, however fast
/// the disk is at the moment.
const A: f64 = 5e-6;
const B: f64 = 3e-10;

fn sweep(sd: f64, pairs: usize, disturbance: Disturbance, seed: u64) -> CostModel {
    let mut storage = Storage::new(disturbance, sd, seed);
    let sizes: Vec<f64> = (9..=20).map(|power| f64::from(1 << power)).collect();
    let mut times = vec![(Vec::new(), Vec::new()); sizes.len()];
    for pair in 0..pairs {
        for (bytes, (before, after)) in sizes.iter().zip(&mut times) {
            storage.block();
            let plain = 60e-6 + bytes / 5e8;
            let mut trial = |extra: f64| plain * (-storage.trial(1.0)).exp() + extra;
            if pair % 2 == 0 {
                before.push(trial(0.0));
                after.push(trial(A + B * bytes));
            } else {
                after.push(trial(A + B * bytes));
                before.push(trial(0.0));
            }
        }
    }
    let points: Vec<SizePoint> = (sizes.iter().zip(&times))
        .map(|(bytes, (before, after))| SizePoint::of(*bytes, before, after).unwrap())
        .collect();
    cost_model::fit(&points, 0.95).unwrap()
}

#[test]
fn a_and_b_of_an_injected_delay_are_recovered() {
    // With noise of 1 % of 60 µs and 25 pairs at each of 12 sizes, a is known to about 0.06 µs.
    for seed in 0..20 {
        let found = sweep(0.01, 25, Disturbance::Independent, seed);
        let (a, b) = (found.per_request_s.value / A, found.per_byte_s.value / B);
        assert!((a - 1.0).abs() < 0.1 && (b - 1.0).abs() < 0.1, "seed {seed}: {a} {b}");
        let balance = found.balance_bytes.unwrap() * B / A;
        assert!((balance - 1.0).abs() < 0.2, "seed {seed}: {balance}");
    }
}

#[test]
fn intervals_of_a_and_b_hold_the_truth() {
    let runs = 300;
    for disturbance in DISTURBANCES {
        let mut held = [0.0; 2];
        for seed in 0..runs {
            let found = sweep(0.02, 10, disturbance, seed);
            for (held, (c, truth)) in
                held.iter_mut().zip([(found.per_request_s, A), (found.per_byte_s, B)])
            {
                *held += f64::from(c.low <= truth && truth <= c.high);
            }
        }
        for (name, held) in ["a", "b"].iter().zip(held) {
            let covered = held / runs as f64;
            println!("{disturbance:?}: interval of {name} holds in {covered:.3}");
            // 3 standard errors of 300 runs are 0.038. A drift as steep as the noise widens the intervals.
            assert!(covered >= 0.93 - 0.038, "{disturbance:?}, {name}: {covered}");
            let may_be_wide = disturbance == Disturbance::LinearDrift(1.0);
            assert!(covered <= 0.985 || may_be_wide, "{disturbance:?}, {name}: {covered}");
        }
    }
}

#[test]
fn a_bend_shows_as_misfit() {
    let point =
        |bytes: f64, extra_s: f64| SizePoint { bytes, extra_s, standard_error_s: 1e-7, pairs: 10 };
    let straight: Vec<SizePoint> =
        [512.0, 4096.0, 65536.0, 1048576.0].iter().map(|s| point(*s, A + B * s)).collect();
    let fits = cost_model::fit(&straight, 0.95).unwrap();
    assert!(fits.misfit < 1e-6 && fits.worst.0 < 1e-9, "{fits:?}");
    let mut bent = straight.clone();
    bent[1].extra_s *= 2.0;
    let found = cost_model::fit(&bent, 0.95).unwrap();
    assert!(found.misfit > 100.0, "{found:?}");
    let width = |m: &CostModel| m.per_request_s.high - m.per_request_s.low;
    assert!(width(&found) > 10.0 * width(&fits));
    assert_eq!(cost_model::fit(&straight[..2], 0.95), None);
    assert_eq!(cost_model::fit(&[straight[0]; 4], 0.95), None);
    assert_eq!(cost_model::fit(&straight, 1.0), None);
    bent[0].standard_error_s = 0.0;
    assert_eq!(cost_model::fit(&bent, 0.95), None);
    assert_eq!(SizePoint::of(512.0, &[1.0; 3], &[1.0; 4]), None);
}

/// The warning in the module: with ten pairs, the bootstrap interval of a mean is too narrow, but Student's is not.
/// With fifty pairs, both contain the truth often enough.
#[test]
fn the_bootstrap_is_for_many_trials() {
    let covered = |pairs: usize, runs: u64| {
        let mut held = [0.0; 2];
        for seed in 0..runs {
            let mut storage = Storage::new(Disturbance::Independent, 0.03, seed);
            let d: Vec<f64> = (0..pairs).map(|_| storage.trial(1.0) - storage.trial(1.0)).collect();
            let mean = |drawn: &[usize]| {
                Some(drawn.iter().map(|i| d[*i]).sum::<f64>() / drawn.len() as f64)
            };
            let found = bootstrap(pairs, mean, 0.95, 500, seed).unwrap();
            held[0] += f64::from((found.low..=found.high).contains(&0.0));
            let t = estimate(&d, 0.95).unwrap();
            held[1] += f64::from((t.low..=t.high).contains(&0.0));
        }
        held.map(|h| h / runs as f64)
    };
    let [few, student] = covered(10, 1000);
    println!("10 pairs: bootstrap {few:.3}, t {student:.3}");
    assert!(few < 0.93 && student > 0.93, "{few} {student}");
    let [many, _] = covered(50, 400);
    println!("50 pairs: bootstrap {many:.3}");
    assert!((0.91..=0.98).contains(&many), "{many}");
}

#[test]
fn a_bootstrap_needs_draws_that_differ() {
    let x = [1.0, 2.0, 3.0, 4.0, 100.0];
    let middle = |drawn: &[usize]| median(&drawn.iter().map(|i| x[*i]).collect::<Vec<_>>());
    let found = bootstrap(5, middle, 0.9, 500, 1).unwrap();
    assert!(found.low < 3.0 && found.estimate == 3.0 && found.high > 3.0, "{found:?}");
    assert_eq!(bootstrap(5, middle, 0.9, 500, 1), Some(found));
    assert_eq!(bootstrap(2, middle, 0.9, 500, 1), None);
    assert_eq!(bootstrap(5, middle, 0.9, 99, 1), None);
    assert_eq!(bootstrap(5, middle, 1.0, 500, 1), None);
    assert_eq!(bootstrap(5, |_: &[usize]| Some(f64::NAN), 0.9, 500, 1), None);
    // If all draws are equal, both ends are the figure itself.
    let same = bootstrap(5, |_: &[usize]| Some(7.0), 0.9, 500, 1).unwrap();
    assert_eq!((same.low, same.high), (7.0, 7.0));
}

#[test]
fn ten_trials_lose_their_best_and_their_worst() {
    let seconds = [8.0, 7.0, 9.0, 40.0, 8.0, 8.0, 1.0, 7.5, 8.5, 8.0];
    assert_eq!(trimmed(&seconds, 1).unwrap(), [7.0, 7.5, 8.0, 8.0, 8.0, 8.0, 8.5, 9.0]);
    assert_eq!(trimmed_mean(&seconds, 1), Some(8.0));
    assert_eq!(trimmed_mean(&seconds, 0), Some(10.5));
    assert_eq!(trimmed_mean(&seconds, 5), None);
    assert_eq!(trimmed_mean(&seconds, usize::MAX), None);
    assert_eq!(trimmed_mean(&[], 0), None);
    assert_eq!(trimmed_mean(&[1.0, f64::NAN, 2.0], 0), None);
}

#[test]
fn samples_without_spread_or_order_are_survived() {
    let same = estimate_unpaired(&[1.0; 4], &[1.0; 5], 0.95).unwrap();
    assert_eq!((same.difference, same.half_width, same.p_value), (0.0, 0.0, 1.0));
    assert_eq!(same.rank_sum_p, 1.0);
    let apart = estimate_unpaired(&[1.0; 4], &[2.0; 5], 0.95).unwrap();
    assert_eq!((apart.difference, apart.half_width, apart.p_value), (1.0, 0.0, 0.0));
    assert!(equivalent_unpaired(&[1.0; 4], &[1.0; 4], 0.01, 0.05));
    assert_eq!(estimate_unpaired(&[1.0, 2.0], &[1.0; 5], 0.95), None);
    assert_eq!(estimate_unpaired(&[1.0, 2.0, f64::NAN], &[1.0; 5], 0.95), None);
    assert_eq!(estimate_unpaired(&[1.0, 2.0, 3.0], &[1.0; 5], 1.0), None);
}

proptest! {
    /// The steps add up to the whole, and so do their shares.
    #[test]
    fn steps_add_up(
        blocks in proptest::collection::vec([0.5..2.0f64, 0.5..2.0f64, 0.5..2.0f64], 3..20),
    ) {
        let arm = |i: usize| blocks.iter().map(|b| b[i]).collect::<Vec<_>>();
        let found = decompose(&[&arm(0), &arm(1), &arm(2)], Scale::Log, 0.95).unwrap();
        let sum: f64 = found.steps.iter().map(|s| s.change.mean).sum();
        prop_assert!((sum - found.levels[1].mean).abs() < 1e-12);
        if let (Some(a), Some(b)) = (found.steps[0].share, found.steps[1].share) {
            prop_assert!((a.value + b.value - 1.0).abs() < 1e-9);
            // The two shares are complementary.
            prop_assert!((a.low + b.high - 1.0).abs() < 1e-6);
        }
    }

    /// Swapping the samples changes only the sign.
    #[test]
    fn unpaired_estimates_are_symmetric(
        x in proptest::collection::vec(-1.0..1.0f64, 3..12),
        y in proptest::collection::vec(-1.0..1.0f64, 3..12),
    ) {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let (there, back) =
            (estimate_unpaired(&x, &y, 0.95).unwrap(), estimate_unpaired(&y, &x, 0.95).unwrap());
        prop_assert!(near(there.difference, -back.difference) && near(there.low, -back.high));
        prop_assert!(near(there.p_value, back.p_value));
        prop_assert!(near(there.rank_sum_p, back.rank_sum_p));
        prop_assert!(near(there.hodges_lehmann, -back.hodges_lehmann));
        if let (Some(a), Some(b)) = (there.rank_sum, back.rank_sum) {
            prop_assert!(near(a.0, -b.1) && a.0 <= there.hodges_lehmann);
        }
    }

    #[test]
    fn any_numbers_at_all_are_survived(
        x in proptest::collection::vec(proptest::num::f64::ANY, 0..12),
        y in proptest::collection::vec(proptest::num::f64::ANY, 0..12),
        confidence in proptest::num::f64::ANY,
    ) {
        if let Some(e) = estimate_unpaired(&x, &y, confidence) {
            prop_assert!((0.0..=1.0).contains(&e.p_value) && (0.0..=1.0).contains(&e.rank_sum_p));
        }
        equivalent_unpaired(&x, &y, confidence, confidence);
        decompose(&[&x, &y], Scale::Log, confidence);
        share(&x, &y, confidence);
        trimmed_mean(&x, y.len());
        let points: Vec<SizePoint> = x.iter().zip(&y).map(|(bytes, extra_s)| SizePoint {
            bytes: *bytes, extra_s: *extra_s, standard_error_s: extra_s.abs(), pairs: 6,
        }).collect();
        cost_model::fit(&points, confidence);
    }
}
