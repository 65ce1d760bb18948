//! Differences with possible causes other than encryption: other programs, or a cache that cannot be detected.
//!
//! Pairing removes effects that both trials of a pair share. Pairing does not remove a burst of other work that lasts
//! as long as the run and has a greater effect on one trial of every pair. Such pairs agree with each other, so their
//! interval is narrow but wrong. Therefore the undisturbed pairs decide what may be claimed.

use std::collections::HashSet;

use cryptbench_record::{Arm, ArmRole, Record, Target, Trial, Uncounted, log_ratios};
use cryptbench_stats::{FAMILY_LEVEL, estimate};

use crate::disturbance::is_disturbed;
use crate::lookup::Trials;

/// Why a gain is not attributed to an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Other programs disturbed the arm's pairs, and the undisturbed pairs show no gain.
    Disturbed,
    /// A cache below the arm could not be detected.
    Uncounted,
}

/// One comparison: an arm and its baseline in one workload.
pub(crate) struct Compared<'a> {
    pub(crate) record: &'a Record,
    pub(crate) trials: &'a Trials<'a>,
    pub(crate) workload: &'a str,
    pub(crate) arm: &'a str,
    pub(crate) baseline: &'a [&'a str],
}

impl Compared<'_> {
    /// Whether a difference of this mean may be claimed.
    ///
    /// A gain over plain storage must be shown by undisturbed pairs, because encryption does not make anything faster.
    /// Any other difference is kept unless the undisturbed pairs exclude it: on busy CPUs, encryption does cost more.
    /// In a comparison of two systems, either may be faster, so it does not matter which of them is the baseline.
    pub(crate) fn may_be_claimed(&self, mean: f64) -> bool {
        let is_gain = mean > 0.0;
        if self.is_beside_plain() {
            if is_gain {
                return self.doubt().is_none();
            }
        } else if self.hides_caches(if is_gain { self.arm } else { self.baseline[0] }) {
            return false;
        }
        let quiet = self.undisturbed().and_then(|d| estimate(&d, self.record.plan.confidence));
        quiet.is_none_or(|quiet| if is_gain { mean <= quiet.high } else { quiet.low <= mean })
    }

    /// Whether the arm is compared with plain storage.
    fn is_beside_plain(&self) -> bool {
        let is_plain = |arm: &Arm| matches!(arm.role, ArmRole::Plain | ArmRole::PlainAgain);
        let mut arms = self.record.plan.arms.iter();
        arms.any(|arm| is_plain(arm) && self.baseline.contains(&arm.id.as_str()))
    }

    fn hides_caches(&self, arm: &str) -> bool {
        let is = |a: &Arm| a.id == arm && hides_caches(&self.record.target, a);
        self.record.plan.arms.iter().any(is)
    }

    /// Why a gain is not attributed to the arm; `None` if nothing contradicts the gain.
    pub(crate) fn doubt(&self) -> Option<Doubt> {
        match () {
            () if self.hides_caches(self.arm) => Some(Doubt::Uncounted),
            () if self.record.disk_disturbed(self.workload, self.arm).is_some() => {
                Some(Doubt::Disturbed)
            }
            () if !self.gains_undisturbed() => Some(Doubt::Disturbed),
            () => None,
        }
    }

    /// Whether the undisturbed pairs show a gain.
    fn gains_undisturbed(&self) -> bool {
        self.undisturbed().is_none_or(|d| {
            estimate(&d, self.record.plan.confidence)
                .is_some_and(|found| found.mean > 0.0 && found.p_value < FAMILY_LEVEL)
        })
    }

    /// The differences of the undisturbed pairs; `None` if there are no disturbed pairs.
    fn undisturbed(&self) -> Option<Vec<f64>> {
        let is_of = |t: &&Trial| t.arm == self.arm || self.baseline.contains(&t.arm.as_str());
        let all = || self.trials.of_workload(self.workload).filter(is_of);
        let disturbed: HashSet<u32> =
            all().filter(|t| is_disturbed(self.record, t)).filter_map(|t| t.block).collect();
        if disturbed.is_empty() {
            return None;
        }
        let trials: Vec<&Trial> =
            all().filter(|t| t.block.is_some_and(|block| !disturbed.contains(&block))).collect();
        Some(log_ratios(trials.iter().copied(), self.workload, self.arm, self.baseline))
    }
}

/// Whether a cache below an arm would not be detected: the disk of its target has no counters, or a program with its
/// own cache, such as ntfs-3g, serves the file system.
pub fn hides_caches(target: &Target, arm: &Arm) -> bool {
    let (filesystem, uncounted) = match target.places().find(|place| place.arm == arm.id) {
        Some(place) => (&place.filesystem, &place.uncounted),
        None => (&target.filesystem, &target.uncounted),
    };
    // With `Uncounted::Memory`, memory itself is the measured storage, not a cache.
    let is_unknown = uncounted.as_ref().is_some_and(|why| *why != Uncounted::Memory);
    is_unknown || filesystem == "fuseblk"
}
