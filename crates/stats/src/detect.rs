//! From which size on a difference counts: the level of a claim, and what a measurement can show.
//!
//! Two things bound what may be called a cost. Chance: a t test, corrected for the number of cells that
//! were looked at ([`smallest_detectable`]). And the storage itself: the means of two plain arms do not
//! agree exactly either ([`noise_of_mean`]). Both shrink with the root of the number of pairs, unlike
//! [`noise_floor`](fn@crate::noise_floor), which is about single trials and does not shrink at all.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::paired::FEWEST_PAIRS;
use crate::{StoppingRule, student};

/// Family-wise level at which a cost or a gain may be claimed, after Holm over the cells of one arm.
///
/// Lower than the 5 % of the intervals, because a run shows several arms, each a family of its own: a
/// run of plain storage against itself must claim something in at most 5 % of *runs*, with room to
/// spare for what optional stopping and unruly noise cost.
pub const FAMILY_LEVEL: f64 = 0.01;

/// How far the means of two plain arms lie apart over `pairs` pairs, log units: 95 % of the time at
/// most about this, given the [`noise_floor`](fn@crate::noise_floor) of single trials.
///
/// The floor is a 95th percentile of |d| and d is centred on 0, so that of the mean is √`pairs` times
/// smaller where the d are independent. Infinite for no pairs, which say nothing of a mean.
pub fn noise_of_mean(noise_floor: f64, pairs: usize) -> f64 {
    if pairs == 0 { f64::INFINITY } else { noise_floor / (pairs as f64).sqrt() }
}

/// The |mean of d| that a two-sided t test must exceed to claim a difference, log units: t · `sd` / √`pairs`,
/// where t leaves `level` / (2 `cells`) above it.
///
/// `sd` is the sample standard deviation of d over `pairs` pairs. Dividing the level by all `cells` is
/// the first and strictest step of [`holm`](fn@crate::holm), so a mean beyond this is claimed whatever
/// the other cells show; next to other claims a somewhat smaller one may do.
///
/// Infinite where nothing can be claimed: fewer than 3 pairs, no cells, a `level` outside (0, 1), an `sd`
/// that is negative or not a number.
pub fn smallest_detectable(sd: f64, pairs: usize, cells: usize, level: f64) -> f64 {
    if pairs < FEWEST_PAIRS
        || cells == 0
        || level.is_nan()
        || level >= 1.0
        || sd.is_nan()
        || sd < 0.0
    {
        return f64::INFINITY;
    }
    match student::upper_quantile((pairs - 1) as f64, level / (2.0 * cells as f64)) {
        Some(t) => t * (sd / (pairs as f64).sqrt()),
        None => f64::INFINITY,
    }
}

/// The half-width of an interval of `confidence` at which a true difference of `cost` is claimed with
/// probability `power` among `cells` cells, log units.
///
/// An interval as wide as the cost itself finds it every third or fourth time only: its end reaches 0 in half
/// of the runs, and a claim needs [`FAMILY_LEVEL`] after [`holm`](fn@crate::holm) on top. The normal
/// approximation for many pairs: `cost` · z(confidence) / (z(1 - level / 2 cells) + z(power)), which is
/// 0.43 · `cost` for 95 %, 8 cells and 90 %. With `power` at most 0.5 or no cells there is nothing to find: 0.
pub fn half_width_to_find(cost: f64, cells: usize, confidence: f64, power: f64) -> f64 {
    let sane = cells > 0 && (0.5..1.0).contains(&power) && confidence > 0.0 && confidence < 1.0;
    if !sane || cost.is_nan() {
        return 0.0;
    }
    let normal = Normal::standard();
    let interval = normal.inverse_cdf(f64::midpoint(1.0, confidence));
    let claim = -normal.inverse_cdf(FAMILY_LEVEL / (2.0 * cells as f64));
    cost * interval / (claim + normal.inverse_cdf(power))
}

impl StoppingRule {
    /// The same rule with the target at which a loss of its present target is found in 9 of 10 runs of
    /// `cells` workloads, and at which equal arms are shown to be equivalent within it.
    ///
    /// Takes about five times the pairs on noisy storage and half as many again on quiet storage; `--precision`
    /// of 1.3 % is what it makes of 3 % with 8 workloads.
    pub fn to_find_its_target(self, cells: usize) -> Self {
        let half_width = half_width_to_find(self.limit(), cells, self.confidence, 0.9);
        Self { target: half_width.exp_m1(), ..self }
    }
}
