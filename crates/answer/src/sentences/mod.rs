//! The verdict in sentences, for readers who have to act on it: first the cost, then its reliability.

mod arms;
mod between;
mod evidence;
mod explanation;
mod trust;
mod unlock;

use cryptbench_estimate::cells::{arm_cells, cell};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, ArmRole, Cell, Operation, Record, Workload};

use crate::quantity::thousands;

/// Maximum number of sentences of a run; the least urgent sentences are dropped.
const MOST_SENTENCES: usize = 8;

/// Up to this many encrypted arms are described individually.
const MOST_ARMS_SPOKEN: usize = 3;

/// A sentence and its importance (the least important sentences are dropped first).
struct Sentence {
    weight: u8,
    text: String,
}

impl Sentence {
    fn new(weight: u8, text: String) -> Self {
        Self { weight, text }
    }
}

/// The sentences of [`Results::sentences`], verdict first.
pub fn sentences(lookup: &Lookup<'_>) -> Vec<String> {
    let view = View { record: lookup.record, cells: &lookup.cells, lookup };
    if view.workloads().iter().any(|w| w.operation == Operation::Unlock) {
        // Plain storage has nothing to unlock, so there is no percentage of plain speed.
        return unlock::openings(&view);
    }
    let mut found = evidence::proof(&view);
    // Bad news comes first, good news last.
    let good = found.extract_if(.., |s| s.weight < u8::MAX).collect::<Vec<_>>();
    found.extend(arms::costs(&view));
    found.extend(arms::gains(&view));
    found.extend(between::encrypted_arms(&view));
    found.extend(between::layer_and_cipher(&view));
    found.extend(explanation::added(&view));
    found.extend(trust::cached(&view));
    found.extend(trust::leaning(&view));
    found.extend(trust::inconclusive(&view));
    found.extend(trust::plain_against_itself(&view));
    found.extend(trust::basis(&view));
    found.extend(good);
    while found.len() > MOST_SENTENCES {
        let least = (0..found.len()).rev().min_by_key(|&i| found[i].weight).unwrap_or(0);
        found.remove(least);
    }
    found.into_iter().map(|s| s.text).collect()
}

/// The basis of the figures, and whether the systems encrypted.
pub fn basis(lookup: &Lookup<'_>) -> Vec<String> {
    let view = View { record: lookup.record, cells: &lookup.cells, lookup };
    trust::basis(&view).into_iter().chain(evidence::proof(&view)).map(|s| s.text).collect()
}

/// The input for the sentences.
struct View<'a> {
    record: &'a Record,
    cells: &'a [Cell],
    lookup: &'a Lookup<'a>,
}

impl<'a> View<'a> {
    fn encrypted(&self) -> Vec<&'a Arm> {
        self.record.plan.arms.iter().filter(|a| a.role == ArmRole::Encrypted).collect()
    }

    fn workloads(&self) -> &'a [Workload] {
        &self.record.plan.workloads
    }

    fn cells(&self, arm: &'a Arm) -> Vec<&'a Cell> {
        arm_cells(self.cells, &arm.id).collect()
    }

    fn plain_cell(&self, workload: &str) -> Option<&'a Cell> {
        cell(self.cells, workload, &cryptbench_estimate::arms::plain_arm(self.record)?.id)
    }

    fn workload_label(&self, id: &str) -> &'a str {
        self.workloads().iter().find(|w| w.id == id).map_or("an unknown workload", |w| &w.label)
    }

    /// Geometric mean of an arm's percentage of plain speed over the workloads in which the percentage was estimated.
    fn mean_kept(&self, arm: &'a Arm) -> Option<f64> {
        let logs: Vec<f64> =
            self.cells(arm).iter().filter_map(|c| Some(c.kept?.ratio.ln())).collect();
        cryptbench_stats::mean(&logs).map(f64::exp)
    }
}

/// `all 8 workloads`, `3 of 8 workloads`; a run of one workload gives its name.
fn of_workloads(n: usize, view: &View<'_>) -> String {
    match view.workloads() {
        [only] => only.label.clone(),
        all if n == all.len() => format!("all {} workloads", thousands(n as f64)),
        all => format!("{} of {} workloads", thousands(n as f64), thousands(all.len() as f64)),
    }
}
