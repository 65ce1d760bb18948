//! A disk with a limit on requests or bytes per second, as in clouds: detected from plain storage only.

use cryptbench_record::{Operation, Trial, Workload};
use cryptbench_stats::median;

use crate::arms::plain_arm;
use crate::class::Class;
use crate::lookup::Lookup;

/// Maximum difference between limited rates and between their trials, as a fraction. Disks without a limit have
/// different rates for reads and writes, and their rates vary more.
const ALIKE: f64 = 0.02;

/// At this queue depth or more, a disk without a limit serves small reads and small writes at different rates.
const DEEP: u32 = 8;

/// An increase of the queue depth by this factor speeds up large requests, unless their rate is limited.
const DEEPER: u32 = 4;

/// Minimum number of trials needed to judge the variation of a rate.
const FEWEST_TRIALS: usize = 3;

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Requests per second.
    Requests(f64),
    /// Bytes per second.
    Bytes(f64),
}

/// Whether plain storage was rate-limited, which hides the cost of encryption.
pub fn is_rate_limited(lookup: &Lookup<'_>) -> bool {
    !limits(lookup).is_empty()
}

/// The limits that the plain trials show; none for an emulated device, which follows its model.
pub fn limits(lookup: &Lookup<'_>) -> Vec<Limit> {
    let target = &lookup.record.target;
    if target.emulated.is_some() {
        return Vec::new();
    }
    let small = |w: &&Workload| Class::of(w) == Class::Small && w.in_flight() >= DEEP;
    let requests = common(lookup, &small, &Trial::iops).map(Limit::Requests);
    // A hard disk without a limit has the same rate for sequential reads and writes, whatever the queue depth.
    let rotates = target.device.as_ref().is_none_or(|device| device.rotational);
    let large = |w: &&Workload| Class::of(w) == Class::Large;
    let depths = || lookup.workloads().iter().filter(large).map(Workload::in_flight);
    let deeper =
        depths().max().unwrap_or(0) >= DEEPER * depths().min().unwrap_or(u32::MAX / DEEPER);
    let bytes = (deeper && !rotates)
        .then(|| common(lookup, &large, &Trial::bandwidth))
        .flatten()
        .map(Limit::Bytes);
    requests.into_iter().chain(bytes).collect()
}

/// The rate of plain storage, if it is the same in all of these workloads, for reads and for writes, and does not vary.
fn common(
    lookup: &Lookup<'_>,
    which: &dyn Fn(&&Workload) -> bool,
    rate: &dyn Fn(&Trial) -> f64,
) -> Option<f64> {
    let plain = plain_arm(lookup.record)?;
    let members: Vec<&Workload> =
        lookup.workloads().iter().filter(|w| w.is_of_requests()).filter(which).collect();
    let does = |operation: Operation| members.iter().any(|w| w.operation == operation);
    if !does(Operation::Read) || !does(Operation::Write) {
        return None;
    }
    let rates: Vec<f64> = members
        .iter()
        .map(|w| {
            let cell = lookup.cell(w, plain).filter(|cell| !cell.cached)?;
            let trials = lookup.trials.of_cell(&cell.workload, &plain.id);
            steady(&trials.into_iter().map(rate).collect::<Vec<_>>())
        })
        .collect::<Option<_>>()?;
    let (low, high) = (
        rates.iter().copied().fold(f64::INFINITY, f64::min),
        rates.iter().copied().fold(0.0, f64::max),
    );
    (high <= low * (1.0 + ALIKE)).then(|| median(&rates)).flatten()
}

/// The median of the rates, if these vary little.
fn steady(rates: &[f64]) -> Option<f64> {
    let middle = median(rates).filter(|_| rates.len() >= FEWEST_TRIALS)?;
    let off = median(&rates.iter().map(|rate| (rate - middle).abs()).collect::<Vec<_>>())?;
    (off <= ALIKE * middle).then_some(middle)
}
