//! Turns a record from this program into a set.

use std::path::Path;

use cryptbench_record::{ArmRole, Record, Workload};
use cryptbench_text::shown;

use crate::cell::{Cell, Format, Key, Run, Set};
use crate::naming::Naming;
use crate::number::positive;
use crate::read::make_printable;

/// The arms of a record to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmChoice<'a> {
    /// All arms. The arm is part of each key, so only equal arms are compared.
    All,
    /// Only plain storage, without its name in the keys.
    Plain,
    /// One arm, specified by its identifier or label, without its name in the keys.
    One(&'a str),
}

/// Why a record does not yield a set.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The record does not contain this arm.
    #[error("{label} has no choice {asked:?}; it has {known}")]
    NoArm {
        /// The record's name, as given by the user.
        label: String,
        /// The requested arm.
        asked: String,
        /// The record's arms.
        known: String,
    },
    /// There is nothing to compare.
    #[error("{label} contains no trials of {what}")]
    Empty {
        /// The record's name, as given by the user.
        label: String,
        /// The requested arms.
        what: String,
    },
}

/// The trials of a record as cells, except discarded trials.
pub fn from_record(
    record: &Record,
    path: &Path,
    arms: ArmChoice<'_>,
    names: &dyn Naming,
) -> Result<Set, RecordError> {
    let label = shown(path);
    let chosen = |role: ArmRole, id: &str, name: &str| match arms {
        ArmChoice::All => true,
        ArmChoice::Plain => role == ArmRole::Plain,
        ArmChoice::One(asked) => asked == id || asked == name,
    };
    let taken: Vec<_> =
        record.plan.arms.iter().filter(|a| chosen(a.role, &a.id, &a.label)).collect();
    if let (ArmChoice::One(asked), true) = (arms, taken.is_empty()) {
        let known: Vec<&str> = record.plan.arms.iter().map(|a| a.id.as_str()).collect();
        return Err(RecordError::NoArm { label, asked: asked.into(), known: known.join(", ") });
    }
    let mut cells = Vec::new();
    for workload in &record.plan.workloads {
        for arm in &taken {
            let name = (arms == ArmChoice::All).then(|| arm.label.clone());
            let runs: Vec<Run> = record
                .trials_of(&workload.id, &arm.id)
                .into_iter()
                .filter_map(|(_, trial)| {
                    let run = Run {
                        bandwidth: positive(trial.bandwidth()),
                        iops: positive(trial.iops()),
                        latency_us: positive(trial.measured.latency.mean_us),
                        source: path.to_owned(),
                        line: None,
                    };
                    (run.bandwidth.is_some() || run.iops.is_some()).then_some(run)
                })
                .collect();
            if runs.is_empty() {
                continue;
            }
            let results = record.results.iter().flat_map(|r| &r.cells);
            let cached =
                results.filter(|c| c.workload == workload.id && c.arm == arm.id).any(|c| c.cached);
            let title = match &name {
                Some(_) => format!("{}, {}", names.workload(workload), names.arm(arm)),
                None => names.workload(workload),
            };
            let (key, title) = (key(workload, name), Some(title));
            cells.push((workload, Cell { key, runs, title, cached }));
        }
    }
    // Workloads with equal keys are distinguished by their identifiers.
    let keys: Vec<Key> = cells.iter().map(|(_, c)| c.key.clone()).collect();
    let cells: Vec<Cell> = cells
        .into_iter()
        .map(|(workload, mut cell)| {
            if keys.iter().filter(|k| **k == cell.key).count() > 1 {
                let parts = [Some(workload.id.clone()), cell.key.name.take()];
                cell.key.name = Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", "));
            }
            cell
        })
        .collect();
    if cells.is_empty() {
        let what = taken.iter().map(|a| a.label.as_str()).collect::<Vec<_>>().join(", ");
        return Err(RecordError::Empty { label, what });
    }
    let mut remarks: Vec<String> = record.notes.iter().map(|note| names.text(note)).collect();
    if record.partial {
        let how = if record.time_ran_out() { "time ran out" } else { "run was interrupted" };
        remarks.push(format!("{label}: the {how}; fewer trials than planned"));
    }
    let files = vec![path.to_owned()];
    let mut set = Set { label, formats: vec![Format::Record], files, cells, remarks };
    make_printable(&mut set);
    Ok(set)
}

/// The key of a workload. The operations of iozone and dd keep the names known to users of these programs' reports.
fn key(workload: &Workload, arm: Option<String>) -> Key {
    let case = workload.id.split('-').next().unwrap_or("");
    let iozone = [
        "rewrite", "reread", "random", "backward", "record", "stride", "fwrite", "frewrite",
        "fread", "freread",
    ];
    let is_iozone = workload.warm_cache && workload.file_bytes.is_some();
    let operation = match is_iozone && iozone.contains(&case) {
        // In `random-read-64KiB-4KiB`, for example, the part before the sizes.
        true => workload
            .id
            .split('-')
            .take_while(|part| !part.starts_with(|c: char| c.is_ascii_digit()))
            .collect::<Vec<_>>()
            .join("-"),
        false => workload.operation.to_string(),
    };
    // Further properties that distinguish the workloads of a profile.
    let detail: Vec<String> = [workload.content.clone(), workload.flush.clone()]
        .into_iter()
        .flatten()
        .chain(arm)
        .collect();
    Key {
        pattern: workload.pattern.to_string(),
        operation,
        file_size: workload.file_bytes,
        block_size: (workload.block_size > 0).then_some(workload.block_size),
        queue_depth: Some(workload.queue_depth.max(1)),
        threads: Some(workload.threads.unwrap_or(1)),
        read_percent: workload.read_percent,
        name: (!detail.is_empty()).then(|| detail.join(", ")),
    }
}
