//! The table of small files: files per second by action and arm, and one big file for comparison.

use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, Operation, Workload};

use super::{Chosen, chosen};
use crate::reading::{Reading, reading};

/// Maximum number of encrypted arms next to plain.
const MOST_ARMS: usize = 5;

/// The table.
pub struct Files<'a> {
    /// Plain first.
    pub arms: Vec<&'a Arm>,
    /// Arms for which there was no room.
    pub left_out: usize,
    /// The workloads in the order of the profile.
    pub rows: Vec<FileRow<'a>>,
}

/// One action.
pub struct FileRow<'a> {
    /// The action.
    pub workload: &'a Workload,
    /// The result of each arm.
    pub readings: Vec<Option<Reading>>,
}

/// The table, unless no workload in the record works on many files.
pub fn files<'a>(lookup: &Lookup<'a>) -> Option<Files<'a>> {
    let Chosen { arms, left_out } = chosen(lookup, MOST_ARMS);
    let workloads = lookup.workloads();
    workloads.iter().any(|w| w.files.is_some()).then(|| Files {
        left_out,
        rows: workloads
            .iter()
            .map(|workload| FileRow {
                workload,
                readings: arms.iter().map(|arm| reading(lookup, workload, arm)).collect(),
            })
            .collect(),
        arms,
    })
}

/// Speed of one big file relative to that of the same bytes in many small files, for one direction (`read` or `write`)
/// and arm; `None` if either is missing.
pub fn big_file_gain(table: &Files<'_>, arm: usize, direction: &Operation) -> Option<f64> {
    let action = match direction {
        Operation::Write => Operation::Create,
        _ => Operation::Read,
    };
    let speed = |wanted: &dyn Fn(&Workload) -> bool| {
        let row = table.rows.iter().find(|r| wanted(r.workload))?;
        Some(row.readings[arm]?.bandwidth).filter(|v| v.is_finite() && *v > 0.0)
    };
    let small = speed(&|w| w.files.is_some() && w.operation == action)?;
    let big = speed(&|w| w.files.is_none() && w.operation == *direction)?;
    Some(big / small)
}
