//! Who used the CPU time of each arm's trials, and what a reader must know about the machine.

use cryptbench_record::{Accounting, Arm, FLUSH, Record, Trial};
use cryptbench_stats::median;

use crate::analysis::{GIB, plain_arm};
use crate::device::moves_bytes;
use crate::disturbance::{Disturbance, OTHERS, PRESSED};
use crate::quantity::{fraction, percent};
use crate::wording::{drawn, list};

/// Processor temperature from which it is reported, degrees Celsius: most begin to slow down at 90 to 100.
const HOT: f64 = 90.0;

/// Relative difference of the clock rate between an arm and plain from which it is reported.
const CLOCK_TOLD: f64 = 0.05;

/// CPU time of one arm by who used it, summed over its measured trials.
pub(crate) struct Split<'a> {
    pub(crate) arm: &'a Arm,
    /// Load generator, the system's helper programs, kernel threads and everything else, in the order of [`PARTS`].
    ///
    /// The last is the rest of the machine's busy time less its idle baseline: below 0 if others were
    /// busier while the baseline was measured.
    pub(crate) seconds: [f64; 4],
    /// GiB moved in the trials; 0 where some workload moves no bytes of files.
    pub(crate) gib: f64,
    /// Processors times measured seconds.
    pub(crate) capacity_s: f64,
    /// Joules per GiB in the order of [`ENERGY`], each if every trial has it.
    pub(crate) joules_per_gib: [Option<f64>; 2],
}

/// The parts of [`Split::seconds`].
pub(crate) const PARTS: [&str; 4] =
    ["load generator", "helper programs", "kernel threads", "other"];

/// Energy of the processor packages (RAPL), and of the whole machine from its batteries.
pub(crate) const ENERGY: [&str; 2] = ["J/GiB", "battery J/GiB"];

/// The indices of [`ENERGY`] that any of these has.
pub(crate) fn energies(splits: &[Split<'_>]) -> Vec<usize> {
    (0..ENERGY.len()).filter(|&i| splits.iter().any(|s| s.joules_per_gib[i].is_some())).collect()
}

impl Split<'_> {
    /// Whether the parts are best shown per GiB; otherwise in percent of the machine.
    pub(crate) fn per_gib(&self) -> bool {
        self.gib > 0.0
    }

    /// Seconds per GiB of each part.
    pub(crate) fn seconds_per_gib(&self) -> [f64; 4] {
        self.seconds.map(|s| s / self.gib)
    }

    /// Percent of the machine of each part.
    pub(crate) fn percents(&self) -> [f64; 4] {
        self.seconds.map(|s| 100.0 * s / self.capacity_s)
    }

    /// Percent of the machine that the trials certainly used: all parts except the last, which includes
    /// the work of others.
    pub(crate) fn used_percent(&self) -> f64 {
        self.percents()[..3].iter().sum()
    }
}

/// The split of every arm that has accounted trials, plain first, its repetition left out.
pub(crate) fn splits(record: &Record) -> Vec<Split<'_>> {
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

/// The energies of [`ENERGY`] per GiB: each is told if every trial has it.
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

/// The measured trials with their accounts; discarded ones are left out.
pub(crate) fn measured(record: &Record) -> Vec<(&Trial, &Accounting)> {
    let of_blocks = record.trials.iter().filter(|t| t.block.is_some());
    of_blocks.filter_map(|t| Some((t, t.measured.accounting.as_ref()?))).collect()
}

