//! CPU usage as in the studies, as a percentage of all CPUs. It uses the scheduler's exact accounting if trials have
//! it, because the machine's busy time minus its baseline before the run includes any change in other activity.

use cryptbench_record::{Record, Trial};
use cryptbench_stats::estimate;

use crate::table::Number;

/// Confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// Percentage of all CPUs used by the trials of a record.
pub(crate) struct Usage {
    cpus: f64,
    is_exact: bool,
}

impl Usage {
    pub(crate) fn of(record: &Record) -> Self {
        let mut trials = record.trials.iter();
        Self {
            cpus: f64::from(record.machine.cpus.max(1)),
            is_exact: trials.all(|t| t.measured.accounting.is_some()),
        }
    }

    fn percent(&self, trial: &Trial) -> f64 {
        let exact = trial.measured.cpu_attributed_s().filter(|_| self.is_exact);
        let used = exact.unwrap_or(trial.measured.cpu_machine_s);
        100.0 * used / (trial.measured.elapsed_s * self.cpus)
    }

    /// The usage of each trial.
    pub(crate) fn all(&self, trials: &[(u32, &Trial)]) -> Vec<f64> {
        let all = trials.iter().map(|(_, trial)| self.percent(trial));
        all.filter(|percent| percent.is_finite()).collect()
    }

    /// The increase over `base` in percentage points, for each block in which both arms ran.
    pub(crate) fn more(&self, trials: &[(u32, &Trial)], base: &[(u32, &Trial)]) -> Vec<f64> {
        let of_block = |(block, trial): &(u32, &Trial)| {
            let (_, base) = base.iter().find(|(other, _)| other == block)?;
            Some(self.percent(trial) - self.percent(base)).filter(|points| points.is_finite())
        };
        trials.iter().filter_map(of_block).collect()
    }
}

/// The mean with its interval, such as `12.3 ±0.4`; only the mean if there are too few trials for an interval.
pub(crate) fn with_interval(values: &[f64]) -> Option<Number> {
    match estimate(values, CONFIDENCE) {
        Some(found) => {
            Some(Number { spread: Some(found.half_width), ..Number::new(found.mean, 1) })
        }
        None => crate::trimmed_mean(values, 0).map(|mean| Number::new(mean, 1)),
    }
}

#[cfg(test)]
mod tests {
    use cryptbench_record::{Accounting, Observation};

    use super::*;

    fn trial(machine_s: f64, exact_s: f64) -> Trial {
        let accounting = Accounting { generator_s: exact_s, ..Accounting::default() };
        let measured = Observation {
            elapsed_s: 1.0,
            cpu_machine_s: machine_s,
            accounting: Some(accounting),
            ..Observation::default()
        };
        Trial { measured, ..Trial::default() }
    }

    fn blocks(trials: &[Trial]) -> Vec<(u32, &Trial)> {
        (0..).zip(trials).collect()
    }

    #[test]
    fn others_change_nothing_where_the_account_is_exact() {
        let plain = [trial(-0.5, 0.2), trial(0.9, 0.2)];
        let busy = [trial(0.0, 0.5), trial(0.0, 0.5)];
        let (plain, busy) = (blocks(&plain), blocks(&busy));
        let exact = Usage { cpus: 2.0, is_exact: true };
        assert_eq!(exact.all(&plain), [10.0, 10.0]);
        assert_eq!(exact.more(&busy, &plain), [15.0, 15.0]);
        let ticks = Usage { cpus: 2.0, is_exact: false };
        assert_eq!(ticks.all(&plain), [-25.0, 45.0], "nothing is cut off");
        assert_eq!(ticks.more(&busy[..1], &plain[1..]), [0.0; 0], "of another block");
    }

    #[test]
    fn an_interval_needs_some_trials() {
        assert_eq!(with_interval(&[]), None);
        assert_eq!(with_interval(&[3.0]).unwrap().to_string(), "3.0");
        assert_eq!(with_interval(&[2.0, 3.0, 4.0]).unwrap().to_string(), "3.0 ±2.5");
    }
}
