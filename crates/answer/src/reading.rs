//! One cell of a chart or table.

use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, Workload};

use crate::wording::Sign;

/// The content of one cell of a chart or table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Median bytes per second.
    pub bandwidth: f64,
    /// Median requests (files, openings) per second.
    pub iops: f64,
    /// Speed as a multiple of plain's: the paired estimate or, if a cache or too few pairs rule that out, the
    /// ratio of the medians. `None` for plain itself.
    pub ratio: Option<f64>,
    /// The interval of that multiple, if the multiple is a paired estimate.
    pub interval: Option<(f64, f64)>,
    /// The verdict's mark; `None` for plain storage, unless plain storage was served from a cache.
    pub mark: Option<Sign>,
}

/// The content of a cell that has trials.
pub fn reading(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm) -> Option<Reading> {
    let cell = lookup.cell(workload, arm).filter(|c| c.trials > 0)?;
    let mark = match &cell.verdict {
        Some(verdict) => Some(Sign::of(verdict)),
        None => cell.cached.then_some(Sign::Cached),
    };
    let ratio = lookup.ratio(workload, arm);
    let interval = cell.kept.as_ref().filter(|_| !cell.cached).map(|kept| (kept.low, kept.high));
    Some(Reading { bandwidth: cell.bandwidth, iops: cell.iops, ratio, interval, mark })
}
