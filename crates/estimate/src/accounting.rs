//! The CPU time of each arm's trials by consumer, and the state of the CPUs during the trials.

use cryptbench_record::{Accounting, Arm, FLUSH, Record, Trial};
use cryptbench_stats::median;

use crate::arms::{drawn, plain_arm};
use crate::cells::GIB;
use crate::device::moves_bytes;

/// Minimum CPU temperature, in degrees Celsius, that is reported: most CPUs begin to throttle at 90 to 100 °C.
pub const HOT: f64 = 90.0;

/// Minimum relative difference in clock rate between an arm and plain that is reported.
const CLOCK_TOLD: f64 = 0.05;

/// CPU time of one arm by consumer, summed over its measured trials.
pub struct Split<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// The load generator, the system's helper programs, kernel threads and everything else, in this order.
    ///
    /// The last part is the rest of the machine's busy time, less the machine's idle baseline. This part is negative if
    /// other programs were busier during the baseline.
    pub seconds: [f64; 4],
    /// GiB transferred in the trials; 0 if any workload does not transfer file data.
    pub gib: f64,
    /// Number of CPUs times measured seconds.
    pub capacity_s: f64,
    /// Joules per GiB for the CPU packages (RAPL), and for the whole machine (from its batteries); each figure only if
    /// every trial has it.
    pub joules_per_gib: [Option<f64>; 2],
}

/// The indices of [`Split::joules_per_gib`] that at least one of these splits has.
pub fn energies(splits: &[Split<'_>]) -> Vec<usize> {
    (0..2).filter(|&i| splits.iter().any(|s| s.joules_per_gib[i].is_some())).collect()
}

impl Split<'_> {
    /// Whether the parts are best shown per GiB instead of as percentages of the machine's CPU time.
    pub fn per_gib(&self) -> bool {
        self.gib > 0.0
    }

    /// Seconds per GiB of each part.
    pub fn seconds_per_gib(&self) -> [f64; 4] {
        self.seconds.map(|s| s / self.gib)
    }

    /// Each part as a percentage of the machine's CPU time.
    pub fn percents(&self) -> [f64; 4] {
        self.seconds.map(|s| 100.0 * s / self.capacity_s)
    }

    /// Percentage of the machine's CPU time that the trials certainly used: all parts except the last, which includes
    /// the work of other programs.
    pub fn used_percent(&self) -> f64 {
        self.percents()[..3].iter().sum()
    }
}

/// The split of every arm that has trials with accounts: with plain first, and without the second plain arm.
pub fn splits(record: &Record) -> Vec<Split<'_>> {
    drawn(&record.plan.arms).into_iter().filter_map(|arm| split(record, arm)).collect()
}

fn split<'a>(record: &'a Record, arm: &'a Arm) -> Option<Split<'a>> {
    let trials: Vec<(&Trial, &Accounting)> = accounted(record, arm);
    let mut split =
        Split { arm, seconds: [0.0; 4], gib: 0.0, capacity_s: 0.0, joules_per_gib: [None; 2] };
    let workload = |id: &str| record.plan.workloads.iter().find(|w| w.id == id);
    let mut all_move = true;
    for (trial, a) in &trials {
        let parts = [a.generator_s, a.daemons_s, a.kernel_s, a.other_s];
        for (sum, part) in split.seconds.iter_mut().zip(parts) {
            *sum += if part.is_finite() { part } else { 0.0 };
        }
        split.capacity_s += trial.measured.elapsed_s * f64::from(record.machine.cpus);
        split.gib += trial.measured.bytes as f64 / GIB;
        all_move &= workload(&trial.workload).is_some_and(moves_bytes);
    }
    if !all_move {
        split.gib = 0.0;
    }
    let accounts: Vec<&Accounting> = trials.iter().map(|(_, a)| *a).collect();
    split.joules_per_gib = joules(&accounts, split.gib);
    let sound = split.capacity_s.is_finite() && split.capacity_s > 0.0;
    sound.then_some(split)
}

