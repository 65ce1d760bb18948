//! Compares two unpaired samples: records from different days, machines or programs.
//!
//! If the arms were not interleaved there are no blocks. The difference then includes drift and anything else
//! that changed between the two samples, and no arithmetic removes it, so every such figure must be labelled
//! "unpaired". Values are the ln of speeds, one per trial, so differences are log ratios as in
//! [`paired`](crate::paired). The interval is Welch's, which allows the two samples to differ in spread. The
//! companion that is robust against a few outliers is the Hodges-Lehmann shift with the interval of the
//! rank-sum test.

use crate::distribution::{normal_area, normal_quantile};
use crate::paired::Spread;
use crate::{median, student};

/// Up to this many values in both samples together the null distribution of the rank sum is counted exactly (an
/// `f64` holds the central binomial coefficient up to 56 exactly). For more values, the normal approximation with
/// continuity correction replaces it.
const EXACT_UP_TO: usize = 56;

/// An arm's values compared with a baseline's. All fields except the counts, the degrees of freedom
/// and the p-values are in the values' unit: log units for ln of speeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnpairedEstimate {
    /// Number of baseline values, and number of the arm's values.
    pub counts: (usize, usize),
    /// Mean of the arm minus mean of the baseline.
    pub difference: f64,
    /// Lower end of Welch's interval of the difference.
    pub low: f64,
    /// Upper end of Welch's interval of the difference.
    pub high: f64,
    /// Half-width of Welch's interval.
    pub half_width: f64,
    /// Degrees of freedom by Welch and Satterthwaite; infinite if neither sample has any spread.
    pub degrees_of_freedom: f64,
    /// Two-sided p-value of "the means are equal" by Welch's test, not corrected for multiplicity.
    pub p_value: f64,
    /// Hodges-Lehmann estimate of the shift: the median of all differences between an arm's value and a baseline value.
    pub hodges_lehmann: f64,
    /// Distribution-free interval of the shift, from the rank-sum test. `None` if there are too few
    /// values for the confidence (fewer than 4 and 4 at 95 %).
    pub rank_sum: Option<(f64, f64)>,
    /// Two-sided p-value of the rank-sum test (Wilcoxon 1945; Mann & Whitney 1947): exact for up to
    /// 56 distinct values, otherwise the normal approximation with corrections for continuity and
    /// ties.
    pub rank_sum_p: f64,
}

/// Estimates the difference between `arm` and `baseline` with an interval of `confidence` (a
/// fraction).
///
/// Welch 1947, *The Generalization of 'Student's' Problem when Several Different Population
/// Variances are Involved*, Biometrika 34:28. `None` below 3 values in either sample, for a value
/// that is not finite, or for a confidence outside (0, 1). Memory use grows with the product of the
/// counts.
pub fn estimate_unpaired(
    baseline: &[f64],
    arm: &[f64],
    confidence: f64,
) -> Option<UnpairedEstimate> {
    let welch = Welch::of(baseline, arm)?;
    let t = student::interval_quantile(welch.df, confidence)?;
    let half_width = t * welch.standard_error;
    let p_value = match (welch.standard_error == 0.0, welch.difference == 0.0) {
        (true, true) => 1.0,
        (true, false) => 0.0,
        (false, _) => student::two_sided_p(welch.df, welch.difference / welch.standard_error),
    };
    let mut shifts: Vec<f64> =
        arm.iter().flat_map(|y| baseline.iter().map(move |x| y - x)).collect();
    shifts.sort_unstable_by(f64::total_cmp);
    let counts = (baseline.len(), arm.len());
    Some(UnpairedEstimate {
        counts,
        difference: welch.difference,
        low: welch.difference - half_width,
        high: welch.difference + half_width,
        half_width,
        degrees_of_freedom: welch.df,
        p_value,
        hodges_lehmann: median(&shifts)?,
        rank_sum: shift_interval(&shifts, counts, confidence),
        rank_sum_p: rank_sum_p(baseline, arm),
    })
}

/// Whether the means are shown to differ by less than `margin`: two one-sided Welch tests at `alpha`
/// each. `false` means "not shown", as in [`equivalent_within`](crate::equivalent_within).
pub fn equivalent_unpaired(baseline: &[f64], arm: &[f64], margin: f64, alpha: f64) -> bool {
    let Some(welch) = Welch::of(baseline, arm) else { return false };
    student::upper_quantile(welch.df, alpha)
        .is_some_and(|t| welch.difference.abs() + t * welch.standard_error < margin)
}

