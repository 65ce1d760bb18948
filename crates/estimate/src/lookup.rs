//! The trials and cells of a record by workload and arm, for records of thousands of cells.

use std::collections::{BTreeMap, HashMap, HashSet};

use cryptbench_record::{Arm, Cell, Record, Trial, Workload, log_ratios, trials_of};

use crate::arms::plain_arm;
use crate::cells::cells;
use crate::doubt::{Compared, Doubt};

/// The trials of a record by workload.
pub struct Trials<'a> {
    by_workload: HashMap<&'a str, Vec<&'a Trial>>,
}

impl<'a> Trials<'a> {
    /// Sorts the trials of `record` by workload.
    pub fn of(record: &'a Record) -> Self {
        let mut by_workload: HashMap<&str, Vec<&Trial>> = HashMap::new();
        for trial in &record.trials {
            by_workload.entry(&trial.workload).or_default().push(trial);
        }
        Self { by_workload }
    }

    /// The measured trials of one workload and arm in block order.
    pub fn of_cell(&self, workload: &str, arm: &str) -> Vec<&'a Trial> {
        trials_of(self.of_workload(workload), workload, arm).into_iter().map(|(_, t)| t).collect()
    }

    /// As [`Record::log_ratios`].
    pub fn log_ratios(&self, workload: &str, arm: &str, baseline: &[&str]) -> Vec<f64> {
        log_ratios(self.of_workload(workload), workload, arm, baseline)
    }

    /// A figure of the measured trials of each of `arms`, for the blocks in which all of these arms ran and have a
    /// finite value, in block order. Arms that form one baseline get their `mean`.
    pub fn matched(
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

    /// All trials of one workload.
    pub(crate) fn of_workload(&self, workload: &str) -> impl Iterator<Item = &'a Trial> + Clone {
        self.by_workload.get(workload).map_or(&[][..], Vec::as_slice).iter().copied()
    }
}

/// The common input of charts and tables.
pub struct Lookup<'r> {
    /// The measurements.
    pub record: &'r Record,
    /// The results derived from the trials, in plan order.
    pub cells: Vec<Cell>,
    /// Its trials.
    pub trials: Trials<'r>,
    /// Positions in `cells` by workload and arm.
    places: HashMap<(&'r str, &'r str), usize>,
}

impl<'r> Lookup<'r> {
    /// Derives the results from the trials of a record.
    pub fn of(record: &'r Record) -> Self {
        Self::with(record, cells(record))
    }

    /// A lookup of existing cells.
    pub fn with(record: &'r Record, cells: Vec<Cell>) -> Self {
        let plan = &record.plan;
        let workloads: HashSet<&str> = plan.workloads.iter().map(|w| w.id.as_str()).collect();
        let arms: HashSet<&str> = plan.arms.iter().map(|a| a.id.as_str()).collect();
        let place = |(i, cell): (usize, &Cell)| {
            let workload = *workloads.get(cell.workload.as_str())?;
            Some(((workload, *arms.get(cell.arm.as_str())?), i))
        };
        let places = cells.iter().enumerate().filter_map(place).collect();
        Self { record, cells, trials: Trials::of(record), places }
    }

    /// The workloads of the plan.
    pub fn workloads(&self) -> &'r [Workload] {
        &self.record.plan.workloads
    }

    /// The arms of the plan.
    pub fn arms(&self) -> &'r [Arm] {
        &self.record.plan.arms
    }

    /// The cell of one workload and arm.
    pub fn cell(&self, workload: &Workload, arm: &Arm) -> Option<&Cell> {
        let place = self.places.get(&(workload.id.as_str(), arm.id.as_str()))?;
        Some(&self.cells[*place])
    }

    /// The cell of plain storage.
    pub fn plain(&self, workload: &Workload) -> Option<&Cell> {
        self.cell(workload, plain_arm(self.record)?)
    }

    /// ln(speed of the arm / speed of its baseline) for each block, as used for the cell's verdict.
    pub fn against_plain(&self, workload: &Workload, arm: &Arm) -> Vec<f64> {
        self.trials.log_ratios(&workload.id, &arm.id, &self.record.plan.baseline(arm))
    }

    /// Why the gain of a cell is not attributed to its arm; `None` if there is no gain, or nothing contradicts the
    /// gain.
    pub fn doubt(&self, workload: &Workload, arm: &Arm) -> Option<Doubt> {
        self.cell(workload, arm)?.kept.filter(|kept| kept.low > 1.0)?;
        let baseline = self.record.plan.baseline(arm);
        let Self { record, trials, .. } = self;
        let (workload, arm, baseline) = (&workload.id, &arm.id, &baseline);
        Compared { record, trials, workload, arm, baseline }.doubt()
    }

    /// For a cell with trials, its speed as a multiple of plain speed: the paired estimate or, if a cache or too few
    /// pairs rule that estimate out, the ratio of the medians; `None` for plain itself.
    pub fn ratio(&self, workload: &Workload, arm: &Arm) -> Option<f64> {
        let cell = self.cell(workload, arm).filter(|c| c.trials > 0)?;
        if plain_arm(self.record).is_some_and(|plain| plain.id == arm.id) {
            return None;
        }
        cell.kept.map(|kept| kept.ratio).or_else(|| {
            let plain = self.plain(workload).filter(|p| p.trials > 0)?;
            Some(cell.iops / plain.iops).filter(|r| r.is_finite())
        })
    }

    /// Geometric mean of an arm's speed relative to plain, over all its cells.
    pub fn mean_ratio(&self, arm: &Arm) -> Option<f64> {
        let logs: Vec<f64> = self
            .workloads()
            .iter()
            .filter_map(|w| Some(self.ratio(w, arm)?.ln()))
            .filter(|v| v.is_finite())
            .collect();
        (!logs.is_empty()).then(|| mean(&logs).exp())
    }
}

/// The arithmetic mean of at least one value.
pub fn mean(values: &[f64]) -> f64 {
    cryptbench_stats::mean(values).unwrap_or(f64::NAN)
}

/// The geometric mean of at least one positive value.
pub fn geometric_mean(values: &[f64]) -> f64 {
    mean(&values.iter().map(|v| v.ln()).collect::<Vec<_>>()).exp()
}
