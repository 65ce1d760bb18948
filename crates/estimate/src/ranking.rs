//! The system that is fastest relative to plain, over the workloads in which all systems can be compared. The engine
//! in this process is not ranked, because it cannot be installed.

use cryptbench_record::{Arm, Operation, Workload};
use cryptbench_stats::half_width;

use crate::arms::is_choice;
use crate::lookup::Lookup;
use crate::soundness::is_unsound;
use crate::verdict::is_decided;
use cryptbench_catalog::Presentation;

/// The arms, ordered by their share of plain speed.
pub struct Ranking<'a> {
    /// The workloads in which all ranked arms were compared.
    pub over: Vec<&'a Workload>,
    /// The fastest first.
    pub rows: Vec<Ranked<'a>>,
    /// Arms for which fewer than half of the workloads are decided, or were also measured for the other arms.
    pub left_out: Vec<&'a Arm>,
    /// Arms served from a cache where plain storage used the disk.
    pub cached: Vec<&'a Arm>,
    /// Arms that failed the proof of encryption or the data check.
    pub failed: Vec<&'a Arm>,
}

/// One arm of a ranking. Its shares of plain speed are geometric means over workloads.
pub struct Ranked<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// The rank, from 1. An arm without a proven difference from the first arm of the rank above it shares that rank.
    /// The difference between the last arm of one rank and the first arm of the next may not be significant either.
    pub place: usize,
    /// The share over all workloads of the ranking.
    pub all: Mean,
    /// The share over the workloads that read; `None` if there are no such workloads.
    pub reads: Option<f64>,
    /// Over the workloads that write.
    pub writes: Option<f64>,
}

/// A geometric mean over workloads with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub ratio: f64,
    /// Low end of the interval.
    pub low: f64,
    /// High end of the interval.
    pub high: f64,
}

/// The mean of a difference over workloads, in log units.
#[derive(Clone, Copy)]
struct Logs {
    mean: f64,
    half_width: f64,
}

impl Ranking<'_> {
    /// Whether the ranking adds information to the table of workloads.
    pub fn is_telling(&self) -> bool {
        self.rows.len() + self.left_out.len() + self.cached.len() + self.failed.len() > 2
    }
}

/// The ranking, if there are systems.
pub fn ranking<'a>(lookup: &Lookup<'a>) -> Option<Ranking<'a>> {
    if lookup.record.plan.form() == Presentation::Unlock {
        return None;
    }
    let choices = lookup.arms().iter().filter(|a| is_choice(a));
    let (failed, sound): (Vec<&Arm>, Vec<&Arm>) =
        choices.partition(|arm| is_unsound(lookup.record, arm));
    // A workload in which plain storage was also served from a cache does not count as cached.
    let plain_cached = |w: &Workload| lookup.plain(w).is_none_or(|c| c.cached);
    let answered = |arm: &&Arm| {
        let cached = |w: &Workload| lookup.cell(w, arm).is_some_and(|c| c.cached);
        lookup.workloads().iter().any(|w| !plain_cached(w) && cached(w))
    };
    let (cached, uncached): (Vec<&Arm>, Vec<&Arm>) = sound.into_iter().partition(answered);
    let (mut arms, mut left_out): (Vec<&Arm>, Vec<&Arm>) =
        uncached.into_iter().partition(|arm| is_mostly_decided(lookup, arm));
    let over: Vec<&Workload> = lookup
        .workloads()
        .iter()
        .filter(|w| arms.iter().all(|arm| judged(lookup, w, arm)))
        .collect();
    if !is_most(&over, lookup) {
        left_out.append(&mut arms);
    }
    let mut order: Vec<(&Arm, f64)> =
        arms.iter().filter_map(|arm| Some((*arm, mean_of(lookup, arm, &over, None)?))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut rows: Vec<Ranked<'a>> = Vec::new();
    let mut leader: Option<(usize, &Arm)> = None;
    for (i, (arm, _)) in order.into_iter().enumerate() {
        let place = match leader {
            Some((place, first)) if level(lookup, arm, first, &over) => place,
            _ => {
                leader = Some((i + 1, arm));
                i + 1
            }
        };
        let Some(all) = mean_kept(lookup, arm, &over) else { continue };
        rows.push(Ranked {
            arm,
            place,
            all,
            reads: mean_of(lookup, arm, &over, Some(&Operation::Read)).map(f64::exp),
            writes: mean_of(lookup, arm, &over, Some(&Operation::Write)).map(f64::exp),
        });
    }
    let any = !(rows.is_empty() && left_out.is_empty() && cached.is_empty() && failed.is_empty());
    any.then_some(Ranking { over, rows, left_out, cached, failed })
}