/// The values of [`Split::joules_per_gib`]: each value is reported only if every trial has it.
fn joules(accounts: &[&Accounting], gib: f64) -> [Option<f64>; 2] {
    let of: [fn(&Accounting) -> Option<f64>; 2] = [|a| a.energy_j, |a| a.battery_j];
    of.map(|of| {
        let all: Option<Vec<f64>> = accounts.iter().map(|a| of(a)).collect();
        all.filter(|all| !all.is_empty() && gib > 0.0).map(|all| all.iter().sum::<f64>() / gib)
    })
}

fn accounted<'a>(record: &'a Record, arm: &Arm) -> Vec<(&'a Trial, &'a Accounting)> {
    measured(record).into_iter().filter(|(t, _)| t.arm == arm.id).collect()
}

/// The measured trials with their accounts, without discarded trials.
pub fn measured(record: &Record) -> Vec<(&Trial, &Accounting)> {
    let of_blocks = record.trials.iter().filter(|t| t.block.is_some());
    of_blocks.filter_map(|t| Some((t, t.measured.accounting.as_ref()?))).collect()
}

/// The highest CPU temperature, and the number of trials that reached a temperature at which most CPUs begin to
/// throttle.
pub struct Heat {
    /// Degrees Celsius.
    pub hottest: f64,
    /// Trials that reached [`HOT`].
    pub trials: usize,
}

/// The temperature of the CPU.
pub fn heat(record: &Record) -> Heat {
    let all = measured(record);
    let degrees = || all.iter().filter_map(|(_, a)| a.temperature_c).filter(|v| v.is_finite());
    Heat { hottest: degrees().fold(0.0, f64::max), trials: degrees().filter(|v| *v >= HOT).count() }
}

/// The arms whose writes went to a page cache that was written to the device only after the trial.
pub fn flushed_late(record: &Record) -> Vec<&Arm> {
    let late = |id: &str| {
        record.trials.iter().any(|t| t.arm == id && t.measured.parts.contains_key(FLUSH))
    };
    record.plan.arms.iter().filter(|a| late(&a.id)).collect()
}

/// The arm whose clock rate differs most from plain's, and the relative difference.
pub fn clock_change(record: &Record) -> Option<(&Arm, f64)> {
    let middle = |arm: &Arm| {
        let rates: Vec<f64> =
            accounted(record, arm).iter().filter_map(|(_, a)| a.frequency_mhz).collect();
        median(&rates)
    };
    let plain = middle(plain_arm(record)?)?;
    drawn(&record.plan.arms)
        .into_iter()
        .filter_map(|arm| Some((arm, middle(arm)? / plain - 1.0)))
        .filter(|(_, change)| change.abs() >= CLOCK_TOLD && change.is_finite())
        .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_is_told_per_gib_and_in_percent_of_the_machine() {
        let arm = Arm::default();
        let split = Split {
            arm: &arm,
            seconds: [2.0, 1.0, 0.5, 0.5],
            gib: 4.0,
            capacity_s: 40.0,
            joules_per_gib: [None; 2],
        };
        assert_eq!(split.seconds_per_gib(), [0.5, 0.25, 0.125, 0.125]);
        assert_eq!(split.percents(), [5.0, 2.5, 1.25, 1.25]);
        assert!((split.used_percent() - 8.75).abs() < 1e-12);
    }

    #[test]
    fn energy_is_told_where_every_trial_has_it() {
        let of = |battery_j| Accounting { energy_j: Some(3.0), battery_j, ..Accounting::default() };
        let (with, without) = (of(Some(20.0)), of(None));
        assert_eq!(joules(&[&with, &without], 2.0), [Some(3.0), None]);
        assert_eq!(joules(&[&with, &with], 2.0), [Some(3.0), Some(20.0)]);
        assert_eq!(joules(&[], 2.0), [None, None]);
        assert_eq!(joules(&[&with], 0.0), [None, None], "no bytes were moved");
    }
}
