//! When to stop adding blocks: on precision, never on p.
//!
//! A rule that looks at p stops on lucky streaks and so finds costs that are not there. This one
//! looks only at the width of the intervals, and asks the same width of quiet and of noisy storage:
//! what two trials of plain storage differ by says nothing of how well a mean is known. It still has
//! a known weakness: the half-width is small when the standard deviation happens to be
//! *under*estimated, so stopping at the first narrow interval (Chow & Robbins 1965, Ann. Math. Statist.
//! 36:457) stops with intervals that are too narrow. Two things are done about it, each kept because
//! simulation showed what it buys; the numbers are in `docs/methodology.md` and printed by
//! `cargo run --release -p cryptbench-stats --example coverage`:
//!
//! - the target must be met for [`StoppingRule::CONFIRMATIONS`] blocks in a row (a few pairs more
//!   than the first narrow interval undo most of the selection: Simons 1968, Ann. Math. Statist. 39:1946);
//! - an arm whose half-width at `min_pairs` was at most [`StoppingRule::CLEAR`] of the target needs no
//!   confirmation: a standard deviation that clears it by that much rarely does so by luck, and
//!   quiet storage should not pay for the doubt.
//!
//! At the worst of seven simulated noise levels, with independent noise and plain and one encrypted arm,
//! the first narrow interval from 3 pairs on holds the truth in 90.2 % of runs, from 6 pairs on in
//! 92.0 %, and under this rule in 93.1 %; `min_pairs` 5 would make that 93.0 %, 8 would make it 93.2 %.
//! The lowest under any of seven disturbances is 92.8 % (autocorrelated noise). With a second plain
//! arm, which must be precise as well, it is 93.7 %. Standard error of each: 0.4 points.

use crate::paired::{FEWEST_PAIRS, Spread, half_width, pairs_needed};

/// How precise the intervals of one workload must be, and how many blocks that may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoppingRule {
    /// Fewest pairs before it may stop on precision. 6 is recommended: the first number that has a
    /// 95 % signed-rank interval, and what the simulated coverage is stated for.
    pub min_pairs: u32,
    /// Most pairs.
    pub max_pairs: u32,
    /// Wanted half-width of the interval as a fraction of plain speed, such as 0.03; compared in log
    /// units as ln(1 + target).
    pub target: f64,
    /// Confidence of the interval, such as 0.95.
    pub confidence: f64,
}

/// What to do after a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Go on. Ask again after every block; `more` only forecasts how many are still to come, from
    /// the spread so far, and never points beyond `max_pairs`.
    Continue {
        /// Forecast of the blocks still needed, at least 1.
        more: u32,
    },
    /// Every arm is precise enough.
    Precision,
    /// `max_pairs` blocks have run, and some arm is still not precise enough.
    PairCap,
}

impl Default for StoppingRule {
    /// 6 to 200 pairs, 3 % at 95 % confidence: the rule whose coverage `docs/methodology.md` states.
    fn default() -> Self {
        Self { min_pairs: 6, max_pairs: 200, target: 0.03, confidence: 0.95 }
    }
}

impl StoppingRule {
    /// Blocks in a row for which the half-width must be within the target.
    pub const CONFIRMATIONS: usize = 4;

    /// Share of the target: with a half-width within it at `min_pairs`, an arm needs no confirmation.
    pub const CLEAR: f64 = 0.6;

    /// Decides from the d = ln(E/P) of each arm but the baseline, each in block order.
    ///
    /// It keeps no state: the same data give the same answer, so a stored run can be replayed. An
    /// arm with fewer d than others (a failed trial) holds the decision up until the cap, which counts
    /// the longest arm. Without any arm there is nothing to be precise about: `Precision`.
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

    /// The half-width to reach, log units: ln(1 + target).
    pub fn limit(&self) -> f64 {
        self.target.ln_1p()
    }

    /// Whether the half-width is within the target, and not by luck (see the module).
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

    /// Forecast of the pairs that an arm still lacks.
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
