//! The figures stored with each record: one number per workload and arm, and the properties that determine whether two
//! numbers are comparable.

use cryptbench_record::{ArmRole, Record, Workload};
use cryptbench_stats::mean;
use serde::Serialize;

/// The cells of one record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The record's name.
    pub run_id: String,
    /// Start of the run, RFC 3339 in UTC; runs are sorted by this time.
    pub started: String,
    /// Its cells.
    pub cells: Vec<Cell>,
}

/// One workload on one arm, for one target on one machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// CPU, number of CPUs, hypervisor: properties that do not change with software updates.
    pub machine: String,
    /// The device, its size, the file system, and whether requests bypassed the page cache.
    pub target: String,
    /// Every parameter that determines the work.
    pub workload: String,
    /// The workload's name in tables.
    pub workload_label: String,
    /// The set of arms that the program chose, as in [`Plan::arm_set`](cryptbench_record::Plan::arm_set); empty
    /// if the user specified the systems.
    pub arm_set: String,
    /// The arm's identifier.
    pub arm: String,
    /// The arm's name in tables.
    pub arm_label: String,
    /// Whether the arm is compared with plain storage.
    pub has_plain: bool,
    /// Number of trials included.
    pub trials: u32,
    /// Mean of the logarithm of requests (files, volumes) per second.
    pub ln_speed: f64,
    /// Mean over pairs of ln(share of plain speed); absent for plain storage.
    pub ln_kept: Option<f64>,
    /// Whether the data came from a cache, so that the cell gets no verdict.
    pub cached: bool,
}

impl Cell {
    /// Whether two cells are results of the same measurement.
    pub fn is_same(&self, other: &Self) -> bool {
        self.arm_set == other.arm_set && self.is_same_in_another_set(other)
    }

    /// Whether two cells are results of the same measurement, ignoring the other arms in their runs.
    pub(crate) fn is_same_in_another_set(&self, other: &Self) -> bool {
        (&self.machine, &self.target, &self.workload, &self.arm)
            == (&other.machine, &other.target, &other.workload, &other.arm)
    }
}

impl Run {
    /// The cells of a record, except cells without trials.
    pub fn of(record: &Record) -> Self {
        let (machine, target) = (machine(record), target(record));
        let mut cells = Vec::new();
        for workload in &record.plan.workloads {
            for arm in &record.plan.arms {
                let speeds: Vec<f64> = record
                    .trials_of(&workload.id, &arm.id)
                    .into_iter()
                    .map(|(_, t)| t.iops().ln())
                    .filter(|v| v.is_finite())
                    .collect();
                let Some(ln_speed) = mean(&speeds) else { continue };
                let is_baseline = arm.role == ArmRole::Plain;
                let against_plain =
                    || record.log_ratios(&workload.id, &arm.id, &record.plan.baseline(arm));
                let kept = if is_baseline { None } else { mean(&against_plain()) };
                let results = record.results.iter().flat_map(|r| &r.cells);
                cells.push(Cell {
                    machine: machine.clone(),
                    target: target.clone(),
                    workload: identity(workload),
                    workload_label: workload.label.clone(),
                    arm_set: record.plan.arm_set().unwrap_or_default().to_owned(),
                    arm: arm.id.clone(),
                    arm_label: arm.label.clone(),
                    has_plain: !is_baseline,
                    trials: speeds.len() as u32,
                    ln_speed,
                    ln_kept: kept,
                    cached: results
                        .filter(|c| c.workload == workload.id && c.arm == arm.id)
                        .any(|c| c.cached),
                });
            }
        }
        Self { run_id: record.run_id.clone(), started: record.started.clone(), cells }
    }
}

pub(crate) fn machine(record: &Record) -> String {
    let m = &record.machine;
    let parts = [
        Some(m.cpu_model.clone()),
        Some(format!("{} CPUs", m.cpus)),
        m.virtualisation.clone(),
        m.emulated.as_ref().map(|by| format!("emulated by {by}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub(crate) fn target(record: &Record) -> String {
    let t = &record.target;
    let device = t.device.as_ref().map(|d| {
        let name = d.model.as_deref().unwrap_or(&d.name);
        format!("{name} of {} bytes", d.size_bytes)
    });
    let model = t.emulated.as_ref().map(|e| format!("EMULATED {} {}", e.model, e.parameters));
    let parts = [
        Some(model.or(device).unwrap_or_else(|| t.source.clone())),
        t.kind.clone().filter(|_| !t.is_directory()),
        Some(t.filesystem.clone()).filter(|f| !f.is_empty()),
        Some(if t.engine.direct { "direct I/O" } else { "buffered" }.to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// All parameters that determine a workload's work, without the workload's names.
fn identity(w: &Workload) -> String {
    let optional = |name: &str, value: Option<String>| value.map(|v| format!(" {name}={v}"));
    let text = |name: &str, value: Option<u64>| optional(name, value.map(|v| v.to_string()));
    let flag = |name: &str, set: bool| set.then(|| format!(" {name}"));
    let more = [
        text("threads", w.threads.filter(|t| *t != 1).map(u64::from)),
        text("reads", w.read_percent.map(u64::from)),
        text("file", w.file_bytes),
        text("trial", w.trial_bytes),
        text("files", w.files.map(u64::from)),
        optional("flush", w.flush.clone()),
        optional("content", w.content.clone()),
        flag("fresh", w.fresh_file),
        flag("warm", w.warm_cache),
        flag("stdio", w.stdio),
    ];
    let start =
        format!("{}: {} {} {} q{}", w.id, w.pattern, w.operation, w.block_size, w.queue_depth);
    std::iter::once(start).chain(more.into_iter().flatten()).collect()
}
