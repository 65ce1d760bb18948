//! The content of one file in a fleet's directory: a machine, and either the costs of its cells or the reason why there
//! are no costs.

use std::path::{Path, PathBuf};

use cryptbench_estimate::cells::cells as judged;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_estimate::rate_limit::is_rate_limited;
use cryptbench_os::read_text;
use cryptbench_record::{Arm, ArmRole, Node, Record, parse};
use cryptbench_stats::Effect;
use cryptbench_stats::paired::FEWEST_PAIRS;
use cryptbench_text::chain;
use serde::{Deserialize, Serialize};

use crate::{FAILURE, Failure};

/// The largest file that is read. Several files are in memory at a time, so this limit is lower than that for a single
/// record. The largest run of a built-in profile, with six arms, takes 57 MB.
const LARGEST: u64 = 64 << 20;

/// One file of a fleet's directory.
#[derive(Debug)]
pub enum Found {
    /// A record.
    Record(Box<Record>),
    /// The report of a machine that could not measure.
    Failure(Box<Failure>),
    /// Neither; why.
    Damaged(String),
}

/// Reads one file. A file that cannot be read becomes [`Found::Damaged`], so that one bad file does not hide the other
/// files.
pub fn read(path: &Path) -> Found {
    #[derive(Deserialize)]
    struct Header {
        schema: String,
    }
    let text = match read_text(path, LARGEST) {
        Ok(text) => text,
        Err(error) => return Found::Damaged(error.to_string()),
    };
    // Failures are short. A longer text is a record, whose header need not be parsed twice.
    if text.len() < 1 << 16
        && let Ok(header) = serde_json::from_str::<Header>(&text)
        && header.schema == FAILURE
    {
        return match Failure::parse(&text) {
            Some(failure) => Found::Failure(Box::new(failure)),
            None => Found::Damaged("it is not the failure report of a machine".to_owned()),
        };
    }
    // The report itself gives the file name, so the error does not contain it.
    match parse(Path::new(""), &text) {
        Ok(record) => Found::Record(Box::new(record)),
        Err(error) => Found::Damaged(chain(&error).trim_start().to_owned()),
    }
}

/// The data of one record that is needed for pooling.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The file.
    pub path: PathBuf,
    /// The machine. For a record that does not belong to a fleet, the name is that of the run.
    pub node: Node,
    /// Start of the run, RFC 3339.
    pub started: String,
    /// Whether the run was interrupted.
    pub partial: bool,
    /// The machine and its storage.
    pub facts: Facts,
    /// The cost of each workload on each arm that has enough pairs.
    pub cells: Vec<ObservedCell>,
    /// Cells that were served from a cache.
    pub cached: usize,
    /// Whether plain storage was rate-limited, which hides the cost of encryption.
    pub is_rate_limited: bool,
}

/// One workload on one arm of one machine.
#[derive(Clone, Debug)]
pub struct ObservedCell {
    /// Identifier of the workload.
    pub workload: String,
    /// The workload's name for users.
    pub workload_label: String,
    /// Identifier of the arm, which includes its settings.
    pub arm: String,
    /// The arm's name for users.
    pub arm_label: String,
    /// The cipher implementation in use; empty if unknown.
    pub driver: String,
    /// Mean of ln(E/P) and its squared standard error.
    pub effect: Effect,
}

/// Properties of the machine and its storage, from a record, that may explain a cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facts {
    /// CPU model.
    pub cpu_model: String,
    /// CPU features that are relevant to ciphers.
    pub cpu_features: Vec<String>,
    /// Kernel name, release and architecture.
    pub kernel: String,
    /// Name of the hypervisor or container.
    pub virtualisation: Option<String>,
    /// Disk model or, without a device, the file system, such as `nfs4`.
    pub disk_model: String,
    /// File system of the target.
    pub filesystem: String,
    /// The I/O scheduler.
    pub scheduler: String,
    /// `write back` or `write through`.
    pub write_cache: String,
    /// The engine that issued the requests, and whether the requests bypassed the page cache.
    pub engine: String,
    /// Fraction of the machine's CPU time that was busy before the run, 0 to 1.
    pub busy_before: f64,
    /// Mean CPU frequency in MHz over the trials in which the frequency was recorded.
    pub frequency_mhz: Option<f64>,
    /// Steal time of all CPUs as a share of the measured time.
    pub stolen_fraction: Option<f64>,
}

