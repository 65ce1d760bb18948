//! The grid of CrystalDiskMark and Anvil: one row per test, reads and writes side by side.

use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, Operation, Workload};
use cryptbench_stats::median;

use super::{Chosen, chosen};
use crate::reading::{Reading, reading};

/// Maximum number of encrypted arms next to plain.
const MOST_ARMS: usize = 5;

/// The grids of all arms.
pub struct Grid<'a> {
    /// Plain first.
    pub arms: Vec<&'a Arm>,
    /// Arms for which there was no room.
    pub left_out: usize,
    /// Those of `read`, `write` and `mixed` that occur.
    pub columns: Vec<Operation>,
    /// The rows in the order of the profile.
    pub tests: Vec<Test>,
}

/// One row: the workloads that differ only in direction.
pub struct Test {
    /// The label without the direction.
    pub name: String,
    /// Indexed by arm, then by column.
    pub cells: Vec<Vec<Option<GridCell>>>,
}

/// The result of one arm and direction in a test.
#[derive(Clone, Copy)]
pub struct GridCell {
    /// The speed.
    pub reading: Reading,
    /// Mean time of a request in microseconds, as the median over the trials.
    pub response_us: Option<f64>,
}

/// The grid, unless no workload reads or writes.
pub fn grid<'a>(lookup: &Lookup<'a>) -> Option<Grid<'a>> {
    let Chosen { arms, left_out } = chosen(lookup, MOST_ARMS);
    let occurs = |op: &Operation| lookup.workloads().iter().any(|w| w.operation == *op);
    let columns: Vec<Operation> =
        [Operation::Read, Operation::Write, Operation::Mixed].into_iter().filter(occurs).collect();
    let mut rows: Vec<(String, Vec<&Workload>)> = Vec::new();
    for workload in lookup.workloads() {
        if !columns.contains(&workload.operation) {
            continue;
        }
        let name = test_name(workload);
        // A repeated direction starts a new test, even under the same name.
        let free = |group: &[&Workload]| {
            group.iter().all(|w| w.operation != workload.operation && alike(w, workload))
        };
        match rows.iter_mut().find(|(n, group)| *n == name && free(group)) {
            Some((_, group)) => group.push(workload),
            None => rows.push((name, vec![workload])),
        }
    }
    let tests: Vec<Test> = rows
        .into_iter()
        .map(|(name, group)| {
            let at = |op: &Operation, arm: &Arm| {
                let workload = group.iter().find(|w| w.operation == *op)?;
                let reading = reading(lookup, workload, arm)?;
                Some(GridCell { reading, response_us: response(lookup, workload, arm) })
            };
            let row = |arm: &&Arm| columns.iter().map(|op| at(op, arm)).collect();
            Test { name, cells: arms.iter().map(row).collect() }
        })
        .collect();
    (!tests.is_empty()).then_some(Grid { arms, left_out, columns, tests })
}

fn alike(a: &Workload, b: &Workload) -> bool {
    let key = |w: &Workload| (w.block_size, w.queue_depth, w.threads.unwrap_or(1), w.file_bytes);
    key(a) == key(b) && a.pattern == b.pattern
}

/// The label without the direction: `SEQ1M Q8T1` of `SEQ1M Q8T1 read`.
fn test_name(workload: &Workload) -> String {
    let direction = |word: &str| {
        let word = word.trim_matches([',', ':']);
        ["read", "reads", "write", "writes", "mix", "mixed"]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
    };
    let words: Vec<&str> = workload.label.split_whitespace().filter(|w| !direction(w)).collect();
    if words.is_empty() { workload.label.clone() } else { words.join(" ") }
}

fn response(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm) -> Option<f64> {
    let means: Vec<f64> = lookup
        .trials
        .of_cell(&workload.id, &arm.id)
        .into_iter()
        .map(|t| t.measured.latency.mean_us)
        .filter(|us| us.is_finite() && *us > 0.0)
        .collect();
    median(&means)
}
