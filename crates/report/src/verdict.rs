//! The rules by which an estimate becomes a verdict.
//!
//! A large p-value never becomes "no cost": saying that two arms are alike takes an equivalence test
//! (two one-sided tests, Schuirmann 1987) or a difference that the noise floor covers.

use cryptbench_record::{Plan, Verdict};
use cryptbench_stats::{PairedEstimate, equivalent_within, pairs_needed};

/// What one verdict rests on; everything in the log domain, d = ln(E/P) per block.
pub(crate) struct Evidence<'a> {
    /// The differences, one per pair.
    pub d: &'a [f64],
    /// Their estimate.
    pub estimate: &'a PairedEstimate,
    /// p-value of "no difference", corrected for the number of workloads.
    pub p_holm: f64,
    /// Noise floor of the workload, 0 where it is not known.
    pub noise: f64,
}

/// Judges one cell; the first rule that applies gives the word.
///
/// 1. Slower (faster) than plain after Holm, by more than the noise floor: costs (gains).
/// 2. Equivalent within the target half-width, else within the noise floor where that is larger.
/// 3. Smaller than the noise floor, and known at least as precisely as the stopping rule asks or
///    shown to differ from nothing: within noise.
/// 4. Otherwise inconclusive, with the pairs that the precision of the stopping rule needs.
pub(crate) fn judge(evidence: &Evidence<'_>, plan: &Plan) -> Verdict {
    let Evidence { d, estimate, p_holm, noise } = *evidence;
    let alpha = 1.0 - plan.confidence;
    let target = plan.target_half_width.max(0.0).ln_1p();
    let size = estimate.mean.abs();
    if p_holm < alpha && size > noise {
        return match estimate.mean < 0.0 {
            true => Verdict::Costs { percent: -estimate.mean.exp_m1() * 100.0 },
            false => Verdict::Gains { percent: estimate.mean.exp_m1() * 100.0 },
        };
    }
    for margin in [target, noise] {
        if margin >= target && equivalent_within(d, margin, alpha) {
            return Verdict::Equivalent { within_percent: margin.exp_m1() * 100.0 };
        }
    }
    let precision = target.max(noise);
    let known = estimate.half_width <= precision || estimate.p_value < alpha;
    if size <= noise && known {
        return Verdict::WithinNoise { noise_percent: noise.exp_m1() * 100.0 };
    }
    Verdict::Inconclusive { more_pairs: pairs_to_settle(estimate, precision, plan.confidence) }
}

/// Pairs in total that bring the half-width to `precision`, at the spread seen so far.
///
/// Where that precision is reached already, the difference lies so close to a boundary that only a
/// half-width as small as its distance from nothing settles it. Always more than there are.
fn pairs_to_settle(estimate: &PairedEstimate, precision: f64, confidence: f64) -> u32 {
    let half_width = match estimate.half_width > precision {
        true => precision,
        false => precision.min(estimate.mean.abs()),
    };
    let seen = u32::try_from(estimate.pairs).unwrap_or(u32::MAX);
    pairs_needed(estimate.sd, half_width, confidence).max(seen.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use cryptbench_stats::estimate;

    use super::*;

    fn plan(target: f64) -> Plan {
        Plan {
            profile: String::new(),
            workloads: Vec::new(),
            arms: Vec::new(),
            seed: 0,
            budget_s: 0.0,
            trial_s: 1.0,
            min_pairs: 6,
            max_pairs: 40,
            target_half_width: target,
            confidence: 0.95,
        }
    }

    /// Ten differences with this mean and a sample standard deviation of `spread`.
    fn differences(mean: f64, spread: f64) -> Vec<f64> {
        let step = spread * (0.9_f64).sqrt();
        (0..10).map(|i| mean + if i % 2 == 0 { step } else { -step }).collect()
    }

    fn verdict(mean: f64, spread: f64, noise: f64) -> Verdict {
        let d = differences(mean, spread);
        let estimate = estimate(&d, 0.95).unwrap();
        let evidence = Evidence { d: &d, estimate: &estimate, p_holm: estimate.p_value, noise };
        judge(&evidence, &plan(0.03))
    }

    // Ten pairs: the half-width is 0.715 spreads, and equivalence needs 0.580 spreads.

    #[test]
    fn a_clear_loss_costs_and_a_clear_gain_gains() {
        let Verdict::Costs { percent } = verdict(0.9_f64.ln(), 0.02, 0.04) else { panic!() };
        assert!((percent - 10.0).abs() < 1e-9, "{percent}");
        let Verdict::Gains { percent } = verdict(1.1_f64.ln(), 0.02, 0.04) else { panic!() };
        assert!((percent - 10.0).abs() < 1e-9, "{percent}");
    }

    #[test]
    fn a_significant_difference_below_the_noise_floor_is_no_cost() {
        // Interval -0.05 +- 0.007, noise 0.08: inside the noise as a whole.
        let words = verdict(-0.05, 0.01, 0.08);
        assert!(
            matches!(words, Verdict::Equivalent { within_percent } if (within_percent - 8.33).abs() < 0.01)
        );
        // -0.05 +- 0.04: may be more than the noise, but the best guess is not.
        let words = verdict(-0.05, 0.056, 0.08);
        assert!(
            matches!(words, Verdict::WithinNoise { noise_percent } if (noise_percent - 8.33).abs() < 0.01)
        );
    }

    #[test]
    fn the_smaller_margin_that_passes_is_the_one_reported() {
        let words = verdict(0.001, 0.01, 0.08);
        assert!(
            matches!(words, Verdict::Equivalent { within_percent } if (within_percent - 3.0).abs() < 1e-9)
        );
    }

    #[test]
    fn a_large_p_with_a_wide_interval_is_inconclusive_whatever_the_noise() {
        // +-0.14 around almost nothing. 0.2 * 1.96 / 0.0296 squared is 176, and t needs a little more.
        let Verdict::Inconclusive { more_pairs } = verdict(-0.001, 0.2, 0.01) else { panic!() };
        assert!((176..=182).contains(&more_pairs), "{more_pairs}");
        assert!(matches!(verdict(-0.001, 0.2, 0.05), Verdict::Inconclusive { .. }));
        assert!(matches!(verdict(-0.05, 0.2, 0.0), Verdict::Inconclusive { .. }));
    }

    #[test]
    fn inconclusive_always_asks_for_more_than_there_are() {
        // Precise enough, yet neither beyond 0 after Holm nor equivalent within 3 %.
        let d = differences(-0.025, 0.03);
        let estimate = estimate(&d, 0.95).unwrap();
        let evidence = Evidence { d: &d, estimate: &estimate, p_holm: 0.3, noise: 0.0 };
        let Verdict::Inconclusive { more_pairs } = judge(&evidence, &plan(0.03)) else { panic!() };
        assert!(more_pairs > 10, "{more_pairs}");
    }

    #[test]
    fn the_correction_for_many_workloads_decides_not_the_raw_p() {
        let d = differences(-0.1, 0.1);
        let estimate = estimate(&d, 0.95).unwrap();
        assert!(estimate.p_value < 0.05);
        let judged = |p_holm| {
            judge(&Evidence { d: &d, estimate: &estimate, p_holm, noise: 0.0 }, &plan(0.03))
        };
        assert!(matches!(judged(0.04), Verdict::Costs { .. }));
        assert!(matches!(judged(0.06), Verdict::Inconclusive { .. }));
    }
}
