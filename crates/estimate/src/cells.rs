//! Turns raw trials into one cell per workload and arm, with its estimate and its verdict.

use std::collections::HashSet;

use cryptbench_record::{
    Accounting, Arm, ArmRole, Cell, CpuCost, Latency, Operation, Record, Trial, Verdict, Workload,
};
use cryptbench_stats::{PairedEstimate, holm, median, noise_floor, noise_of_mean};

use crate::arms::plain_arm;
use crate::comparison::{as_ratio, sound_estimate};
use crate::device::{device_ratio, moves_bytes};
use crate::doubt::Compared;
use crate::lookup::Trials;
use crate::verdict::{Evidence, judge, log_of_loss, loss};

/// Below this ratio of device bytes to requested bytes, the data came from a cache.
const CACHED_BELOW: f64 = 0.5;

/// Bytes per GiB.
pub const GIB: f64 = 1_073_741_824.0;

/// The cells in plan order, workload by workload and arm by arm. The same trials give the same cells.
pub fn cells(record: &Record) -> Vec<Cell> {
    let trials = Trials::of(record);
    let mut cells = described(record, &trials);
    for arm in &record.plan.arms {
        judge_arm(record, &trials, arm, &mut cells);
    }
    cells
}

/// The cell of one workload and arm.
pub fn cell<'a>(cells: &'a [Cell], workload: &str, arm: &str) -> Option<&'a Cell> {
    cells.iter().find(|c| c.workload == workload && c.arm == arm)
}

/// All cells of one arm, in the order of the workloads.
pub fn arm_cells<'a>(cells: &'a [Cell], arm: &'a str) -> impl Iterator<Item = &'a Cell> {
    cells.iter().filter(move |c| c.arm == arm)
}

/// All cells without any comparison.
fn described(record: &Record, trials: &Trials<'_>) -> Vec<Cell> {
    let mut cells = Vec::new();
    for workload in &record.plan.workloads {
        let noise = noise(record, trials, workload);
        let first = cells.len();
        let mut plain_cached = false;
        for arm in &record.plan.arms {
            let mut cell = describe(record, trials, workload, arm);
            cell.noise_floor = noise.map(|n| loss(n.of_trial));
            cell.noise_of_mean = noise.map(|n| loss(n.of_mean));
            plain_cached |= arm.role == ArmRole::Plain && cell.cached;
            cells.push(cell);
        }
        if plain_cached {
            // Speeds cannot be compared with that of a cache.
            cells[first..].iter_mut().for_each(|c| c.cached = true);
        }
    }
    cells
}

/// The difference between plain storage and itself, in log units.
#[derive(Clone, Copy)]
struct Noise {
    of_trial: f64,
    of_mean: f64,
}

fn noise(record: &Record, trials: &Trials<'_>, workload: &Workload) -> Option<Noise> {
    let plain = plain_arm(record)?;
    let again = record.plan.arms.iter().find(|a| a.role == ArmRole::PlainAgain)?;
    let d = trials.log_ratios(&workload.id, &again.id, &[&plain.id]);
    let of_trial = noise_floor(&d).filter(|f| f.is_finite())?;
    Some(Noise { of_trial, of_mean: noise_of_mean(of_trial, d.len()) })
}

/// The cell without any comparison.
fn describe(record: &Record, trials: &Trials<'_>, workload: &Workload, arm: &Arm) -> Cell {
    let trials = trials.of_cell(&workload.id, &arm.id);
    let over = |value: &dyn Fn(&Trial) -> Option<f64>| middle(trials.iter().map(|t| value(t)));
    let device_ratio = over(&|t| device_ratio(t, workload));
    Cell {
        workload: workload.id.clone(),
        arm: arm.id.clone(),
        trials: u32::try_from(trials.len()).unwrap_or(u32::MAX),
        bandwidth: over(&|t| Some(t.bandwidth())).unwrap_or(0.0),
        iops: over(&|t| Some(t.iops())).unwrap_or(0.0),
        latency: Latency {
            p50_us: over(&|t| Some(t.measured.latency.p50_us)).unwrap_or(0.0),
            p99_us: over(&|t| t.measured.latency.p99_us),
            p999_us: over(&|t| t.measured.latency.p999_us),
        },
        cpu: cpu_cost(&trials, workload, record.machine.cpus),
        device_ratio,
        cached: device_ratio.is_some_and(|ratio| ratio < CACHED_BELOW),
        noise_floor: None,
        noise_of_mean: None,
        kept: None,
        verdict: None,
    }
}

fn middle(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    median(&values.flatten().filter(|v| v.is_finite()).collect::<Vec<_>>())
}

