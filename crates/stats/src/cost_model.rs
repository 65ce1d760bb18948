//! The cost of a request as a function of its size: extra time = a + b · size, over a sweep of
//! block sizes.
//!
//! `a` is the cost of the software path, paid per request; `b` is the cost of the cipher and the copies, paid per byte.
//! Small requests suffer more because `a` is the larger part of their time; this module measures `a` and `b`. Extra
//! time is the difference between two arms in the same block: encrypted minus plain for a whole system, null layer
//! minus plain for its path, and encrypted minus null layer for its cipher.
//!
//! The time per request is the inverse of the rate. With several requests in flight it is the interval between
//! completions, not the time that one request waits, so a and b then describe a saturated machine.

use crate::paired::{FEWEST_PAIRS, Spread};
use crate::student;

/// The extra time at one block size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizePoint {
    /// Bytes per request.
    pub bytes: f64,
    /// Mean extra time of a request, seconds.
    pub extra_s: f64,
    /// Standard error of that mean, seconds.
    pub standard_error_s: f64,
    /// Number of pairs.
    pub pairs: usize,
}

/// A coefficient with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// Best value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Extra time per request = `per_request_s` + `per_byte_s` · bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct CostModel {
    /// a: seconds per request.
    pub per_request_s: Coefficient,
    /// b: seconds per byte. Multiplied by 1,024 · 10⁹ it is ns per KiB; its inverse is a rate in
    /// bytes per second.
    pub per_byte_s: Coefficient,
    /// Sum of squared residuals in standard errors, divided by the number of sizes minus two: about 1 if the line fits
    /// the points, more otherwise. If it exceeds 1, the intervals are widened by its square root.
    pub misfit: f64,
    /// Largest distance of a point from the line, as a fraction of the larger of the two values,
    /// and the block size of that point in bytes.
    pub worst: (f64, f64),
    /// The size in bytes above which `b` is the larger part of the extra time: a / b. `None` if either is not positive.
    pub balance_bytes: Option<f64>,
}

impl SizePoint {
    /// The point of one block size, from the times per request of both arms in seconds, block by
    /// block.
    ///
    /// `None` for fewer than 3 pairs, slices of different lengths, or values that are not finite.
    pub fn of(bytes: f64, before_s: &[f64], after_s: &[f64]) -> Option<Self> {
        if before_s.len() != after_s.len() {
            return None;
        }
        let extra: Vec<f64> = after_s.iter().zip(before_s).map(|(a, b)| a - b).collect();
        let spread = Spread::of(&extra)?;
        Some(Self {
            bytes,
            extra_s: spread.mean,
            standard_error_s: spread.standard_error(),
            pairs: spread.pairs,
        })
    }
}

/// Fits the line by least squares. Each point is weighted by the inverse square of its standard
/// error, because large requests take a thousand times as long as small ones and vary in
/// proportion.
///
/// The standard errors are themselves estimates, each from the pairs of one size. Student's t
/// therefore uses the degrees of freedom of the smallest number of pairs. `None` for fewer than 3
/// different sizes, fewer than 3 pairs at any size, a standard error that is not positive, values
/// that are not finite, or a confidence outside (0, 1).
pub fn fit(points: &[SizePoint], confidence: f64) -> Option<CostModel> {
    let sound = |p: &SizePoint| {
        p.pairs >= FEWEST_PAIRS
            && p.bytes.is_finite()
            && p.extra_s.is_finite()
            && p.standard_error_s.is_finite()
            && p.standard_error_s > 0.0
    };
    let mut sizes: Vec<f64> = points.iter().map(|p| p.bytes).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes.dedup();
    if sizes.len() < 3 || !points.iter().all(sound) {
        return None;
    }
    let weight = |p: &SizePoint| p.standard_error_s.powi(-2);
    let total: f64 = points.iter().map(weight).sum();
    let mean = |value: fn(&SizePoint) -> f64| {
        points.iter().map(|p| weight(p) * value(p)).sum::<f64>() / total
    };
    let (size, extra) = (mean(|p| p.bytes), mean(|p| p.extra_s));
    let squares: f64 = points.iter().map(|p| weight(p) * (p.bytes - size).powi(2)).sum();
    let products: f64 =
        points.iter().map(|p| weight(p) * (p.bytes - size) * (p.extra_s - extra)).sum();
    let b = products / squares;
    let a = extra - b * size;
    let line = |p: &SizePoint| a + b * p.bytes;
    let chi2: f64 = points.iter().map(|p| weight(p) * (p.extra_s - line(p)).powi(2)).sum();
    let misfit = chi2 / (points.len() - 2) as f64;
    let fewest = points.iter().map(|p| p.pairs).min()?;
    let widen =
        student::interval_quantile((fewest - 1) as f64, confidence)? * misfit.max(1.0).sqrt();
    let coefficient = |value: f64, variance: f64| {
        let half = widen * variance.sqrt();
        Coefficient { value, low: value - half, high: value + half }
    };
    let off = |p: &SizePoint| {
        let (found, expected) = (p.extra_s, line(p));
        ((found - expected).abs() / found.abs().max(expected.abs()), p.bytes)
    };
    let worst = points.iter().map(off).max_by(|x, y| x.0.total_cmp(&y.0))?;
    let model = CostModel {
        per_request_s: coefficient(a, 1.0 / total + size * size / squares),
        per_byte_s: coefficient(b, 1.0 / squares),
        misfit,
        worst,
        balance_bytes: (a > 0.0 && b > 0.0).then_some(a / b),
    };
    [model.per_request_s.high, model.per_byte_s.high, misfit]
        .iter()
        .all(|v| v.is_finite())
        .then_some(model)
}
