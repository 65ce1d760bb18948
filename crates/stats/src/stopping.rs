//! Decides when to stop adding blocks: by precision, never by p-values.
//!
//! A rule based on p stops on lucky streaks and so finds costs that do not exist. This rule looks
//! only at the width of the intervals. It requires the same width on quiet and on noisy storage,
//! because the difference between two plain trials does not show how precisely a mean is known. One
//! known weakness remains: the half-width is small if the standard deviation happens to be
//! *under*estimated, so a rule that stops at the first narrow interval (Chow & Robbins 1965, Ann.
//! Math. Statist. 36:457) stops with intervals that are too narrow. Two measures counter this.
//! Simulation showed the benefit of each; `docs/methodology.md` has the numbers, and `cargo run
//! --release -p cryptbench-stats --example coverage` prints them:
//!
//! - the target must be met for [`StoppingRule::CONFIRMATIONS`] blocks in a row (a few pairs more
//!   than the first narrow interval undo most of the selection: Simons 1968, Ann. Math. Statist.
//!   39:1946);
//! - an arm whose half-width at `min_pairs` was at most [`StoppingRule::CLEAR`] of the target needs
//!   no confirmation: a standard deviation this far below the limit is rarely luck, and quiet
//!   storage should not pay for the doubt.
//!
//! The following figures are for the worst of seven simulated noise levels, with independent noise, plain and one
//! encrypted arm. The first narrow interval from 3 pairs on contains the true value in 90.2 % of runs, from 6 pairs on
//! in 92.0 %, and under this rule in 93.1 %. A `min_pairs` of 5 would give 93.0 %, and 8 would give 93.2 %. The lowest
//! coverage under any of seven noise models is 92.8 % (autocorrelated noise). With a second plain arm, which must be
//! precise as well, the coverage is 93.7 %. The standard error of each figure is 0.4 percentage points.

use crate::paired::{FEWEST_PAIRS, Spread, half_width, pairs_needed};

/// The required precision of the intervals of one workload, and the largest number of blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoppingRule {
    /// Fewest pairs before the workload may stop on precision. 6 is recommended: it is the smallest number with a 95 %
    /// signed-rank interval, and the simulated coverage applies to this number.
    pub min_pairs: u32,
    /// Maximum number of pairs.
    pub max_pairs: u32,
    /// Target half-width of the interval as a fraction of plain speed, such as 0.03; it is compared
    /// in log units as ln(1 + target).
    pub target: f64,
    /// Confidence of the interval, such as 0.95.
    pub confidence: f64,
}

/// The decision after a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Continue. Ask again after every block: `more` is only a forecast based on the spread so far, and never
    /// exceeds `max_pairs`.
    Continue {
        /// Forecast of the blocks still needed, at least 1.
        more: u32,
    },
    /// Every arm is precise enough.
    Precision,
    /// `max_pairs` blocks have run, but some arm is not precise enough.
    PairCap,
}

impl Default for StoppingRule {
    /// 6 to 200 pairs, 3 % at 95 % confidence: `docs/methodology.md` states the coverage of this
    /// rule.
    fn default() -> Self {
        Self { min_pairs: 6, max_pairs: 200, target: 0.03, confidence: 0.95 }
    }
}

impl StoppingRule {
    /// Number of consecutive blocks in which the half-width must be within the target.
    pub const CONFIRMATIONS: usize = 4;

    /// Fraction of the target: an arm whose half-width is within it at `min_pairs` needs no
    /// confirmation.
    pub const CLEAR: f64 = 0.6;

    /// Decides from the d = ln(E/P) of each arm except the baseline, each in block order.
    ///
    /// The rule keeps no state: the same data give the same answer, so a stored run can be
    /// replayed. An arm with fewer d than others (a failed trial) delays the decision until the
    /// cap, which counts the longest arm. Without arms the answer is `Precision`.
    pub fn decide(&self, arms: &[Vec<f64>]) -> Decision {
        if self.precise(arms) {
            return Decision::Precision;
        }
        let blocks = arms.iter().map(Vec::len).max().unwrap_or(0);
        let left = (self.max_pairs as usize).saturating_sub(blocks);
        if left == 0 {
            return Decision::PairCap;
        }
        let wanted = arms.iter().map(|d| self.more(d)).max().unwrap_or(1);
        Decision::Continue { more: wanted.clamp(1, left) as u32 }
    }

    /// Whether every arm is precise enough to stop: [`decide`](Self::decide) without the cap.
    pub fn precise(&self, arms: &[Vec<f64>]) -> bool {
        arms.iter().all(|d| d.len() >= self.first_look() && self.on_target(d))
    }

    /// The half-width to reach, in log units: ln(1 + target).
    pub fn limit(&self) -> f64 {
        self.target.ln_1p()
    }

    /// Whether the half-width is within the target, and not by luck (see the module documentation).
    fn on_target(&self, d: &[f64]) -> bool {
        let (target, first) = (self.limit(), self.first_look());
        let confirmed = || {
            let earliest = (d.len() + 1).saturating_sub(Self::CONFIRMATIONS);
            earliest >= first && (earliest..d.len()).all(|pairs| self.within(&d[..pairs], target))
        };
        self.within(d, target) && (self.within(&d[..first], Self::CLEAR * target) || confirmed())
    }

    fn within(&self, d: &[f64], limit: f64) -> bool {
        half_width(d, self.confidence).is_some_and(|found| found <= limit)
    }

    /// Forecast of the number of pairs that an arm still needs.
    fn more(&self, d: &[f64]) -> usize {
        let first = self.first_look();
        let Some(spread) = Spread::of(d) else {
            return first.saturating_sub(d.len());
        };
        let needed = pairs_needed(spread.sd, self.limit(), self.confidence) as usize;
        needed.max(first).saturating_sub(d.len())
    }

    fn first_look(&self) -> usize {
        (self.min_pairs as usize).max(FEWEST_PAIRS)
    }
}