/// The power of Welch's two-sided test at `level` to distinguish two means that differ by `size`, for samples of these
/// sizes and spreads. `None` if [`estimate_unpaired`] returns `None`.
///
/// The t statistic is then non-central; its upper area by Johnson & Welch 1940, *Applications of the Non-Central
/// t-Distribution*, Biometrika 31:362, is within 0.02 of simulated ones from 4 degrees of freedom on.
pub fn power_unpaired(baseline: &[f64], arm: &[f64], size: f64, level: f64) -> Option<f64> {
    let welch = Welch::of(baseline, arm)?;
    let t = student::upper_quantile(welch.df, level / 2.0)?;
    if welch.standard_error == 0.0 {
        return Some(if size == 0.0 { 0.0 } else { 1.0 });
    }
    let shift = size.abs() / welch.standard_error;
    let spread = (1.0 + t * t / (2.0 * welch.df)).sqrt();
    let correction = 1.0 - 1.0 / (4.0 * welch.df);
    let above = |shift: f64| normal_area((shift - t * correction) / spread);
    Some((above(shift) + above(-shift)).min(1.0))
}

/// The quantities of Welch's test.
struct Welch {
    difference: f64,
    standard_error: f64,
    df: f64,
}

impl Welch {
    fn of(baseline: &[f64], arm: &[f64]) -> Option<Self> {
        let (x, y) = (Spread::of(baseline)?, Spread::of(arm)?);
        let parts = [x, y].map(|s| s.standard_error().powi(2));
        let variance = parts[0] + parts[1];
        let weights = parts.map(|v| v / variance);
        let df = match variance > 0.0 {
            true => {
                1.0 / (weights[0].powi(2) / (x.pairs - 1) as f64
                    + weights[1].powi(2) / (y.pairs - 1) as f64)
            }
            false => f64::INFINITY,
        };
        let difference = y.mean - x.mean;
        let standard_error = variance.sqrt();
        (difference.is_finite() && standard_error.is_finite()).then_some(Self {
            difference,
            standard_error,
            df,
        })
    }
}

/// The interval of at least `confidence`, from the sorted differences between all values of both
/// samples (Hollander & Wolfe, *Nonparametric Statistical Methods*, §4.3).
fn shift_interval(shifts: &[f64], counts: (usize, usize), confidence: f64) -> Option<(f64, f64)> {
    let tail = (1.0 - confidence) / 2.0;
    if !(tail > 0.0 && tail < 0.5) {
        return None;
    }
    let cut = if counts.0 + counts.1 <= EXACT_UP_TO {
        cumulative(counts).take_while(|below| *below <= tail).count()
    } else {
        let (m, n) = (counts.0 as f64, counts.1 as f64);
        let sd = (m * n * (m + n + 1.0) / 12.0).sqrt();
        // P(U ≤ u) ≈ Φ((u + ½ - mean) / sd) ≤ tail holds for u = 0 … cut - 1. A negative cut becomes 0.
        (m * n / 2.0 + sd * normal_quantile(tail) + 0.5).floor() as usize
    };
    let low = shifts.get(cut.checked_sub(1)?)?;
    let high = shifts.get(shifts.len().checked_sub(cut)?)?;
    Some((*low, *high))
}

/// P(U ≤ u) for u = 0, 1, …, of the rank-sum statistic of two samples without ties.
fn cumulative((m, n): (usize, usize)) -> impl Iterator<Item = f64> {
    // The generating function of U is the Gaussian binomial coefficient: the product of (1 - qⁿ⁺ⁱ)
    // / (1 - qⁱ), i = 1 … m.
    let mut ways = vec![0.0_f64; m * n + 1];
    ways[0] = 1.0;
    for i in 1..=m {
        for u in (n + i..ways.len()).rev() {
            ways[u] -= ways[u - n - i];
        }
        for u in i..ways.len() {
            ways[u] += ways[u - i];
        }
    }
    let all = ways.iter().sum::<f64>();
    ways.into_iter().scan(0.0, move |below, w| {
        *below += w;
        Some(*below / all)
    })
}

fn rank_sum_p(baseline: &[f64], arm: &[f64]) -> f64 {
    let (m, n) = (baseline.len() as f64, arm.len() as f64);
    let u: f64 = (arm.iter())
        .flat_map(|y| baseline.iter().map(move |x| f64::from(y > x) + 0.5 * f64::from(y == x)))
        .sum();
    let mut all: Vec<f64> = baseline.iter().chain(arm).copied().collect();
    all.sort_unstable_by(f64::total_cmp);
    let ties: f64 =
        all.chunk_by(|a, b| a == b).map(|equal| equal.len() as f64).map(|t| t.powi(3) - t).sum();
    let smaller = u.min(m * n - u);
    if ties == 0.0 && all.len() <= EXACT_UP_TO {
        let below = cumulative((baseline.len(), arm.len())).nth(smaller as usize);
        return below.map_or(1.0, |p| (2.0 * p).min(1.0));
    }
    let count = m + n;
    let sd = (m * n / 12.0 * (count + 1.0 - ties / (count * (count - 1.0)))).sqrt();
    let z = (smaller + 0.5 - m * n / 2.0) / sd;
    // If all values are equal there is no spread and no evidence of a difference.
    if sd > 0.0 { (2.0 * normal_area(z)).min(1.0) } else { 1.0 }
}