/// CPU time is summed over the trials before it is divided, because the machine's clock ticks are coarse.
///
/// The figure is per GiB only if the workload transfers file data.
fn cpu_cost(trials: &[&Trial], workload: &Workload, cpus: u32) -> CpuCost {
    let sum = |value: fn(&Trial) -> f64| trials.iter().map(|t| value(t)).sum::<f64>();
    let process = sum(|t| t.measured.cpu_process_s);
    let machine = sum(|t| t.measured.cpu_machine_s);
    let gib = if moves_bytes(workload) { sum(|t| t.measured.bytes as f64) / GIB } else { 0.0 };
    let capacity = sum(|t| t.measured.elapsed_s) * f64::from(cpus);
    let per = |seconds: f64, unit: f64| {
        let value = seconds / unit;
        if value.is_finite() { value } else { 0.0 }
    };
    let attributed: Option<f64> = trials.iter().map(|t| t.measured.cpu_attributed_s()).sum();
    CpuCost {
        process_s_per_gib: per(process, gib),
        machine_s_per_gib: per(machine, gib),
        attributed_s_per_gib: attributed.map(|seconds| per(seconds, gib)),
        machine_percent: 100.0 * per(machine, capacity),
        attributed_percent: attributed.map(|seconds| 100.0 * per(seconds, capacity)),
        joules_per_gib: joules(trials, |a| a.energy_j).map(|joules| per(joules, gib)),
        battery_joules_per_gib: joules(trials, |a| a.battery_j).map(|joules| per(joules, gib)),
    }
}

/// The sum of a figure over all trials, if every trial has the figure.
fn joules(trials: &[&Trial], of: fn(&Accounting) -> Option<f64>) -> Option<f64> {
    let all = trials.iter().map(|trial| trial.measured.accounting.as_ref().and_then(of));
    all.sum::<Option<f64>>().filter(|_| !trials.is_empty())
}

/// Fills in the estimates and verdicts of one arm, with Holm's correction over its workloads.
fn judge_arm(record: &Record, trials: &Trials<'_>, arm: &Arm, cells: &mut [Cell]) {
    if plain_arm(record).is_none_or(|plain| plain.id == arm.id) {
        return;
    }
    let baseline = record.plan.baseline(arm);
    let openings: HashSet<&str> = record
        .plan
        .workloads
        .iter()
        .filter(|w| w.operation == Operation::Unlock)
        .map(|w| w.id.as_str())
        .collect();
    let mut open: Vec<(usize, Vec<f64>, PairedEstimate)> = Vec::new();
    for (i, cell) in cells.iter_mut().enumerate().filter(|(_, c)| c.arm == arm.id) {
        if cell.cached {
            cell.verdict = Some(Verdict::Cached);
            continue;
        }
        if openings.contains(cell.workload.as_str()) {
            // Plain storage has nothing to unlock, so there is no plain speed for comparison.
            continue;
        }
        let d = trials.log_ratios(&cell.workload, &arm.id, &baseline);
        match sound_estimate(&d, record.plan.confidence) {
            Some(estimate) => open.push((i, d, estimate)),
            None => cell.verdict = Some(Verdict::TooFewPairs),
        }
    }
    let tests = open.len();
    let adjusted = holm(&open.iter().map(|(_, _, e)| e.p_value).collect::<Vec<_>>());
    for ((i, d, estimate), p_holm) in open.into_iter().zip(adjusted) {
        let cell = &mut cells[i];
        let noise = log_of_loss(cell.noise_of_mean.unwrap_or(0.0));
        let (workload, arm, baseline) = (&cell.workload, &arm.id, &baseline);
        let compared = Compared { record, trials, workload, arm, baseline };
        let claimable = compared.may_be_claimed(estimate.mean);
        let evidence = Evidence { d: &d, estimate: &estimate, p_holm, tests, noise, claimable };
        cell.verdict = Some(judge(&evidence, &record.plan));
        cell.kept = Some(as_ratio(&estimate, p_holm));
    }
}

#[cfg(test)]
mod tests {
    use cryptbench_record::Observation;

    use super::*;

    #[test]
    fn energy_is_told_per_gib_where_every_trial_has_it() {
        let trial = |energy_j, battery_j| Trial {
            measured: Observation {
                bytes: 1 << 30,
                elapsed_s: 1.0,
                accounting: Some(Accounting { energy_j, battery_j, ..Accounting::default() }),
                ..Observation::default()
            },
            ..Trial::default()
        };
        let workload = Workload { operation: Operation::Read, ..Workload::default() };
        let of = |trials: &[Trial]| cpu_cost(&trials.iter().collect::<Vec<_>>(), &workload, 2);
        let cost = of(&[trial(Some(3.0), Some(20.0)), trial(Some(5.0), None)]);
        assert_eq!((cost.joules_per_gib, cost.battery_joules_per_gib), (Some(4.0), None));
        assert_eq!(of(&[]).joules_per_gib, None);
    }
}
