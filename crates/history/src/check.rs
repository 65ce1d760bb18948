//! Compares a run with earlier runs of the same measurement, and finds cells outside the prediction interval for one
//! more run.
//!
//! The interval is based on the spread between runs. The spread between the trials of one run is far smaller, because
//! it does not include other days, other positions on the device and other temperatures. Logarithms of the values are
//! used. With k earlier runs the interval uses Student's t with k - 1 degrees of freedom
//! ([`cryptbench_stats::predict`]), and Holm's correction covers all cells with enough runs.

use std::collections::BTreeMap;

use cryptbench_stats::prediction::FEWEST_EARLIER;
use cryptbench_stats::{holm, predict, smallest_change};
use serde::Serialize;

use crate::cell::{Cell, Run};

/// The figure to evaluate for each cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Requests per second.
    Speed,
    /// Speed as a share of plain speed, which cancels the disk's day-to-day variation.
    Kept,
}

impl Measure {
    fn of(self, cell: &Cell) -> Option<f64> {
        match self {
            Self::Speed => Some(cell.ln_speed),
            Self::Kept => cell.ln_kept,
        }
    }
}

/// The verdicts on a run.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// The run.
    pub run_id: String,
    /// Its start.
    pub started: String,
    /// The figure judged.
    pub measure: Measure,
    /// Family-wise level over the cells.
    pub level: f64,
    /// The cells with enough earlier runs.
    pub cells: Vec<Judged>,
    /// The cells with too few earlier runs.
    pub untold: Vec<Untold>,
    /// Number of cells that were served from a cache.
    pub cached: u32,
    /// The run's set of arms; empty if the user specified the systems.
    pub arm_set: String,
    /// The arm sets of earlier runs that measured some of these cells together with other arms, each with its number of
    /// runs. These runs are not mixed with runs of this run's set.
    pub other_sets: BTreeMap<String, u32>,
}

impl Check {
    /// Number of cells with this verdict.
    pub fn count(&self, change: Change) -> usize {
        self.cells.iter().filter(|c| c.change == change).count()
    }
}

/// One cell with its verdict. Ratios are relative to the mean of the earlier runs; 1 means no
/// change.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// The workload's name in tables.
    pub workload: String,
    /// The arm's name in tables.
    pub arm: String,
    /// Number of earlier runs.
    pub earlier: usize,
    /// Geometric mean of the earlier runs: requests per second, or share of plain speed.
    pub before: f64,
    /// The figure for this run.
    pub now: f64,
    /// `now` divided by `before`.
    pub ratio: f64,
    /// Lower end of the 95 % prediction interval for one more run, as a ratio.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Standard deviation between the earlier runs, as a fraction.
    pub spread: f64,
    /// The loss, as a fraction, that would count as a regression in this cell regardless of the other cells.
    pub detectable: f64,
    /// Two-sided p-value for "this is one more run of the same kind".
    pub p_value: f64,
    /// p-value after Holm's correction over the cells.
    pub p_holm: f64,
    /// The verdict.
    pub change: Change,
}

/// The verdict on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Slower by more than the variation between runs of the same kind.
    Regression,
    /// Faster by more than the variation between runs of the same kind.
    Improvement,
    /// No change from the earlier runs was found.
    Noise,
}

/// A cell with too few earlier runs for a verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Untold {
    /// The workload's name in tables.
    pub workload: String,
    /// The arm's name in tables.
    pub arm: String,
    /// Earlier runs, fewer than 4.
    pub earlier: usize,
}

/// Confidence of the displayed interval.
const CONFIDENCE: f64 = 0.95;

/// Evaluates `newest` against the earlier runs in `runs`.
pub fn check(newest: &Run, runs: &[Run], measure: Measure, level: f64) -> Check {
    let earlier: Vec<&Run> =
        runs.iter().filter(|r| r.started < newest.started && r.run_id != newest.run_id).collect();
    let mut found = Check {
        run_id: newest.run_id.clone(),
        started: newest.started.clone(),
        measure,
        level,
        cells: Vec::new(),
        untold: Vec::new(),
        cached: 0,
        arm_set: newest.cells.first().map(|cell| cell.arm_set.clone()).unwrap_or_default(),
        other_sets: BTreeMap::new(),
    };
    for run in &earlier {
        let shared = |cell: &&Cell| newest.cells.iter().any(|c| c.is_same_in_another_set(cell));
        if let Some(cell) = run.cells.iter().find(shared).filter(|c| c.arm_set != found.arm_set) {
            *found.other_sets.entry(cell.arm_set.clone()).or_default() += 1;
        }
    }
    for cell in &newest.cells {
        let Some(now) = measure.of(cell) else { continue };
        if cell.cached {
            found.cached += 1;
            continue;
        }
        let before: Vec<f64> = earlier
            .iter()
            .flat_map(|r| r.cells.iter().find(|c| c.is_same(cell) && !c.cached))
            .filter_map(|c| measure.of(c))
            .collect();
        let (workload, arm) = (cell.workload_label.clone(), cell.arm_label.clone());
        match predict(&before, now, CONFIDENCE) {
            Some(p) => found.cells.push(Judged {
                workload,
                arm,
                earlier: p.earlier,
                before: p.mean.exp(),
                now: now.exp(),
                ratio: p.difference.exp(),
                low: (p.low - p.mean).exp(),
                high: (p.high - p.mean).exp(),
                spread: p.sd.exp_m1(),
                detectable: 0.0,
                p_value: p.p_value,
                p_holm: p.p_value,
                change: Change::Noise,
            }),
            None => found.untold.push(Untold { workload, arm, earlier: before.len() }),
        }
    }
    let p: Vec<f64> = found.cells.iter().map(|c| c.p_value).collect();
    let count = p.len();
    for (cell, p_holm) in found.cells.iter_mut().zip(holm(&p)) {
        cell.p_holm = p_holm;
        let change = smallest_change(cell.spread.ln_1p(), cell.earlier, count, level);
        cell.detectable = change.map_or(1.0, |d| -(-d).exp_m1());
        if p_holm < level {
            cell.change = if cell.ratio < 1.0 { Change::Regression } else { Change::Improvement };
        }
    }
    found
}

/// Evaluates each run in the history against the earlier runs, in chronological order.
pub fn check_all(runs: &[Run], measure: Measure, level: f64) -> Vec<Check> {
    runs.iter().map(|run| check(run, runs, measure, level)).collect()
}

/// Number of earlier runs required for a verdict.
pub const NEEDED: usize = FEWEST_EARLIER;
