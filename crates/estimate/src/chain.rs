//! The steps from plain storage through the pass-through to the encrypted arm: the cost of each step in speed and in
//! CPU time.

use cryptbench_record::{Arm, ArmRole, Trial, Workload};
use cryptbench_stats::{Scale, Share, Waterfall, decompose};

use crate::arms::plain_arm;
use crate::cpu::Measure;
use crate::lookup::{Lookup, geometric_mean, mean};
use crate::soundness::is_unsound;

/// One encrypted arm and its pass-through, over the workloads.
pub struct Chain<'a> {
    /// The path without the cipher.
    pub layer: &'a Arm,
    /// The encrypted arm.
    pub arm: &'a Arm,
    /// The workloads, in the order of the plan.
    pub rows: Vec<Row<'a>>,
}

/// One workload of a chain.
pub struct Row<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// Steps in log units of speed: one step from plain to the layer, and one from the layer to the encrypted arm.
    pub speed: Waterfall,
    /// Steps in CPU seconds per request, if every trial has them.
    pub cpu: Option<Waterfall>,
}

impl Chain<'_> {
    /// Mean over the workloads of ln(speed of the arm / speed of plain).
    pub fn mean_kept(&self) -> f64 {
        self.rows.iter().map(|r| r.speed.levels[1].mean).sum::<f64>() / self.rows.len() as f64
    }
}

/// The cipher's share of the total loss; `None` if the share is unknown, is outside the range from 0 to 1, or has an
/// interval as wide as that range.
pub fn cipher_share(row: &Row<'_>) -> Option<Share> {
    row.speed.steps[1].share.filter(|s| (0.0..=1.0).contains(&s.value) && s.high - s.low < 1.0)
}

/// The chains of a record in plan order: one for each encrypted arm that specifies its pass-through.
pub fn chains<'a>(lookup: &Lookup<'a>) -> Vec<Chain<'a>> {
    let encrypted = lookup.arms().iter().filter(|arm| arm.role == ArmRole::Encrypted);
    encrypted
        .filter(|arm| !is_unsound(lookup.record, arm))
        .filter_map(|arm| {
            let layer = null_layer(lookup, arm)?;
            let rows: Vec<_> =
                lookup.workloads().iter().filter_map(|w| row(lookup, w, layer, arm)).collect();
            (!rows.is_empty()).then_some(Chain { layer, arm, rows })
        })
        .collect()
}

/// The arm's pass-through or, if the record does not specify one, the pass-through of the arm's system.
pub fn null_layer<'a>(lookup: &Lookup<'a>, arm: &Arm) -> Option<&'a Arm> {
    lookup.arms().iter().find(|null| null.role == ArmRole::NullLayer && is_null_layer_of(null, arm))
}

/// Whether `null` is the software path of `arm` without its cipher.
pub fn is_null_layer_of(null: &Arm, arm: &Arm) -> bool {
    match &arm.null_layer {
        Some(id) => *id == null.id,
        None => arm.system == null.system,
    }
}

fn row<'a>(lookup: &Lookup<'a>, workload: &'a Workload, layer: &Arm, arm: &Arm) -> Option<Row<'a>> {
    let plain = plain_arm(lookup.record)?;
    let cached = |arm| lookup.cell(workload, arm).is_none_or(|c| c.cached);
    if [plain, layer, arm].into_iter().any(cached) {
        return None;
    }
    let baseline = lookup.record.plan.baseline(arm);
    let ids: [&[&str]; 3] = [&baseline, &[&layer.id], &[&arm.id]];
    let taken_apart = |value: &dyn Fn(&Trial) -> f64, scale| {
        let mean = if matches!(scale, Scale::Log) { geometric_mean } else { mean };
        let values = lookup.trials.matched(&workload.id, &ids, value, mean);
        let values: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
        decompose(&values, scale, lookup.record.plan.confidence)
    };
    let measure = Measure::of(lookup.record);
    let cpu = |t: &Trial| measure.seconds(t).map_or(f64::NAN, |s| s / t.measured.ios as f64);
    Some(Row {
        workload,
        speed: taken_apart(&Trial::iops, Scale::Log)?,
        cpu: taken_apart(&cpu, Scale::Difference),
    })
}
