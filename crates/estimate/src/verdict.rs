//! The rules by which an estimate becomes a verdict.
//!
//! A large p-value never results in "no cost": the claim that two arms are equally fast requires an equivalence test
//! (two one-sided tests, Schuirmann 1987) or a difference below the noise floor.

use cryptbench_record::{Plan, Verdict};
use cryptbench_stats::{
    FAMILY_LEVEL, PairedEstimate, equivalent_within, pairs_needed, smallest_detectable,
};

/// With a margin above this value, "same" says more about the disk's noise than about encryption.
pub const TELLING_MARGIN_PERCENT: f64 = 10.0;

/// If even losses up to this margin cannot be detected, the run is not informative.
pub const HOPELESS_PERCENT: f64 = 30.0;

/// The basis of one verdict. All values are in the log domain, d = ln(E/P) per block.
pub struct Evidence<'a> {
    /// The differences, one per pair.
    pub d: &'a [f64],
    /// Their estimate.
    pub estimate: &'a PairedEstimate,
    /// p-value for "no difference", corrected for the number of workloads.
    pub p_holm: f64,
    /// Number of workloads for which the p-value was corrected.
    pub tests: usize,
    /// Noise of the workload's mean; 0 if the noise is unknown.
    pub noise: f64,
    /// Whether the difference may be attributed to the arm (see [`doubt`](crate::doubt)).
    pub claimable: bool,
}

/// Judges one cell by the first of these rules that applies.
///
/// 1. Slower (faster) than plain after Holm's correction, by more than the noise of the mean, and the difference is
///    claimable: costs (gains).
/// 2. Equivalent within the minimum difference to detect.
/// 3. Slower (faster) by its own interval, without Holm's correction: likely costs (likely gains). A verdict
///    therefore never contradicts its interval.
/// 4. At least as precise as the minimum difference, or about as precise as plain storage itself: within noise, with
///    the difference that would have been detected.
/// 5. Otherwise inconclusive, with the number of pairs that rule 4 requires.
pub fn judge(evidence: &Evidence<'_>, plan: &Plan) -> Verdict {
    let Evidence { d, estimate, p_holm, tests, noise, claimable } = *evidence;
    let target = plan.margin().max(0.0).ln_1p();
    if claimable && p_holm < FAMILY_LEVEL && estimate.mean.abs() > noise {
        return match estimate.mean < 0.0 {
            true => Verdict::Costs { percent: loss(-estimate.mean) * 100.0 },
            false => Verdict::Gains { percent: estimate.mean.exp_m1() * 100.0 },
        };
    }
    if equivalent_within(d, target, 1.0 - plan.confidence) {
        return Verdict::Equivalent { within_percent: target.exp_m1() * 100.0 };
    }
    if estimate.high < 0.0 {
        return Verdict::LikelyCosts { percent: loss(-estimate.mean) * 100.0 };
    }
    if estimate.low > 0.0 {
        return Verdict::LikelyGains { percent: estimate.mean.exp_m1() * 100.0 };
    }
    let precision = target.max(ABOUT_THE_SAME * noise);
    if estimate.half_width <= precision {
        let detectable = smallest_detectable(estimate.sd, estimate.pairs, tests, FAMILY_LEVEL);
        return Verdict::WithinNoise { noise_percent: loss(noise.max(detectable)) * 100.0 };
    }
    Verdict::Inconclusive { more_pairs: pairs_to_settle(estimate, target, plan.confidence) }
}

/// An interval of up to this multiple of the mean's noise counts as the noise of plain storage. With 6 pairs that
/// differ by the same amount in either direction, the t interval is 2.8 times their noise, so plain compared with
/// itself never exceeds this multiple.
pub const ABOUT_THE_SAME: f64 = 3.0;

/// Whether a verdict decides between faster and slower than plain, or states that a loss would have been detected.
pub fn is_decided(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Costs { .. } | Verdict::Gains { .. } | Verdict::Equivalent { .. } => true,
        Verdict::WithinNoise { noise_percent } => *noise_percent <= HOPELESS_PERCENT,
        _ => false,
    }
}

