//! Many workloads in few rows: workloads that differ only in sizes form one series.

use cryptbench_estimate::arms::compared;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_estimate::series::series_name;
use cryptbench_record::{Arm, Verdict, Workload};

use crate::wording::Sign;

/// The workloads of one series.
pub struct Series<'a> {
    /// The common part of the labels.
    pub name: String,
    /// The workloads in the order of the profile.
    pub workloads: Vec<&'a Workload>,
    /// The results, one per arm that is compared with plain.
    pub arms: Vec<Tally<'a>>,
}

/// The result of one arm in a series.
pub struct Tally<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// Geometric mean of the ratios to plain, including cached cells; `None` if there are no ratios.
    pub mean_ratio: Option<f64>,
    /// The smallest ratio and where.
    pub worst: Option<(f64, &'a Workload)>,
    /// Cells that cost speed.
    pub costs: usize,
    /// Cells that gain speed.
    pub gains: usize,
    /// Cells that likely cost speed.
    pub likely_costs: usize,
    /// Cells that likely gain speed.
    pub likely_gains: usize,
    /// Cells that are the same as plain within the margin.
    pub same: usize,
    /// Cells in which no loss was found.
    pub in_noise: usize,
    /// Cells without an answer yet.
    pub open: usize,
    /// Cells with too few repeats.
    pub few: usize,
    /// Cells that were served from a cache.
    pub cached: usize,
}

/// The series in the order of the profile.
pub fn condensed<'a>(lookup: &Lookup<'a>) -> Vec<Series<'a>> {
    let mut groups: Vec<(String, Vec<&Workload>)> = Vec::new();
    for workload in lookup.workloads() {
        let name = series_name(&workload.label);
        match groups.iter_mut().find(|(n, _)| *n == name) {
            Some((_, group)) => group.push(workload),
            None => groups.push((name, vec![workload])),
        }
    }
    groups
        .into_iter()
        .map(|(name, workloads)| {
            let arms =
                compared(lookup.arms()).into_iter().map(|arm| tally(lookup, arm, &workloads));
            Series { arms: arms.collect(), name, workloads }
        })
        .collect()
}

fn tally<'a>(lookup: &Lookup<'a>, arm: &'a Arm, workloads: &[&'a Workload]) -> Tally<'a> {
    let mut tally = Tally {
        arm,
        mean_ratio: None,
        worst: None,
        costs: 0,
        gains: 0,
        likely_costs: 0,
        likely_gains: 0,
        same: 0,
        in_noise: 0,
        open: 0,
        few: 0,
        cached: 0,
    };
    let mut logs = Vec::new();
    for workload in workloads {
        // An arm may omit workloads whose requests are smaller than its data unit.
        let Some(cell) = lookup.cell(workload, arm).filter(|c| c.trials > 0) else { continue };
        match &cell.verdict {
            Some(Verdict::Costs { .. }) => tally.costs += 1,
            Some(Verdict::Gains { .. }) => tally.gains += 1,
            Some(Verdict::Equivalent { .. }) => tally.same += 1,
            Some(Verdict::WithinNoise { .. }) => tally.in_noise += 1,
            Some(Verdict::Cached) => tally.cached += 1,
            Some(Verdict::LikelyCosts { .. }) => tally.likely_costs += 1,
            Some(Verdict::LikelyGains { .. }) => tally.likely_gains += 1,
            Some(Verdict::Inconclusive { .. }) => tally.open += 1,
            Some(Verdict::TooFewPairs) => tally.few += 1,
            None => {}
        }
        let ratio = lookup.ratio(workload, arm);
        let Some(ratio) = ratio.filter(|r| r.ln().is_finite()) else { continue };
        logs.push(ratio.ln());
        if tally.worst.is_none_or(|(least, _)| ratio < least) {
            tally.worst = Some((ratio, workload));
        }
    }
    if !logs.is_empty() {
        tally.mean_ratio = Some((logs.iter().sum::<f64>() / logs.len() as f64).exp());
    }
    tally
}

impl Tally<'_> {
    /// The verdicts as counts: `12 ▼, 7 =, 2 c`.
    pub fn marks(&self) -> String {
        let counts = [
            (self.costs, Sign::Costs),
            (self.gains, Sign::Gains),
            (self.likely_costs, Sign::LikelyCosts),
            (self.likely_gains, Sign::LikelyGains),
            (self.same, Sign::Equivalent),
            (self.in_noise, Sign::WithinNoise),
            (self.open, Sign::Inconclusive),
            (self.few, Sign::TooFewPairs),
            (self.cached, Sign::Cached),
        ];
        let words: Vec<String> = counts
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, sign)| format!("{n} {}", sign.char()))
            .collect();
        words.join(", ")
    }
}
