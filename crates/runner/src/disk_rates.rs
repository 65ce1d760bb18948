//! The rates of a disk according to an earlier run.

use std::fs;
use std::path::Path;

use cryptbench_record::{ArmRole, Device, Operation, Pattern, Record};
use cryptbench_stats::median;

use crate::look::Ground;

/// Maximum number of records to search, newest first: reading all of them could take long.
const LOOK_BACK: usize = 20;

/// Plain sequential rates of a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskRates {
    /// Kernel name of the device.
    pub device: String,
    /// Identifier of the run that measured it.
    pub run_id: String,
    /// Rate of the fastest sequential read workload in MB/s: the median of its plain trials.
    pub read_mb_s: Option<f64>,
    /// The same for writes.
    pub write_mb_s: Option<f64>,
}

/// The rates of the device that holds `directory`, from the newest record below `runs`, measured without the page
/// cache. `None` if there is no such record, or if it cannot be read.
pub fn disk_rates(directory: &Path, runs: &Path) -> Option<DiskRates> {
    rates_of(&Ground::of_directory(directory).ok()?.below?.device?, runs)
}

/// The same for `device`.
pub(crate) fn rates_of(device: &Device, runs: &Path) -> Option<DiskRates> {
    let mut names: Vec<_> = fs::read_dir(runs).ok()?.flatten().map(|e| e.file_name()).collect();
    // The name of a run starts with its date.
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.iter().take(LOOK_BACK).find_map(|name| {
        let record = cryptbench_record::read(&runs.join(name)).ok()?;
        let of = record.target.device.as_ref()?;
        let same = of.name == device.name
            && of.size_bytes == device.size_bytes
            && of.model == device.model;
        (same && record.target.engine.direct).then(|| rates(&record)).flatten()
    })
}

/// The plain sequential rates of a record, if it has any.
fn rates(record: &Record) -> Option<DiskRates> {
    let plain = record.plan.arms.iter().find(|a| a.role == ArmRole::Plain)?;
    let fastest = |operation: Operation| {
        let workloads = record.plan.workloads.iter();
        workloads
            .filter(|w| w.pattern == Pattern::Sequential && w.operation == operation)
            .filter_map(|w| {
                let trials = record.trials_of(&w.id, &plain.id);
                median(&trials.iter().map(|(_, t)| t.bandwidth() / 1e6).collect::<Vec<_>>())
            })
            .filter(|rate| rate.is_finite() && *rate > 0.0)
            .reduce(f64::max)
    };
    let found = DiskRates {
        device: record.target.device.as_ref()?.name.clone(),
        run_id: record.run_id.clone(),
        read_mb_s: fastest(Operation::Read),
        write_mb_s: fastest(Operation::Write),
    };
    (found.read_mb_s.is_some() || found.write_mb_s.is_some()).then_some(found)
}