/// Conditions of the machine that could have changed the results, in sentences; usually none.
pub(crate) fn remarks(record: &Record) -> Vec<String> {
    let all = measured(record);
    let mut remarks = Vec::new();
    remarks.extend(record.machine.emulated.as_ref().map(|by| {
        format!("EMULATED by {by}: what works is shown here, how fast it is on hardware is not.")
    }));
    remarks.extend(record.target.emulated.as_ref().map(|e| {
        format!(
            "EMULATED: the disk is the model {} (parameters {}) and no hardware: costs hold for a device that behaves \
             like it.",
            e.model, e.parameters
        )
    }));
    let Disturbance { crowded, short_of_memory, stolen, .. } = Disturbance::of(record);
    if crowded.trials > 0 {
        remarks.push(format!(
            "In {} other programs used more than {} of the processors, and tasks waited for a processor more than {} of \
             the time (up to {}).",
            of_trials(crowded.trials, all.len()),
            fraction(OTHERS),
            fraction(PRESSED),
            fraction(crowded.worst),
        ));
    }
    if short_of_memory.trials > 0 {
        remarks.push(format!(
            "In {} tasks waited for memory more than {} of the time (up to {}): the machine was short of it.",
            of_trials(short_of_memory.trials, all.len()),
            fraction(PRESSED),
            fraction(short_of_memory.worst),
        ));
    }
    remarks.extend(stolen.map(|share| {
        format!(
            "The hypervisor took {} of the processors' time away: other guests compete, and runs at \
             another hour may differ.",
            fraction(share)
        )
    }));
    let (hottest, trials) = told(&all, |a| a.temperature_c, HOT);
    if trials > 0 {
        remarks.push(format!(
            "The processor reached {hottest:.0} °C ({} at {HOT:.0} °C or more): it may have slowed \
             itself down.",
            of_trials(trials, all.len()),
        ));
    }
    remarks.extend(clocks(record));
    remarks.extend(flushes(record));
    remarks
}

/// Which arms' writes ended in a cache below them, and what that means for their speed.
fn flushes(record: &Record) -> Option<String> {
    let late = |id: &str| {
        record.trials.iter().any(|t| t.arm == id && t.measured.parts.contains_key(FLUSH))
    };
    let arms: Vec<&str> =
        record.plan.arms.iter().filter(|a| late(&a.id)).map(|a| a.label.as_str()).collect();
    let (whose, them) = match arms[..] {
        [] => return None,
        [one] => (one.to_owned(), "it"),
        [..] => (list(&arms, MOST_NAMED), "them"),
    };
    Some(format!(
        "Writes of {whose} end in a page cache below {them}, although direct I/O is asked for: the time in \
         which that cache was written to the device is part of theirs; latencies are without it."
    ))
}

/// Arms named one by one in a remark.
const MOST_NAMED: usize = 8;

/// One figure of an account.
type Figure = fn(&Accounting) -> Option<f64>;

/// The largest value, and how many trials reach `threshold`.
fn told(trials: &[(&Trial, &Accounting)], value: Figure, threshold: f64) -> (f64, usize) {
    let values = || trials.iter().filter_map(|(_, a)| value(a)).filter(|v| v.is_finite());
    (values().fold(0.0, f64::max), values().filter(|v| *v >= threshold).count())
}

fn of_trials(n: usize, all: usize) -> String {
    if n == all { format!("all {n} trials") } else { format!("{n} of {all} trials") }
}

/// The arm whose clock rate differs most from plain's.
fn clocks(record: &Record) -> Option<String> {
    let middle = |arm: &Arm| {
        let rates: Vec<f64> =
            accounted(record, arm).iter().filter_map(|(_, a)| a.frequency_mhz).collect();
        median(&rates)
    };
    let plain = middle(plain_arm(record)?)?;
    let (arm, change) = drawn(&record.plan.arms)
        .into_iter()
        .filter_map(|arm| Some((arm, middle(arm)? / plain - 1.0)))
        .filter(|(_, change)| change.abs() >= CLOCK_TOLD && change.is_finite())
        .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let way = if change < 0.0 { "slower" } else { "faster" };
    Some(format!(
        "The processors ran {} {way} under {} than under plain: part of the difference may be their \
         clock's.",
        percent(100.0 * change.abs()),
        arm.label
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_counted_as_people_do() {
        assert_eq!(of_trials(3, 3), "all 3 trials");
        assert_eq!(of_trials(3, 30), "3 of 30 trials");
    }

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
