//! Splits a block into slices, and orders the turns of its arms.

use std::collections::VecDeque;
use std::time::Duration;

use cryptbench_record::{Plan, Workload};
use cryptbench_stats::slice_order;

use crate::decide::limits::LEAST_SLICES;

/// Minimum length of a slice, in queues of requests: the first queue is not counted, and the last one drains.
const LEAST_QUEUES: f64 = 4.0;

/// Number of queues in a slice unless that takes longer than [`LONGEST_FOR_QUEUES_S`]: of eight queues, six are
/// counted.
const ENOUGH_QUEUES: f64 = 8.0;

/// Seconds above which a slice is not extended for [`ENOUGH_QUEUES`].
const LONGEST_FOR_QUEUES_S: f64 = 0.025;

/// Number of requests in a slice unless that takes longer than [`LONG_S`]: the first requests run with cold caches.
const FEW_REQUESTS: f64 = 24.0;

/// Seconds above which a slice is not extended for [`FEW_REQUESTS`]: large requests vary little between slices
/// of this length.
const LONG_S: f64 = 0.015;

/// Number of trials whose median is the speed of an arm.
const LATEST: usize = 9;

/// How to slice the blocks of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slicing {
    /// Length of each slice.
    length: Duration,
    /// Slices of each arm per block.
    rounds: u32,
}

/// The interleaved arms of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Turns {
    /// Plan indices of the arms; plain is the first.
    pub arms: Vec<usize>,
    /// The order of turns, as positions in `arms`, slice by slice.
    pub order: Vec<usize>,
    /// Length of a slice.
    pub length: Duration,
}

/// The speed of an arm in its latest trials.
#[derive(Clone, Debug, Default)]
pub(super) struct Speed {
    /// Requests per second, the latest last.
    latest: VecDeque<f64>,
}

impl Speed {
    /// Records the rate of a trial.
    pub(super) fn enter(&mut self, rate: f64) {
        if self.latest.len() == LATEST {
            self.latest.pop_front();
        }
        self.latest.push_back(rate);
    }

    /// The median of the latest rates; infinite if there are none.
    pub(super) fn usual(&self) -> f64 {
        let mut sorted: Vec<f64> = self.latest.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::INFINITY)
    }
}

/// How to slice the blocks of `workload` if the slowest interleaved arm completes `slowest` requests per
/// second. `None` if the plan does not slice them.
///
/// # Errors
/// The reason, in words, why they are not sliced although the plan requires it.
pub(super) fn slicing(
    plan: &Plan,
    workload: &Workload,
    slowest: f64,
) -> Result<Option<Slicing>, String> {
    let (Some(least), None) = (plan.slice_s, &workload.unsliced) else { return Ok(None) };
    // Either no arm can be interleaved, or an arm has completed no request.
    if !slowest.is_normal() {
        return Ok(None);
    }
    let queue = f64::from(workload.in_flight()) / slowest;
    let length = least
        .max(LEAST_QUEUES * queue)
        .max((ENOUGH_QUEUES * queue).min(LONGEST_FOR_QUEUES_S))
        .max((FEW_REQUESTS / slowest).min(LONG_S));
    let rounds = (plan.trial_s / length).round();
    if rounds < f64::from(LEAST_SLICES) {
        let requests = LEAST_QUEUES as u64 * u64::from(workload.in_flight());
        return Err(format!(
            "its trials are not split into slices, because the {requests} requests that a slice needs take {:.0} ms",
            length * 1e3
        ));
    }
    Ok(Some(Slicing { length: Duration::from_secs_f64(length), rounds: rounds as u32 }))
}

impl Slicing {
    /// The turns of a block.
    pub(super) fn turns(self, seed: u64, workload: u64, block: u32, arms: Vec<usize>) -> Turns {
        let order = slice_order(seed, workload, block, arms.len(), self.rounds as usize);
        Turns { order, length: self.length, arms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan { slice_s: Some(0.005), trial_s: 0.12, ..Plan::default() }
    }

    fn workload(queue_depth: u32) -> Workload {
        Workload { queue_depth, ..Workload::default() }
    }

    #[test]
    fn a_slice_holds_enough_requests_of_the_slowest_arm() {
        let cut = |depth, rate| slicing(&plan(), &workload(depth), rate);
        let slicing = |ms, rounds| Some(Slicing { length: Duration::from_millis(ms), rounds });
        assert_eq!(cut(1, 10_000.0), Ok(slicing(5, 24)));
        assert_eq!(cut(1, 3000.0), Ok(slicing(8, 15)), "24 requests");
        assert_eq!(cut(1, 500.0), Ok(slicing(16, 8)), "no longer for 24 requests");
        assert_eq!(cut(32, 16_000.0), Ok(slicing(16, 8)), "eight queues");
        assert_eq!(cut(8, 1600.0), Ok(slicing(25, 5)), "no longer for eight queues");
        assert_eq!(cut(8, 800.0), Ok(slicing(40, 3)), "four queues");
        assert_eq!(cut(8, 640.0), Ok(slicing(50, 2)));
        insta::assert_snapshot!(cut(32, 640.0).unwrap_err(), @"its trials are not split into slices, because the 128 requests that a slice needs take 200 ms");
        assert_eq!(cut(8, f64::INFINITY), Ok(None), "no arm takes turns");
    }

    #[test]
    fn what_the_plan_leaves_whole_stays_whole() {
        let whole = Workload { unsliced: Some("paced".to_owned()), ..workload(1) };
        assert_eq!(slicing(&plan(), &whole, 1e4), Ok(None));
        let plan = Plan { slice_s: None, ..plan() };
        assert_eq!(slicing(&plan, &workload(1), 1e4), Ok(None));
    }

    #[test]
    fn one_stall_does_not_make_an_arm_slow() {
        let mut speed = Speed::default();
        assert_eq!(speed.usual(), f64::INFINITY);
        speed.enter(1.0);
        assert_eq!(speed.usual(), 1.0);
        for rate in [100.0, 101.0, 3.0, 99.0, 100.0] {
            speed.enter(rate);
        }
        assert_eq!(speed.usual(), 100.0);
        (0..LATEST).for_each(|_| speed.enter(7.0));
        assert_eq!(speed.usual(), 7.0, "old rates are forgotten");
    }

    #[test]
    fn every_arm_has_all_its_turns() {
        let slicing = Slicing { length: Duration::from_millis(15), rounds: 8 };
        let turns = |block| slicing.turns(1, 2, block, vec![0, 1, 3, 4, 5]);
        for arm in 0..5 {
            assert_eq!(turns(3).order.iter().filter(|&&turn| turn == arm).count(), 8);
        }
        assert_eq!(turns(3), turns(3));
        assert_ne!(turns(3).order, turns(4).order);
    }
}
