//! Tests whether one more value differs from earlier values by more than these differ from each other.
//!
//! The test is for runs on different days. Two runs differ (another position on the device, temperature, other
//! software) far more than the trials of one run do, so only the spread *between* runs separates a change from
//! noise. Values are ln of speeds, one per run.

use crate::paired::Spread;
use crate::student;

/// Minimum number of earlier values. With 3 values, the interval would be three times as wide as with many values.
pub const FEWEST_EARLIER: usize = 4;

/// One more value compared with earlier ones, in the values' unit except for the p-value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Number of earlier values.
    pub earlier: usize,
    /// Mean of the earlier values.
    pub mean: f64,
    /// Standard deviation of the earlier values.
    pub sd: f64,
    /// Lower end of the prediction interval for one more value.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
    /// The new value minus the mean.
    pub difference: f64,
    /// Two-sided p-value of "one more value of the same kind", not corrected for multiplicity.
    pub p_value: f64,
}

/// Compares `newest` with `earlier`: mean ± t · s · √(1 + 1/k), k - 1 degrees of freedom (Hahn &
/// Meeker, *Statistical Intervals*, §4.8: the prediction interval of one future observation of a
/// normal sample).
///
/// `None` below [`FEWEST_EARLIER`] values, for values that are not finite, and for a `confidence`
/// outside (0, 1). If all earlier values are equal, every other value is a difference (p = 0).
pub fn predict(earlier: &[f64], newest: f64, confidence: f64) -> Option<Prediction> {
    if earlier.len() < FEWEST_EARLIER || !newest.is_finite() {
        return None;
    }
    let spread = Spread::of(earlier)?;
    let k = earlier.len() as f64;
    let df = k - 1.0;
    let sd = spread.sd;
    let scale = sd * (1.0 + 1.0 / k).sqrt();
    let half = student::interval_quantile(df, confidence)? * scale;
    let difference = newest - spread.mean;
    let p_value = match (scale == 0.0, difference == 0.0) {
        (true, true) => 1.0,
        (true, false) => 0.0,
        (false, _) => student::two_sided_p(df, difference / scale),
    };
    (spread.mean.is_finite() && scale.is_finite()).then_some(Prediction {
        earlier: earlier.len(),
        mean: spread.mean,
        sd,
        low: spread.mean - half,
        high: spread.mean + half,
        difference,
        p_value,
    })
}

/// The distance between one more value and the mean of `earlier` values with this `sd` at which a difference is claimed
/// at a family-wise `level` over `cells`, by the strictest step of [`holm`](fn@crate::holm). `None` as for [`predict`].
pub fn smallest_change(sd: f64, earlier: usize, cells: usize, level: f64) -> Option<f64> {
    if earlier < FEWEST_EARLIER || cells == 0 || !sd.is_finite() {
        return None;
    }
    let k = earlier as f64;
    let t = student::upper_quantile(k - 1.0, level / (2.0 * cells as f64))?;
    Some(t * sd * (1.0 + 1.0 / k).sqrt())
}
