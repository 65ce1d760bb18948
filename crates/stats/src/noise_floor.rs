//! The difference between two plain trials: quantiles, and the noise floor computed from them.

use crate::paired::FEWEST_PAIRS;

/// The 95th percentile ([`quantile`], type 7) of |d| over P-P' pairs, d = ln(P'/P), in log units.
///
/// It describes how much an *individual* pair of plain trials differs, and does not shrink with more pairs. A
/// user could not distinguish a smaller cost from plain storage in a single trial. For means, use
/// [`noise_of_mean`](crate::noise_of_mean). With fewer than 21 pairs the floor is between the two largest |d|,
/// so it varies from run to run.
///
/// `None` for fewer than 3 pairs or for a value that is not finite.
pub fn noise_floor(d: &[f64]) -> Option<f64> {
    if d.len() < FEWEST_PAIRS || d.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let sizes: Vec<f64> = d.iter().map(|x| x.abs()).collect();
    quantile(&sizes, 0.95)
}

/// The middle value, or the mean of the two middle values. `None` for no values or a NaN.
pub fn median(x: &[f64]) -> Option<f64> {
    quantile(x, 0.5)
}

/// The quantile at `p` in 0..=1: linear between the order statistics around position (n - 1)p,
/// counted from 0.
///
/// Definition 7 of Hyndman & Fan (1996), *Sample Quantiles in Statistical Packages*, The American
/// Statistician 50:361; the default of R and NumPy. `None` for no values, a NaN, or a `p` outside
/// 0..=1.
pub fn quantile(x: &[f64], p: f64) -> Option<f64> {
    if x.is_empty() || !(0.0..=1.0).contains(&p) || x.iter().any(|v| v.is_nan()) {
        return None;
    }
    let mut sorted = x.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let position = (sorted.len() - 1) as f64 * p;
    let below = position.floor() as usize;
    let (low, high) = (sorted[below], sorted[position.ceil() as usize]);
    // Equal neighbours are returned directly, because two infinities have no difference.
    Some(if low == high { low } else { low + (high - low) * (position - below as f64) })
}

/// The arithmetic mean; `None` for no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
