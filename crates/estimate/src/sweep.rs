//! The extra time per request as a function of the block size, a + b · size, for each arm.

use cryptbench_record::{Arm, ArmRole, Workload};
use cryptbench_stats::cost_model::fit;
use cryptbench_stats::{CostModel, SizePoint};

use crate::arms::plain_arm;
use crate::lookup::{Lookup, mean};
use crate::series::{series_name, series_of};
use crate::soundness::is_unsound;

/// Minimum number of block sizes in a sweep: a line always fits two points.
const FEWEST_SIZES: usize = 4;

/// The line describes the measurements if its largest deviation at any size is at most this share, whatever the noise.
const WORST_DESCRIBED: f64 = 0.25;

/// Up to this value, the residuals may be due to noise: sum of squared standardised residuals per degree of freedom.
const MISFIT_DESCRIBED: f64 = 3.0;

/// One kind of work over several block sizes.
pub struct Sweep<'a> {
    /// Whether there are also sweeps over files of other sizes, so that the file size must be stated.
    pub file_is_told: bool,
    /// The workloads, from the smallest block size to the largest.
    pub workloads: Vec<&'a Workload>,
}

/// The time that encryption adds to the requests of a sweep.
pub struct Added<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// Seconds per request and per byte.
    pub model: CostModel,
    /// Whether the line describes the measurements.
    pub describes: bool,
    /// The values for the smallest and the largest size that could be compared.
    pub ends: [End; 2],
}

/// One end of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Bytes per request.
    pub bytes: u64,
    /// Seconds between completions of plain requests.
    pub plain_s: f64,
    /// Mean extra seconds of the arm, as measured.
    pub extra_s: f64,
}

/// The arm to describe, if there are several arms: the arm that adds the most time to the smallest requests.
pub fn most_added<'b, 'a: 'b>(
    arms: impl IntoIterator<Item = &'b Added<'a>>,
) -> Option<&'b Added<'a>> {
    arms.into_iter().max_by(|a, b| a.ends[0].extra_s.total_cmp(&b.ends[0].extra_s))
}

/// The sweeps in a record, with those that have the most block sizes first.
pub fn sweeps<'a>(lookup: &Lookup<'a>) -> Vec<Sweep<'a>> {
    let mut found: Vec<Sweep<'a>> = Vec::new();
    for workload in lookup.workloads() {
        if !workload.is_of_requests() || workload.block_size == 0 {
            continue;
        }
        match found.iter_mut().find(|s| is_same_work(s.workloads[0], workload)) {
            Some(sweep) => sweep.workloads.push(workload),
            None => found.push(Sweep { file_is_told: false, workloads: vec![workload] }),
        }
    }
    for sweep in &mut found {
        sweep.workloads.sort_by_key(|w| w.block_size);
        sweep.workloads.dedup_by_key(|w| w.block_size);
    }
    found.retain(|sweep| sweep.workloads.len() >= FEWEST_SIZES);
    found.sort_by_key(|sweep| std::cmp::Reverse(sweep.workloads.len()));
    let file = |sweep: &Sweep<'_>| sweep.workloads[0].file_bytes;
    let told = found.iter().any(|sweep| file(sweep) != file(&found[0]));
    found.iter_mut().for_each(|sweep| sweep.file_is_told = told);
    found
}

/// Whether two workloads differ only in the block size and in the numbers in their labels or identifiers.
fn is_same_work(a: &Workload, b: &Workload) -> bool {
    a.operation == b.operation
        && a.pattern == b.pattern
        && a.queue_depth == b.queue_depth
        && a.threads == b.threads
        && a.read_percent == b.read_percent
        && a.flush == b.flush
        && a.content == b.content
        && a.fresh_file == b.fresh_file
        && a.warm_cache == b.warm_cache
        && a.stdio == b.stdio
        && a.file_bytes == b.file_bytes
        && (series_name(&a.label) == series_name(&b.label) || series_of(&a.id) == series_of(&b.id))
}

impl<'a> Sweep<'a> {
    /// The additional cost of each arm except plain, if the arm was compared with plain in enough sizes. Arms that
    /// failed a check are omitted.
    pub fn added(&self, lookup: &Lookup<'a>) -> Vec<Added<'a>> {
        let wanted = |arm: &&Arm| {
            matches!(arm.role, ArmRole::Encrypted | ArmRole::NullLayer)
                && !is_unsound(lookup.record, arm)
        };
        lookup.arms().iter().filter(wanted).filter_map(|arm| self.of_arm(lookup, arm)).collect()
    }

    fn of_arm(&self, lookup: &Lookup<'a>, arm: &'a Arm) -> Option<Added<'a>> {
        let plain = plain_arm(lookup.record)?;
        let mut points = Vec::new();
        let mut ends = Vec::new();
        for workload in &self.workloads {
            let cached = |arm| lookup.cell(workload, arm).is_none_or(|c| c.cached);
            if cached(arm) || cached(plain) {
                continue;
            }
            let seconds = |t: &cryptbench_record::Trial| 1.0 / t.iops();
            let arms: [&[&str]; 2] = [&lookup.record.plan.baseline(arm), &[&arm.id]];
            let times = lookup.trials.matched(&workload.id, &arms, seconds, mean);
            let [before, after] = &times[..] else { continue };
            let Some(point) = SizePoint::of(workload.block_size as f64, before, after) else {
                continue;
            };
            points.push(point);
            ends.push(End {
                bytes: workload.block_size,
                plain_s: before.iter().sum::<f64>() / before.len() as f64,
                extra_s: point.extra_s,
            });
        }
        if points.len() < FEWEST_SIZES {
            return None;
        }
        let model = fit(&points, lookup.record.plan.confidence)?;
        let describes = model.worst.0 <= WORST_DESCRIBED || model.misfit <= MISFIT_DESCRIBED;
        Some(Added { arm, model, describes, ends: [*ends.first()?, *ends.last()?] })
    }
}
