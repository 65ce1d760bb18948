//! ATTO's chart: for each block size the speed of writes to the left and of reads to the right, for plain and for each
//! encrypted arm.

use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, Operation, Workload};

use super::{Chosen, chosen};
use crate::reading::{Reading, reading};

/// Maximum number of encrypted arms next to plain in one chart.
const MOST_ARMS: usize = 4;

/// One chart: the workloads of a profile that differ only in block size and direction.
pub struct TwoSided<'a> {
    /// The properties that distinguish this chart from the profile's others, such as `random, 4 in flight`; empty for
    /// a single chart.
    pub title: String,
    /// Plain first.
    pub arms: Vec<&'a Arm>,
    /// Arms that did not fit.
    pub left_out: usize,
    /// Ascending block sizes.
    pub rows: Vec<Row>,
    /// The largest speed of the chart in bytes per second, above 0.
    pub most: f64,
}

/// One block size.
pub struct Row {
    /// Bytes per request.
    pub block_size: u64,
    /// Writes and reads of each arm, in the order of the chart's arms.
    pub arms: Vec<[Option<Reading>; 2]>,
}

/// The charts, in the order of the profile; empty if nothing is read or written by block size.
pub fn bars<'a>(lookup: &Lookup<'a>) -> Vec<TwoSided<'a>> {
    let Chosen { arms, left_out } = chosen(lookup, MOST_ARMS);
    let mut groups: Vec<(String, Vec<&Workload>)> = Vec::new();
    for workload in lookup.workloads() {
        if !matches!(workload.operation, Operation::Read | Operation::Write) {
            continue;
        }
        let kind = kind(workload);
        match groups.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, group)) => group.push(workload),
            None => groups.push((kind, vec![workload])),
        }
    }
    let only = groups.len() == 1;
    groups
        .into_iter()
        .map(|(kind, group)| {
            let rows = rows(lookup, &arms, &group);
            let speeds = rows.iter().flat_map(|r| r.arms.iter().flatten().flatten());
            let most = speeds.map(|s| s.bandwidth).filter(|v| v.is_finite()).fold(0.0, f64::max);
            let title = if only { String::new() } else { kind };
            TwoSided { title, arms: arms.clone(), left_out, rows, most }
        })
        .filter(|chart| chart.most > 0.0)
        .collect()
}

fn rows(lookup: &Lookup<'_>, arms: &[&Arm], group: &[&Workload]) -> Vec<Row> {
    let mut sizes: Vec<u64> = group.iter().map(|w| w.block_size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let reading = |size: u64, operation: Operation, arm: &Arm| {
        let of = |w: &&&Workload| w.block_size == size && w.operation == operation;
        reading(lookup, group.iter().find(of)?, arm)
    };
    sizes
        .into_iter()
        .map(|size| Row {
            block_size: size,
            arms: arms
                .iter()
                .map(|a| [Operation::Write, Operation::Read].map(|op| reading(size, op, a)))
                .collect(),
        })
        .collect()
}

/// The properties that all bars of one chart have in common.
fn kind(w: &Workload) -> String {
    let threads = match w.threads {
        Some(n) if n > 1 => format!(" x {n} threads"),
        _ => String::new(),
    };
    format!("{}, {} in flight{threads}", w.pattern, w.queue_depth)
}
