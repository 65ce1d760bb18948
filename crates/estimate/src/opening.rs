//! The time to open a volume.

use cryptbench_record::{Arm, Workload};
use cryptbench_stats::median;

use crate::lookup::Lookup;

/// The times of one way of opening on one arm, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    /// Median of the trials.
    pub median: f64,
    /// Lower end of the median's interval, based on the order of the trials: at 95 % if there are enough trials,
    /// otherwise the smallest value.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// Trials.
    pub trials: usize,
    /// Median time of each part that the table shows.
    pub parts: Vec<Option<f64>>,
}

/// The times of one cell, with the requested parts.
pub fn opening(
    lookup: &Lookup<'_>,
    workload: &Workload,
    arm: &Arm,
    parts: &[String],
) -> Option<Opening> {
    let trials = lookup.trials.of_cell(&workload.id, &arm.id);
    let mut seconds: Vec<f64> = trials
        .iter()
        .map(|t| t.measured.elapsed_s / t.measured.ios.max(1) as f64)
        .filter(|s| s.is_finite() && *s >= 0.0)
        .collect();
    seconds.sort_by(f64::total_cmp);
    let skip = ranks_outside(seconds.len());
    let of_part = |name: &String| {
        median(
            &trials.iter().filter_map(|t| t.measured.parts.get(name).copied()).collect::<Vec<_>>(),
        )
    };
    Some(Opening {
        median: median(&seconds)?,
        low: *seconds.get(skip)?,
        high: *seconds.get(seconds.len() - 1 - skip)?,
        trials: seconds.len(),
        parts: parts.iter().map(of_part).collect(),
    })
}

/// The number of values, out of `n` ordered values, that are outside a 95 % interval for the median on each side: the
/// largest k for which a binomial (n, 1/2) count is at most k - 1 with probability at most 2.5 %.
fn ranks_outside(n: usize) -> usize {
    let mut probability = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let (mut below, mut k) = (0.0, 0);
    while k < n / 2 {
        below += probability;
        if below > 0.025 {
            break;
        }
        probability *= (n - k) as f64 / (k + 1) as f64;
        k += 1;
    }
    // k values may be outside the interval, so it begins at the k-th value, counted from one.
    k.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::ranks_outside;

    #[test]
    fn the_interval_of_the_median_holds_95_percent() {
        // Conover, Practical Nonparametric Statistics: for n = 10 the interval runs from the 2nd to the
        // 9th value (97.9 %), for n = 20 from the 6th to the 15th (95.9 %); below 6 it is the range.
        assert_eq!([0, 1, 5, 6, 9, 10, 20].map(ranks_outside), [0, 0, 0, 0, 1, 1, 5]);
    }
}
