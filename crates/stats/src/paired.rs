//! The cost of one arm against plain over paired blocks: estimate, interval, test, equivalence.
//!
//! The main figure is the mean of d = ln(E/P) with Student's t interval. Averaging logarithms makes
//! "twice as fast" and "half as fast" symmetric, and pairing removes everything that both trials of
//! a block share. It is accompanied by the Hodges-Lehmann estimate and the signed-rank interval of
//! [`signed_rank`], which a few outliers cannot move far. If the two disagree, outliers are the
//! cause.

use crate::{signed_rank, student};

/// Minimum number of pairs for an estimate.
///
/// Two pairs do give a t interval, with a half-width of 12.7 standard errors: formally correct, but useless.
pub const FEWEST_PAIRS: usize = 3;

/// An arm's d = ln(E/P) over its pairs. All fields except `pairs` and `p_value` are in log units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedEstimate {
    /// Number of pairs.
    pub pairs: usize,
    /// Arithmetic mean of d; `exp(mean)` is the remaining share of plain speed.
    pub mean: f64,
    /// Sample standard deviation of d (n - 1 in the denominator).
    pub sd: f64,
    /// Lower end of the t interval of the mean.
    pub low: f64,
    /// Upper end of the t interval of the mean.
    pub high: f64,
    /// Half-width of the t interval.
    pub half_width: f64,
    /// Two-sided p-value of "the mean of d is 0" (one-sample t test), not corrected for multiplicity.
    pub p_value: f64,
    /// Hodges-Lehmann estimate: the median of the pairwise (Walsh) averages.
    pub hodges_lehmann: f64,
    /// Distribution-free interval of the centre of d, from the signed-rank test. `None` if there
    /// are too few pairs for the confidence (fewer than 6 at 95 %).
    pub signed_rank: Option<(f64, f64)>,
}

/// Estimates the mean of `d` with an interval of `confidence` (a fraction, such as 0.95).
///
/// `None` below [`FEWEST_PAIRS`] pairs, for a value that is not finite, or for a confidence outside
/// (0, 1). If all d are equal the interval has no width, and `p_value` is 1 if they are 0 and 0
/// otherwise. Memory use grows with the square of the number of pairs.
pub fn estimate(d: &[f64], confidence: f64) -> Option<PairedEstimate> {
    let spread = Spread::of(d)?;
    let Spread { pairs, mean, sd } = spread;
    let half_width = spread.half_width(confidence)?;
    let p_value = match (sd == 0.0, mean == 0.0) {
        (true, true) => 1.0,
        (true, false) => 0.0,
        (false, _) => student::two_sided_p((pairs - 1) as f64, mean / spread.standard_error()),
    };
    let walsh = signed_rank::walsh_averages(d);
    Some(PairedEstimate {
        pairs,
        mean,
        sd,
        low: mean - half_width,
        high: mean + half_width,
        half_width,
        p_value,
        hodges_lehmann: signed_rank::centre(&walsh)?,
        signed_rank: signed_rank::interval(&walsh, pairs, confidence),
    })
}

/// Half-width of the t interval, in log units: [`PairedEstimate::half_width`] without computing the rest. `None` if
/// [`estimate`] returns `None`.
pub fn half_width(d: &[f64], confidence: f64) -> Option<f64> {
    Spread::of(d)?.half_width(confidence)
}

/// Whether the mean of `d` is shown to be within ±`margin` (log units) at level `alpha`.
///
/// Two one-sided t tests, each at `alpha` (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15:657). This is
/// equivalent to checking that the 1 - 2 `alpha` interval is inside the margin. `false` means "not shown",
/// never "different". The function also returns `false` for fewer than [`FEWEST_PAIRS`] pairs, values that are
/// not finite, a margin that is not positive or an `alpha` outside (0, 0.5).
///
/// For "within m %" of speed pass `ln(1 + m / 100)`.
pub fn equivalent_within(d: &[f64], margin: f64, alpha: f64) -> bool {
    let Some(spread) = Spread::of(d) else {
        return false;
    };
    let Some(t) = student::upper_quantile((spread.pairs - 1) as f64, alpha) else {
        return false;
    };
    spread.mean.abs() + t * spread.standard_error() < margin
}

/// The smallest number of pairs n, at least [`FEWEST_PAIRS`], for which an interval of `confidence`
/// has t · `sd` / √n ≤ `half_width`, both in log units.
///
/// This is a forecast, because `sd` is itself an estimate. `u32::MAX` if no number of pairs
/// suffices (a half-width that is not positive, a confidence outside (0, 1), an `sd` that is not
/// finite).
pub fn pairs_needed(sd: f64, half_width: f64, confidence: f64) -> u32 {
    let enough = |pairs: u32| {
        let spread = Spread { pairs: pairs as usize, mean: 0.0, sd };
        half_width > 0.0 && spread.half_width(confidence).is_some_and(|h| h <= half_width)
    };
    // t/√n falls as n grows, so doubling brackets the answer and bisection finds it.
    let mut too_few = FEWEST_PAIRS as u32 - 1;
    let mut candidate = FEWEST_PAIRS as u32;
    while !enough(candidate) {
        too_few = candidate;
        candidate = match candidate.checked_mul(2) {
            Some(doubled) => doubled,
            None => return u32::MAX,
        };
    }
    while candidate - too_few > 1 {
        let middle = too_few + (candidate - too_few) / 2;
        if enough(middle) {
            candidate = middle;
        } else {
            too_few = middle;
        }
    }
    candidate
}

/// Mean and standard deviation of at least [`FEWEST_PAIRS`] values.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) pairs: usize,
    pub(crate) mean: f64,
    pub(crate) sd: f64,
}

impl Spread {
    /// `None` below [`FEWEST_PAIRS`] values or if a result is not finite.
    pub(crate) fn of(d: &[f64]) -> Option<Self> {
        if d.len() < FEWEST_PAIRS {
            return None;
        }
        let n = d.len() as f64;
        // Deviations are computed from the first value, so that equal values have a spread of exactly 0.
        let origin = d[0];
        let shift = d.iter().map(|x| x - origin).sum::<f64>() / n;
        let squares = d.iter().map(|x| (x - origin - shift).powi(2)).sum::<f64>();
        let (mean, sd) = (origin + shift, (squares / (n - 1.0)).sqrt());
        (mean.is_finite() && sd.is_finite()).then_some(Self { pairs: d.len(), mean, sd })
    }

    pub(crate) fn standard_error(&self) -> f64 {
        self.sd / (self.pairs as f64).sqrt()
    }

    /// Half-width of the t interval; `None` for a confidence outside (0, 1).
    pub(crate) fn half_width(&self, confidence: f64) -> Option<f64> {
        let t = student::interval_quantile((self.pairs - 1) as f64, confidence)?;
        Some(t * self.standard_error())
    }
}
