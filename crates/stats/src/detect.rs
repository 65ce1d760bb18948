//! From which size on a difference counts: the level of a claim, and what a measurement can show.
//!
//! Two things bound what may be called a cost. Chance: a t test, corrected for the number of cells that
//! were looked at ([`smallest_detectable`]). And the storage itself: the means of two plain arms do not
//! agree exactly either ([`noise_of_mean`]). Both shrink with the root of the number of pairs, unlike
//! [`noise_floor`](fn@crate::noise_floor), which is about single trials and does not shrink at all.

use crate::paired::FEWEST_PAIRS;
use crate::student;

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
    match student::upper_quantile(pairs - 1, level / (2.0 * cells as f64)) {
        Some(t) => t * (sd / (pairs as f64).sqrt()),
        None => f64::INFINITY,
    }
}
