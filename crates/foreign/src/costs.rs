//! Whether encryption costs more in one record than in another: paired within each record, unpaired between them.
//!
//! Each record has ln(arm / plain) of every block, in which the drift of its disk has fallen out; what is left to
//! compare are two samples of costs, by Welch's test. So a slower disk is no higher cost. What the two records did
//! not share (another device, another place, another kernel) is in the difference all the same.

use cryptbench_record::{ArmRole, Record};
use cryptbench_stats::{FAMILY_LEVEL, estimate_unpaired, holm};
use serde::Serialize;

/// The change of one cost.
#[derive(Clone, Debug, Serialize)]
pub struct CostChange {
    /// How tables call the workload.
    pub workload: String,
    /// How tables call the arm.
    pub arm: String,
    /// Share of plain speed that the first record keeps.
    pub a: f64,
    /// Share of plain speed that the second keeps.
    pub b: f64,
    /// `b` through `a`.
    pub ratio: f64,
    /// Lower end of Welch's interval of the ratio.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// p-value of "the same cost", before Holm.
    pub p_value: f64,
    /// The same after Holm over the cells.
    pub p_holm: f64,
    /// Pairs that entered, of each record.
    pub pairs: (usize, usize),
    /// Beyond chance, after Holm.
    pub changed: bool,
}

/// Every arm but plain, in every workload that both records have with at least 3 pairs. Cells that a cache answered
/// are left out.
pub fn costs(a: &Record, b: &Record, confidence: f64) -> Vec<CostChange> {
    let mut found = Vec::new();
    for workload in
        a.plan.workloads.iter().filter(|w| b.plan.workloads.iter().any(|o| o.id == w.id))
    {
        for arm in a.plan.arms.iter().filter(|x| b.plan.arms.iter().any(|o| o.id == x.id)) {
            if matches!(arm.role, ArmRole::Plain | ArmRole::PlainAgain)
                || [a, b].iter().any(|r| is_cached(r, &workload.id, &arm.id))
            {
                continue;
            }
            let logs = |record: &Record| -> Option<Vec<f64>> {
                let plain = record.plan.arms.iter().find(|x| x.role == ArmRole::Plain)?;
                Some(record.log_ratios(&workload.id, &arm.id, &plain.id))
            };
            let (Some(x), Some(y)) = (logs(a), logs(b)) else { continue };
            let Some(e) = estimate_unpaired(&x, &y, confidence) else { continue };
            let mean = |v: &[f64]| (v.iter().sum::<f64>() / v.len() as f64).exp();
            found.push(CostChange {
                workload: workload.label.clone(),
                arm: arm.label.clone(),
                a: mean(&x),
                b: mean(&y),
                ratio: e.difference.exp(),
                low: e.low.exp(),
                high: e.high.exp(),
                p_value: e.p_value,
                p_holm: e.p_value,
                pairs: e.counts,
                changed: false,
            });
        }
    }
    let p: Vec<f64> = found.iter().map(|c| c.p_value).collect();
    for (cell, p_holm) in found.iter_mut().zip(holm(&p)) {
        cell.p_holm = p_holm;
        cell.changed = p_holm < FAMILY_LEVEL;
    }
    found
}

fn is_cached(record: &Record, workload: &str, arm: &str) -> bool {
    let cells = record.results.iter().flat_map(|r| &r.cells);
    cells.filter(|c| c.workload == workload && c.arm == arm).any(|c| c.cached)
}
