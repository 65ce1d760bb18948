//! The estimators of published studies, so that their figures can be reproduced exactly.
//!
//! These figures are labelled with the estimator's name, shown next to this program's estimates, and never affect a
//! verdict: all four estimators discard the pairing, and three discard the spread within the trials.

/// Arithmetic mean of all values (HD Tune's five runs, Anvil's ten runs).
pub fn mean(values: &[f64]) -> Option<f64> {
    cryptbench_stats::trimmed_mean(values, 0)
}

/// Sample standard deviation (n - 1); needs two values.
pub fn sample_sd(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (values.len() >= 2).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// The values in ascending order, without the largest and the smallest value (the dd script uses eight of its ten
/// trials). Fewer than three values are not trimmed.
pub fn trimmed(values: &[f64]) -> Vec<f64> {
    let each_side = usize::from(values.len() >= 3);
    cryptbench_stats::trimmed(values, each_side).unwrap_or_default()
}

/// Units of work per second: `amount` divided by the mean time, not the mean of the speeds.
pub fn mean_speed(amount: f64, seconds: &[f64]) -> Option<f64> {
    let speed = amount / mean(seconds)?;
    speed.is_finite().then_some(speed)
}

/// Units of work per second by the dd script's rule: the [`mean_speed`] of the [`trimmed`] times.
pub fn trimmed_speed(amount: f64, seconds: &[f64]) -> Option<f64> {
    mean_speed(amount, &trimmed(seconds))
}

/// The largest value (CrystalDiskMark's best of n).
pub fn best(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

/// Absolute difference between two speeds, as a percentage of the larger speed (as in the iozone article).
pub fn percent_of_larger(a: f64, b: f64) -> Option<f64> {
    let percent = cryptbench_stats::percent_of_larger(a, b).abs();
    (percent.is_finite() && a >= 0.0 && b >= 0.0).then_some(percent)
}

/// Mean and largest of [`percent_of_larger`] over cells `(arm, plain)`.
pub fn cellwise_percent(cells: &[(f64, f64)]) -> Option<(f64, f64)> {
    let percents: Vec<f64> = cells.iter().filter_map(|(a, b)| percent_of_larger(*a, *b)).collect();
    Some((mean(&percents)?, best(&percents)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<f64>, expected: f64) {
        let found = found.expect("a value");
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }

    /// 100 MB in ten trials; the longest and the shortest are dropped, and the other eight add up to 64 s.
    const SECONDS: [f64; 10] = [8.0, 7.0, 9.0, 40.0, 8.0, 8.0, 1.0, 7.5, 8.5, 8.0];

    #[test]
    fn mean_and_sample_standard_deviation() {
        close(mean(&[2.0, 4.0, 9.0]), 5.0);
        // Squares of -3, -1 and 4 are 26; 26 / 2 = 13.
        close(sample_sd(&[2.0, 4.0, 9.0]), 13.0_f64.sqrt());
        assert_eq!(mean(&[]), None);
        assert_eq!(sample_sd(&[1.0]), None);
    }

    #[test]
    fn the_dd_script_drops_one_longest_and_one_shortest() {
        assert_eq!(trimmed(&SECONDS), [7.0, 7.5, 8.0, 8.0, 8.0, 8.0, 8.5, 9.0]);
        close(trimmed_speed(100e6, &SECONDS), 12.5e6);
        // (0.25 + 0.25 + 1 + 1) / 7
        close(sample_sd(&trimmed(&SECONDS)), (2.5_f64 / 7.0).sqrt());
        assert_eq!(trimmed(&[3.0, 1.0, 2.0]), [2.0]);
        assert_eq!(trimmed(&[3.0, 1.0]), [1.0, 3.0]);
        assert_eq!(trimmed_speed(1.0, &[]), None);
        assert_eq!(trimmed_speed(1.0, &[0.0]), None);
    }

    #[test]
    fn the_published_speed_of_the_dd_study_follows_from_its_mean() {
        // 512 MB in 9.494 s, the study's plain drive: 53.929 MB/s.
        close(trimmed_speed(512.0, &[9.494; 8]).map(|v| (v * 1e3).round() / 1e3), 53.929);
    }

    #[test]
    fn the_best_trial_is_the_largest() {
        close(best(&[3.0, 7.0, 5.0]), 7.0);
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn cells_differ_by_percent_of_the_larger_value() {
        close(percent_of_larger(90.0, 100.0), 10.0);
        close(percent_of_larger(100.0, 90.0), 10.0);
        close(percent_of_larger(100.0, 80.0), 20.0);
        assert_eq!(percent_of_larger(0.0, 0.0), None);
        let (mean, most) = cellwise_percent(&[(90.0, 100.0), (100.0, 80.0), (5.0, 5.0)]).unwrap();
        close(Some(mean), 10.0);
        close(Some(most), 20.0);
        assert_eq!(cellwise_percent(&[]), None);
    }
}
