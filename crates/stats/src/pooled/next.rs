//! The prediction interval for the true effect of the next machine, from the confidence distribution of τ².
//!
//! If an estimate of τ² is inserted, the interval is too narrow for few machines whose measurement error is as
//! large as the differences between them: the simulation in `tests/integration/pooled.rs` then fails. Therefore the
//! interval is averaged over τ², following Nagashima, Noma & Furukawa (2019, *Statistical Methods in Medical
//! Research* 28:1689): Q(τ²) = Σ w (y - μ)² has a χ² distribution at the true τ², so each quantile of χ² gives a
//! τ², and each τ² a normal distribution of the next effect.

use super::{Effect, Sums};
use crate::distribution::{chi_square_quantile, normal_area};

/// Equally probable values of τ².
const STEPS: u32 = 100;

/// The ends of the interval of `confidence`; `None` if the quantiles cannot be computed.
pub(super) fn interval(effects: &[Effect], confidence: f64) -> Option<(f64, f64)> {
    let free = effects.len().checked_sub(1).filter(|free| *free > 0)? as f64;
    let mut between = 0.0;
    let parts: Vec<(f64, f64)> = (0..STEPS)
        .rev()
        .map(|step| {
            let p = (f64::from(step) + 0.5) / f64::from(STEPS);
            between = solve(effects, chi_square_quantile(free, p), between);
            let sums = Sums::of(effects, between);
            (sums.mean, (between + 1.0 / sums.weight).sqrt())
        })
        .collect();
    let tail = (1.0 - confidence) / 2.0;
    Some((quantile(&parts, tail), quantile(&parts, 1.0 - tail)))
}

/// The τ² at which Q equals `target`, searched from `start` upwards, where Q must be at least `target`; 0 if Q is
/// smaller even at `start`.
///
/// Q falls with τ² and is convex, so Newton's steps from the left never pass the root.
fn solve(effects: &[Effect], target: f64, start: f64) -> f64 {
    let mut between = start;
    for _ in 0..100 {
        let sums = Sums::of(effects, between);
        let step = (sums.spread - target) / sums.spread2;
        if step.is_nan() || step <= 0.0 {
            break;
        }
        between += step;
        if step <= 1e-9 * between {
            break;
        }
    }
    between
}

/// The quantile at `p` of normal distributions (mean, standard deviation) of equal weight, by bisection.
fn quantile(parts: &[(f64, f64)], p: f64) -> f64 {
    let below = |x: f64| {
        let sum: f64 = parts.iter().map(|(mean, sd)| normal_area((x - mean) / sd)).sum();
        sum / parts.len() as f64
    };
    let end = |side: f64| {
        let each = parts.iter().map(|(mean, sd)| mean + side * 10.0 * sd);
        if side < 0.0 {
            each.fold(f64::INFINITY, f64::min)
        } else {
            each.fold(f64::NEG_INFINITY, f64::max)
        }
    };
    let (mut low, mut high) = (end(-1.0), end(1.0));
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if below(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::student;

    /// Without errors of measuring it is the interval of one more value of a normal sample.
    #[test]
    fn without_noise_it_is_students_interval() {
        let values: [f64; 8] = [-0.12, -0.1, -0.15, -0.11, -0.09, -0.13, -0.14, -0.08];
        let effects = values.map(|value| Effect { value, variance: 1e-12 });
        let (low, high) = interval(&effects, 0.95).unwrap();
        let mean = values.iter().sum::<f64>() / 8.0;
        let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 7.0).sqrt();
        let half =
            student::interval_quantile(7.0, 0.95).unwrap() * sd * (1.0f64 + 1.0 / 8.0).sqrt();
        // The quantiles of χ² are a hundred, not all.
        assert!(
            (high - mean) / half > 0.98 && (high - mean) / half < 1.01,
            "{}",
            (high - mean) / half
        );
        assert!(((high - mean) - (mean - low)).abs() < 1e-6 * half);
    }
}
