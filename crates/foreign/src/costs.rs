//! Compares the cost of encryption in two records: paired within each record, unpaired between
//! them.
//!
//! Each record contributes ln(arm / plain) of every block, which cancels the drift of its disk. Welch's test then
//! compares the two samples of costs, so a slower disk does not look like a higher cost. The difference still
//! includes anything else that changed between the records, such as the device, the target or the kernel.

use cryptbench_record::{ArmRole, Record};
use cryptbench_stats::{
    FAMILY_LEVEL, equivalent_unpaired, estimate_unpaired, holm, power_unpaired,
};
use serde::Serialize;

use crate::naming::Naming;

/// The change of one arm's cost in one workload.
#[derive(Clone, Debug, Serialize)]
pub struct CostChange {
    /// The workload's label in the record.
    pub workload: String,
    /// The arm's label in the record.
    pub arm: String,
    /// What people call the workload.
    pub workload_name: String,
    /// What people call the arm.
    pub arm_name: String,
    /// Share of plain speed in the first record.
    pub a: f64,
    /// Share of plain speed in the second record.
    pub b: f64,
    /// `b` divided by `a`.
    pub ratio: f64,
    /// Lower end of the Welch interval for the ratio.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// p-value for "the same cost", before Holm's correction.
    pub p_value: f64,
    /// p-value after Holm's correction over the cells.
    pub p_holm: f64,
    /// Pairs used from each record.
    pub pairs: (usize, usize),
    /// Whether the change is statistically significant after Holm's correction.
    pub changed: bool,
    /// Whether the two costs are shown to differ by less than the minimum loss that the first record was meant to
    /// detect.
    pub same: bool,
    /// Probability that a difference of the size of that minimum loss would have been detected.
    pub power: Option<f64>,
}

/// Compares every arm except plain in every workload for which both records have at least 3 pairs.
/// Skips cells that were served from a cache.
pub fn costs(a: &Record, b: &Record, confidence: f64, names: &dyn Naming) -> Vec<CostChange> {
    let mut found = Vec::new();
    let mut samples = Vec::new();
    for workload in
        a.plan.workloads.iter().filter(|w| b.plan.workloads.iter().any(|o| o.id == w.id))
    {
        for arm in a.plan.arms.iter().filter(|x| b.plan.arms.iter().any(|o| o.id == x.id)) {
            if matches!(arm.role, ArmRole::Plain | ArmRole::PlainAgain)
                || [a, b].iter().any(|r| is_cached(r, &workload.id, &arm.id))
            {
                continue;
            }
            let logs = |record: &Record| {
                record.log_ratios(&workload.id, &arm.id, &record.plan.baseline(arm))
            };
            let (x, y) = (logs(a), logs(b));
            let Some(e) = estimate_unpaired(&x, &y, confidence) else { continue };
            let mean = |v: &[f64]| (v.iter().sum::<f64>() / v.len() as f64).exp();
            found.push(CostChange {
                workload: workload.label.clone(),
                arm: arm.label.clone(),
                workload_name: names.workload(workload),
                arm_name: names.arm(arm),
                a: mean(&x),
                b: mean(&y),
                ratio: e.difference.exp(),
                low: e.low.exp(),
                high: e.high.exp(),
                p_value: e.p_value,
                p_holm: e.p_value,
                pairs: e.counts,
                changed: false,
                same: equivalent_unpaired(&x, &y, margin(a).ln_1p(), 0.05),
                power: None,
            });
            samples.push((x, y));
        }
    }
    let p: Vec<f64> = found.iter().map(|c| c.p_value).collect();
    // In the least favourable case of Holm's correction, a change must be significant at this level.
    let level = FAMILY_LEVEL / found.len().max(1) as f64;
    for ((cell, p_holm), (x, y)) in found.iter_mut().zip(holm(&p)).zip(&samples) {
        cell.p_holm = p_holm;
        cell.changed = p_holm < FAMILY_LEVEL;
        cell.same &= !cell.changed;
        cell.power = power_unpaired(x, y, margin(a).ln_1p(), level);
    }
    found
}

/// The minimum detectable loss of a record, as a fraction; 3 % if the record does not specify one.
pub(crate) fn margin(record: &Record) -> f64 {
    let margin = record.plan.margin();
    if margin > 0.0 { margin } else { 0.03 }
}

fn is_cached(record: &Record, workload: &str, arm: &str) -> bool {
    let cells = record.results.iter().flat_map(|r| &r.cells);
    cells.filter(|c| c.workload == workload && c.arm == arm).any(|c| c.cached)
}
