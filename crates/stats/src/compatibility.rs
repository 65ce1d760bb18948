//! Estimators of published studies, to reproduce their figures. They never affect a verdict.

/// The values without the `each_side` smallest and the `each_side` largest, ascending. `None` if no
/// value is left, or for a NaN.
pub fn trimmed(values: &[f64], each_side: usize) -> Option<Vec<f64>> {
    if values.iter().any(|v| v.is_nan()) || values.len() <= each_side.saturating_mul(2) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted[each_side..sorted.len() - each_side].to_vec())
}

/// The mean of the result of [`trimmed`]. For ten trials and an `each_side` of 1 this is the mean
/// of eight, the rule of the dd study: it drops the longest and the shortest trial regardless of
/// their size.
pub fn trimmed_mean(values: &[f64], each_side: usize) -> Option<f64> {
    let kept = trimmed(values, each_side)?;
    Some(kept.iter().sum::<f64>() / kept.len() as f64)
}

/// The difference between `a` and `b` as a percentage of the larger value; positive if `b` is smaller.
pub fn percent_of_larger(a: f64, b: f64) -> f64 {
    100.0 * (a - b) / a.max(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_of_the_larger_is_signed_and_at_most_100() {
        assert!((percent_of_larger(100.0, 80.0) - 20.0).abs() < 1e-9);
        assert!((percent_of_larger(80.0, 100.0) + 20.0).abs() < 1e-9);
    }
}