/// Whether the arm has an estimate in this workload, was not served from a cache, and has no other cause for a gain.
pub fn judged(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm) -> bool {
    lookup.cell(workload, arm).is_some_and(|c| !c.cached && c.kept.is_some())
        && lookup.doubt(workload, arm).is_none()
}

/// Whether this number is at least half of the workloads: a mean over fewer workloads is not representative.
pub fn is_most(over: &[&Workload], lookup: &Lookup<'_>) -> bool {
    2 * over.len() >= lookup.workloads().len()
}

/// Whether at least half of the workloads are decided for an arm.
pub fn is_mostly_decided(lookup: &Lookup<'_>, arm: &Arm) -> bool {
    let decided = |w: &&Workload| {
        lookup.cell(w, arm).and_then(|c| c.verdict.as_ref()).is_some_and(is_decided)
    };
    is_most(&lookup.workloads().iter().filter(decided).collect::<Vec<_>>(), lookup)
}

/// An arm's share of plain speed over these workloads, with its interval.
pub fn mean_kept(lookup: &Lookup<'_>, arm: &Arm, over: &[&Workload]) -> Option<Mean> {
    let mean = mean_of(lookup, arm, over, None)?;
    let spread = spread(lookup, arm, over);
    Some(Mean { ratio: mean.exp(), low: (mean - spread).exp(), high: (mean + spread).exp() })
}

/// Mean log share of plain speed over the workloads with this operation, or over all workloads.
fn mean_of(
    lookup: &Lookup<'_>,
    arm: &Arm,
    over: &[&Workload],
    operation: Option<&Operation>,
) -> Option<f64> {
    let logs: Vec<f64> = over
        .iter()
        .filter(|w| operation.is_none_or(|wanted| w.operation == *wanted))
        .filter_map(|w| Some(lookup.cell(w, arm)?.kept?.ratio.ln()))
        .collect();
    cryptbench_stats::mean(&logs)
}

/// Half-width of the mean's interval in log units: the half-widths of the workloads, which are independent, are added
/// in quadrature.
fn spread(lookup: &Lookup<'_>, arm: &Arm, over: &[&Workload]) -> f64 {
    let each = over.iter().filter_map(|w| {
        let kept = lookup.cell(w, arm)?.kept?;
        Some((kept.high / kept.low).ln() / 2.0)
    });
    quadrature(each, over.len())
}

/// Half-width of the interval of a mean of `n` values, each with its own interval.
pub fn quadrature(half_widths: impl Iterator<Item = f64>, n: usize) -> f64 {
    half_widths.map(|h| h * h).sum::<f64>().sqrt() / n.max(1) as f64
}

/// Whether two arms, compared block by block, show no difference in the mean over the workloads. With too few pairs,
/// no difference counts as shown.
pub fn level(lookup: &Lookup<'_>, arm: &Arm, other: &Arm, over: &[&Workload]) -> bool {
    between(lookup, arm, other, over).is_none_or(|mean| (mean.low..=mean.high).contains(&1.0))
}

/// The speed of `arm` relative to `other` as the mean over the workloads, compared block by block; `None` if either arm
/// has too few pairs.
pub fn between(lookup: &Lookup<'_>, arm: &Arm, other: &Arm, over: &[&Workload]) -> Option<Mean> {
    let confidence = lookup.record.plan.confidence;
    let all: Vec<Logs> = over
        .iter()
        .map(|w| {
            let d = lookup.trials.log_ratios(&w.id, &arm.id, &[&other.id]);
            let mean = d.iter().sum::<f64>() / d.len() as f64;
            Some(Logs { mean, half_width: half_width(&d, confidence)? })
        })
        .collect::<Option<_>>()?;
    if all.is_empty() {
        return None;
    }
    let mean = all.iter().map(|l| l.mean).sum::<f64>() / all.len() as f64;
    let spread = quadrature(all.iter().map(|l| l.half_width), all.len());
    Some(Mean { ratio: mean.exp(), low: (mean - spread).exp(), high: (mean + spread).exp() })
}
