//! A run against the earlier ones of the same: which cells lie outside the interval of one more run.
//!
//! The spread is that between runs. What lies within a run, from trial to trial, is far less: it does not know other
//! days, other places on the device, other temperatures. Values are ln, k earlier runs give t with k - 1 degrees of
//! freedom ([`cryptbench_stats::predict`]), and Holm's correction holds over the cells that could be judged.

use cryptbench_stats::prediction::FEWEST_EARLIER;
use cryptbench_stats::{holm, predict, smallest_change};
use serde::Serialize;

use crate::cell::{Cell, Run};

/// Which number of a cell is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Requests per second.
    Speed,
    /// The share of plain speed that is kept: what the disk does from day to day falls out.
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

/// A run judged.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// The run.
    pub run_id: String,
    /// Its start.
    pub started: String,
    /// What was judged.
    pub measure: Measure,
    /// Family-wise level over the cells.
    pub level: f64,
    /// The cells with enough earlier runs.
    pub cells: Vec<Judged>,
    /// The cells with too few of them.
    pub untold: Vec<Untold>,
    /// Cells that a cache answered.
    pub cached: u32,
}

impl Check {
    /// Number of cells with this change.
    pub fn count(&self, change: Change) -> usize {
        self.cells.iter().filter(|c| c.change == change).count()
    }
}

/// One cell with its verdict. Ratios are to the mean of the earlier runs; 1 is no change.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// How tables call the workload.
    pub workload: String,
    /// How tables call the arm.
    pub arm: String,
    /// Number of earlier runs.
    pub earlier: usize,
    /// Geometric mean of the earlier runs: requests per second, or the share that is kept.
    pub before: f64,
    /// The same of this run.
    pub now: f64,
    /// `now` through `before`.
    pub ratio: f64,
    /// Lower end of the interval in which one more run lies with 95 %, as a ratio.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How runs differ: standard deviation between the earlier ones, as a fraction.
    pub spread: f64,
    /// The loss that would have been called a regression here whatever the other cells show, as a fraction.
    pub detectable: f64,
    /// Two-sided p-value of "one more of the same".
    pub p_value: f64,
    /// The same after Holm over the cells.
    pub p_holm: f64,
    /// What it is.
    pub change: Change,
}

/// What may be said of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Slower than runs of the same differ.
    Regression,
    /// Faster than runs of the same differ.
    Improvement,
    /// As the earlier runs, as far as they can tell.
    Noise,
}

/// A cell that cannot be judged yet.
#[derive(Clone, Debug, Serialize)]
pub struct Untold {
    /// How tables call the workload.
    pub workload: String,
    /// How tables call the arm.
    pub arm: String,
    /// Earlier runs, fewer than 4.
    pub earlier: usize,
}

/// Confidence of the interval that is shown.
const CONFIDENCE: f64 = 0.95;

/// Judges `newest` by those of `runs` that were measured before it.
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
    };
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

/// Each run of the history judged by those before it, in the order of time.
pub fn check_all(runs: &[Run], measure: Measure, level: f64) -> Vec<Check> {
    runs.iter().map(|run| check(run, runs, measure, level)).collect()
}

/// Earlier runs that a verdict needs.
pub const NEEDED: usize = FEWEST_EARLIER;