impl Observed {
    /// Extracts the data that is needed for pooling from a record.
    pub fn of(path: &Path, record: &Record) -> Self {
        let stored = record.results.as_ref().map(|results| results.cells.clone());
        let lookup = Lookup::with(record, stored.unwrap_or_else(|| judged(record)));
        let (cells, cached) = cells(&lookup);
        let is_rate_limited = is_rate_limited(&lookup);
        Self { cells, cached, is_rate_limited, ..Self::without_cells(path, record) }
    }

    /// The owner of the record.
    pub(crate) fn without_cells(path: &Path, record: &Record) -> Self {
        let own = || Node { name: record.run_id.clone(), ..Node::default() };
        Self {
            path: path.to_owned(),
            node: record.node.clone().unwrap_or_else(own),
            started: record.started.clone(),
            partial: record.partial,
            facts: Facts::of(record),
            cells: Vec::new(),
            cached: 0,
            is_rate_limited: false,
        }
    }
}

fn cells(lookup: &Lookup<'_>) -> (Vec<ObservedCell>, usize) {
    let record = lookup.record;
    let plan = &record.plan;
    let is_compared = |a: &&Arm| matches!(a.role, ArmRole::Encrypted | ArmRole::NullLayer);
    let mut found = Vec::new();
    let mut cached = 0;
    for arm in plan.arms.iter().filter(is_compared) {
        for workload in &plan.workloads {
            if lookup.cell(workload, arm).is_some_and(|cell| cell.cached) {
                cached += 1;
                continue;
            }
            let d = record.log_ratios(&workload.id, &arm.id, &plan.baseline(arm));
            let Some(effect) = effect(&d) else { continue };
            found.push(ObservedCell {
                workload: workload.id.clone(),
                workload_label: workload.label.clone(),
                arm: arm.id.clone(),
                arm_label: arm.label.clone(),
                driver: arm.kernel_tier.clone().unwrap_or_default(),
                effect,
            });
        }
    }
    (found, cached)
}

/// The mean of `d` and its squared standard error. The full estimate, which sorts the averages of all pairs of
/// values, would take too long for the thousands of cells of a fleet.
fn effect(d: &[f64]) -> Option<Effect> {
    if d.len() < FEWEST_PAIRS {
        return None;
    }
    let n = d.len() as f64;
    let value = d.iter().sum::<f64>() / n;
    let squares: f64 = d.iter().map(|x| (x - value).powi(2)).sum();
    Some(Effect { value, variance: squares / (n - 1.0) / n })
}

impl Facts {
    fn of(record: &Record) -> Self {
        let (machine, target) = (&record.machine, &record.target);
        let device = target.device.as_ref();
        let disk_model = match (&target.emulated, device) {
            (Some(emulated), _) => format!("EMULATED {}", emulated.model),
            (None, Some(device)) => {
                device.model.clone().unwrap_or_else(|| "disk without a model".to_owned())
            }
            (None, None) => target.filesystem.clone(),
        };
        let direct = if target.engine.direct { "direct I/O" } else { "buffered" };
        let accounts =
            || record.trials.iter().filter_map(|t| Some((t, t.measured.accounting.as_ref()?)));
        let stolen: f64 = accounts().filter_map(|(_, a)| a.stolen_s).sum();
        let measured: f64 = accounts()
            .filter(|(_, a)| a.stolen_s.is_some())
            .map(|(t, _)| t.measured.elapsed_s)
            .sum();
        Self {
            cpu_model: machine.cpu_model.clone(),
            cpu_features: machine.cpu_features.clone(),
            kernel: machine.kernel.clone(),
            virtualisation: machine.virtualisation.clone(),
            disk_model,
            filesystem: target.filesystem.clone(),
            scheduler: device.map(|d| d.scheduler.clone()).unwrap_or_default(),
            write_cache: device.map(|d| d.write_cache.clone()).unwrap_or_default(),
            engine: format!("{}, {direct}", target.engine.name),
            busy_before: machine.idle_baseline,
            frequency_mhz: cryptbench_stats::mean(
                &accounts().filter_map(|(_, a)| a.frequency_mhz).collect::<Vec<_>>(),
            ),
            stolen_fraction: (measured > 0.0)
                .then(|| stolen / (measured * f64::from(machine.cpus.max(1)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_the_mean_and_its_squared_error() {
        let found = effect(&[0.1, 0.2, 0.3, 0.4]).unwrap();
        let full = cryptbench_stats::estimate(&[0.1, 0.2, 0.3, 0.4], 0.95).unwrap();
        assert!((found.value - full.mean).abs() < 1e-15);
        assert!((found.variance - full.sd.powi(2) / 4.0).abs() < 1e-15);
        assert_eq!(effect(&[0.1, 0.2]), None);
    }
}
