//! The trials and cells of a record by workload and arm, for records of thousands of cells.

use std::collections::{BTreeMap, HashMap};

use cryptbench_record::{Arm, Cell, Record, Results, Trial, Workload, log_ratios, trials_of};

use crate::analysis::plain_arm;
use crate::verdict_mark;

/// The trials of a record by workload.
pub(crate) struct Trials<'a> {
    by_workload: HashMap<&'a str, Vec<&'a Trial>>,
}

impl<'a> Trials<'a> {
    /// Sorts the trials of `record` by workload.
    pub(crate) fn of(record: &'a Record) -> Self {
        let mut by_workload: HashMap<&str, Vec<&Trial>> = HashMap::new();
        for trial in &record.trials {
            by_workload.entry(&trial.workload).or_default().push(trial);
        }
        Self { by_workload }
    }

    /// The measured trials of one workload and arm in block order.
    pub(crate) fn of_cell(&self, workload: &str, arm: &str) -> Vec<&'a Trial> {
        trials_of(self.of_workload(workload), workload, arm).into_iter().map(|(_, t)| t).collect()
    }

    /// As [`Record::log_ratios`].
    pub(crate) fn log_ratios(&self, workload: &str, arm: &str, baseline: &[&str]) -> Vec<f64> {
        log_ratios(self.of_workload(workload), workload, arm, baseline)
    }

    /// A figure of the measured trials of each of `arms`, over the blocks in which all of them ran and have it as a
    /// finite number, in block order. Arms that are one baseline have the `mean` of theirs.
    pub(crate) fn matched(
        &self,
        workload: &str,
        arms: &[&[&str]],
        figure: impl Fn(&Trial) -> f64,
        mean: fn(&[f64]) -> f64,
    ) -> Vec<Vec<f64>> {
        let of = |arms: &&[&str]| -> BTreeMap<u32, f64> {
            let mut values: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
            for (block, t) in
                arms.iter().flat_map(|arm| trials_of(self.of_workload(workload), workload, arm))
            {
                values.entry(block).or_default().push(figure(t));
            }
            let means = values.into_iter().map(|(block, values)| (block, mean(&values)));
            means.filter(|(_, value)| value.is_finite()).collect()
        };
        let all: Vec<_> = arms.iter().map(of).collect();
        let Some(first) = all.first() else { return Vec::new() };
        let shared: Vec<u32> =
            first.keys().copied().filter(|b| all.iter().all(|arm| arm.contains_key(b))).collect();
        all.iter().map(|arm| shared.iter().map(|b| arm[b]).collect()).collect()
    }

    fn of_workload(&self, workload: &str) -> impl Iterator<Item = &'a Trial> + Clone {
        self.by_workload.get(workload).map_or(&[][..], Vec::as_slice).iter().copied()
    }
}

/// What every picture and table reads.
pub(crate) struct Lookup<'a> {
    pub(crate) record: &'a Record,
    pub(crate) results: &'a Results,
    pub(crate) trials: Trials<'a>,
    cells: HashMap<(&'a str, &'a str), &'a Cell>,
}

/// What a picture shows of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// Median bytes per second.
    pub(crate) bandwidth: f64,
    /// Median requests (files, openings) per second.
    pub(crate) iops: f64,
    /// Speed as a multiple of plain's: the paired estimate, and where a cache or too few pairs forbid
    /// one the ratio of the medians. `None` for plain itself.
    pub(crate) ratio: Option<f64>,
    /// The verdict's mark; `None` for plain, unless a cache answered.
    pub(crate) mark: Option<char>,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(record: &'a Record, results: &'a Results) -> Self {
        let cells =
            results.cells.iter().map(|c| ((c.workload.as_str(), c.arm.as_str()), c)).collect();
        Self { record, results, trials: Trials::of(record), cells }
    }

    pub(crate) fn workloads(&self) -> &'a [Workload] {
        &self.record.plan.workloads
    }

    pub(crate) fn arms(&self) -> &'a [Arm] {
        &self.record.plan.arms
    }

    /// The cell of one workload and arm.
    pub(crate) fn cell(&self, workload: &Workload, arm: &Arm) -> Option<&'a Cell> {
        self.cells.get(&(workload.id.as_str(), arm.id.as_str())).copied()
    }

    /// The cell of plain storage.
    pub(crate) fn plain(&self, workload: &Workload) -> Option<&'a Cell> {
        self.cell(workload, plain_arm(self.record)?)
    }

    /// ln(speed of the arm / speed of what it is compared with) of each block, as its verdict has it.
    pub(crate) fn against_plain(&self, workload: &Workload, arm: &Arm) -> Vec<f64> {
        self.trials.log_ratios(&workload.id, &arm.id, &self.record.plan.baseline(arm))
    }

    /// What a picture shows of a cell that has trials.
    pub(crate) fn reading(&self, workload: &Workload, arm: &Arm) -> Option<Reading> {
        let cell = self.cell(workload, arm).filter(|c| c.trials > 0)?;
        let is_plain = plain_arm(self.record).is_some_and(|p| p.id == arm.id);
        let of_medians = || {
            let plain = self.plain(workload).filter(|p| p.trials > 0)?;
            Some(cell.iops / plain.iops).filter(|r| r.is_finite())
        };
        let ratio = match cell.kept {
            _ if is_plain => None,
            Some(kept) => Some(kept.ratio),
            None => of_medians(),
        };
        let mark = match &cell.verdict {
            Some(verdict) => Some(verdict_mark(verdict)),
            None => cell.cached.then_some('c'),
        };
        Some(Reading { bandwidth: cell.bandwidth, iops: cell.iops, ratio, mark })
    }

    /// Geometric mean of the speed that an arm has per speed of plain, over all its cells.
    pub(crate) fn mean_ratio(&self, arm: &Arm) -> Option<f64> {
        let logs: Vec<f64> = self
            .workloads()
            .iter()
            .filter_map(|w| Some(self.reading(w, arm)?.ratio?.ln()))
            .filter(|v| v.is_finite())
            .collect();
        (!logs.is_empty()).then(|| mean(&logs).exp())
    }
}

/// The arithmetic mean of at least one value.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The geometric mean of at least one positive value.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    mean(&values.iter().map(|v| v.ln()).collect::<Vec<_>>()).exp()
}