/// Whether a verdict states that a loss, or a gain, would have been detected but was not.
pub fn is_alike(verdict: &Verdict) -> bool {
    is_decided(verdict) && !matches!(verdict, Verdict::Costs { .. } | Verdict::Gains { .. })
}

/// Whether a verdict leaves open whether the arm is faster or slower than plain.
pub fn is_open(verdict: &Verdict) -> bool {
    !is_decided(verdict) && !matches!(verdict, Verdict::Cached | Verdict::TooFewPairs)
}

/// The loss of speed that corresponds to a distance in the log domain, as a fraction below 1.
///
/// Noise is expressed as a loss, as costs are: a disk whose trials differ by a factor of two has a noise of 50 %, and
/// noise never exceeds 100 %.
pub fn loss(log: f64) -> f64 {
    -(-log).exp_m1()
}

/// The inverse of [`loss`].
pub fn log_of_loss(loss: f64) -> f64 {
    -(-loss).ln_1p()
}

/// Total number of pairs with which the half-width would reach `precision`, given the spread so far. Always more than
/// the present number of pairs.
fn pairs_to_settle(estimate: &PairedEstimate, precision: f64, confidence: f64) -> u32 {
    let seen = u32::try_from(estimate.pairs).unwrap_or(u32::MAX);
    pairs_needed(estimate.sd, precision, confidence).max(seen.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use cryptbench_stats::estimate;

    use super::*;

    fn plan(target: f64) -> Plan {
        Plan {
            trial_s: 1.0,
            min_pairs: 6,
            max_pairs: 40,
            target_half_width: target,
            confidence: 0.95,
            ..Plan::default()
        }
    }

    /// Ten differences with this mean and a sample standard deviation of `spread`.
    fn differences(mean: f64, spread: f64) -> Vec<f64> {
        let step = spread * (0.9_f64).sqrt();
        (0..10).map(|i| mean + if i % 2 == 0 { step } else { -step }).collect()
    }

    /// Judged among `tests` workloads with p-values alike.
    fn verdict_of(tests: usize, mean: f64, spread: f64, noise: f64) -> Verdict {
        let d = differences(mean, spread);
        let estimate = estimate(&d, 0.95).unwrap();
        let p_holm = (estimate.p_value * tests as f64).min(1.0);
        let claimable = true;
        let evidence = Evidence { d: &d, estimate: &estimate, p_holm, tests, noise, claimable };
        judge(&evidence, &plan(0.03))
    }

    fn verdict(mean: f64, spread: f64, noise: f64) -> Verdict {
        verdict_of(1, mean, spread, noise)
    }

    // Ten pairs: the half-width is 0.715 spreads, equivalence needs 0.580 spreads on each side, and
    // a difference is found at level 0.01 from 1.028 spreads on (t = 3.2498).

    #[test]
    fn a_clear_loss_costs_and_a_clear_gain_gains() {
        let Verdict::Costs { percent } = verdict(0.9_f64.ln(), 0.02, 0.04) else { panic!() };
        assert!((percent - 10.0).abs() < 1e-9, "{percent}");
        let Verdict::Gains { percent } = verdict(1.1_f64.ln(), 0.02, 0.04) else { panic!() };
        assert!((percent - 10.0).abs() < 1e-9, "{percent}");
    }

    #[test]
    fn a_significant_difference_below_the_noise_of_the_mean_is_no_cost() {
        let Verdict::LikelyCosts { percent } = verdict(-0.05, 0.01, 0.08) else { panic!() };
        assert!((percent - 4.88).abs() < 0.01, "{percent}");
        let Verdict::LikelyGains { percent } = verdict(0.05, 0.01, 0.08) else { panic!() };
        assert!((percent - 5.13).abs() < 0.01, "{percent}");
    }

    /// Half-widths on both sides of every limit: a verdict excludes equality exactly if its interval does.
    #[test]
    fn no_word_denies_what_the_interval_excludes() {
        for (mean, spread, noise) in (0..400).map(|i| {
            let step = |n: i32, of: i32| f64::from(n % of) / f64::from(of);
            (0.2 * (step(i, 21) - 0.5), 0.1 * step(i, 13) + 0.001, 0.1 * step(i, 7))
        }) {
            let found = estimate(&differences(mean, spread), 0.95).unwrap();
            let excluded = found.low > 0.0 || found.high < 0.0;
            let said = match verdict_of(8, mean, spread, noise) {
                Verdict::Costs { .. } | Verdict::LikelyCosts { .. } => mean < 0.0,
                Verdict::Gains { .. } | Verdict::LikelyGains { .. } => mean > 0.0,
                Verdict::Equivalent { .. } => continue,
                _ => false,
            };
            assert_eq!(said, excluded, "{mean} {spread} {noise}");
        }
    }

    #[test]
    fn what_chance_produces_among_many_workloads_is_no_cost() {
        // 1.2 spreads: more than 0 by itself, but not among eight workloads (p = 0.0043, t = 3.79).
        assert!(matches!(verdict(-0.06, 0.05, 0.03), Verdict::Costs { .. }));
        assert!(matches!(verdict_of(8, -0.06, 0.05, 0.03), Verdict::LikelyCosts { .. }));
        let Verdict::WithinNoise { noise_percent } = verdict_of(8, -0.03, 0.05, 0.03) else {
            panic!()
        };
        assert!((noise_percent - 7.05).abs() < 0.01, "{noise_percent}");
    }

    #[test]
    fn equivalence_needs_the_whole_interval_within_the_target() {
        let words = verdict(0.001, 0.01, 0.08);
        assert!(
            matches!(words, Verdict::Equivalent { within_percent } if (within_percent - 3.0).abs() < 1e-9)
        );
        assert!(!matches!(verdict(0.028, 0.01, 0.08), Verdict::Equivalent { .. }));
    }

    #[test]
    fn a_large_p_with_a_wide_interval_is_inconclusive() {
        // +-0.14 around almost nothing. 0.2 * 1.96 / 0.0296 squared is 176, and t needs a little more.
        let Verdict::Inconclusive { more_pairs } = verdict(-0.001, 0.2, 0.01) else { panic!() };
        assert!((176..=182).contains(&more_pairs), "{more_pairs}");
        assert!(matches!(verdict(-0.05, 0.2, 0.0), Verdict::Inconclusive { .. }));
        // As noisy as plain itself: the disk causes that, and more pairs confirm it.
        assert!(matches!(verdict(-0.001, 0.2, 0.1), Verdict::WithinNoise { .. }));
    }

    #[test]
    fn each_verdict_is_decided_or_open_or_none_at_all() {
        use Verdict::{Cached, Costs, Equivalent, Gains, Inconclusive, LikelyCosts, LikelyGains};
        use Verdict::{TooFewPairs, WithinNoise};
        let noise = |noise_percent| WithinNoise { noise_percent };
        let percent = 5.0;
        for (verdict, decided, alike, open) in [
            (Costs { percent }, true, false, false),
            (Gains { percent }, true, false, false),
            (Equivalent { within_percent: 3.0 }, true, true, false),
            (noise(HOPELESS_PERCENT), true, true, false),
            (noise(HOPELESS_PERCENT + 1.0), false, false, true),
            (LikelyCosts { percent }, false, false, true),
            (LikelyGains { percent }, false, false, true),
            (Inconclusive { more_pairs: 9 }, false, false, true),
            (Cached, false, false, false),
            (TooFewPairs, false, false, false),
        ] {
            let found = (is_decided(&verdict), is_alike(&verdict), is_open(&verdict));
            assert_eq!(found, (decided, alike, open), "{verdict:?}");
        }
    }

    #[test]
    fn losses_and_logs_are_inverse() {
        for x in [0.0, 0.01, 0.5, 2.0] {
            assert!((log_of_loss(loss(x)) - x).abs() < 1e-12);
        }
        assert!((loss(2.0_f64.ln()) - 0.5).abs() < 1e-12);
    }
}
