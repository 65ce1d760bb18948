//! The number of repeats that decides an undecided cell.

use cryptbench_record::{Arm, Verdict, Workload};
use cryptbench_stats::{FAMILY_LEVEL, estimate, pairs_needed, smallest_detectable};

use crate::lookup::Lookup;
use crate::verdict::{HOPELESS_PERCENT, TELLING_MARGIN_PERCENT};

/// The number of repeats that ran, and the approximate number of repeats that would decide the cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// Repeats that ran.
    pub ran: u32,
    /// Number of repeats that would decide the cell; `u32::MAX` if no number of repeats would.
    pub need: u32,
}

impl Need {
    /// Ratio of the number of repeats needed to the number of repeats that ran.
    pub fn factor(self) -> f64 {
        f64::from(self.need) / f64::from(self.ran.max(1))
    }
}

/// The number of repeats that an undecided cell needs; `None` if the cell is decided.
pub fn repeats(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm) -> Option<Need> {
    let cell = lookup.cell(workload, arm)?;
    let ran = cell.kept?.pairs;
    match cell.verdict {
        Some(Verdict::Inconclusive { more_pairs }) => Some(Need { ran, need: more_pairs }),
        Some(Verdict::LikelyCosts { .. } | Verdict::LikelyGains { .. }) => {
            let d = lookup.against_plain(workload, arm);
            let found = estimate(&d, lookup.record.plan.confidence)?;
            let tests = lookup.workloads().len();
            Some(Need { ran, need: to_claim(found.mean.abs(), found.sd, tests, ran) })
        }
        Some(Verdict::WithinNoise { noise_percent }) if noise_percent > HOPELESS_PERCENT => {
            let d = lookup.against_plain(workload, arm);
            let confidence = lookup.record.plan.confidence;
            let sd = estimate(&d, confidence)?.sd;
            let precision = (TELLING_MARGIN_PERCENT / 100.0).ln_1p();
            Some(Need { ran, need: pairs_needed(sd, precision, confidence).max(ran + 1) })
        }
        _ => None,
    }
}

/// The minimum number of repeats with which a difference of `mean` can be claimed, given the spread so far.
fn to_claim(mean: f64, sd: f64, tests: usize, ran: u32) -> u32 {
    const MOST: u32 = 1 << 20;
    let enough = |n: u32| smallest_detectable(sd, n as usize, tests, FAMILY_LEVEL) < mean;
    let mut n = ran.saturating_add(1).max(3);
    while n < MOST && !enough(n) {
        n += n.div_ceil(8);
    }
    if n >= MOST { u32::MAX } else { n }
}

/// The number of repeats that would distinguish two arms whose mean difference has an interval of ±`half_width`.
pub fn to_part(mean: f64, half_width: f64, ran: u32) -> Need {
    let factor = (half_width / mean).powi(2);
    let need = f64::from(ran) * factor;
    let need = if need.is_finite() && need < 1e6 { need.ceil() as u32 } else { u32::MAX };
    Need { ran, need: need.max(ran.saturating_add(1)) }
}

/// A forecast has at most two significant figures.
pub fn rounded(need: u32) -> u32 {
    let unit = 10u32.pow(need.max(1).ilog10().saturating_sub(1));
    need.div_ceil(unit).saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_spread_takes_more_repeats() {
        let few = to_claim(0.2, 0.1, 8, 6);
        let more = to_claim(0.1, 0.1, 8, 6);
        assert!(few < more && more < 100, "{few} {more}");
        assert!(smallest_detectable(0.1, more as usize, 8, FAMILY_LEVEL) < 0.1);
        assert_eq!(to_claim(0.0, 0.1, 8, 6), u32::MAX);
        assert_eq!(to_part(0.1, 0.2, 5), Need { ran: 5, need: 20 });
        assert_eq!(to_part(0.0, 0.2, 5).need, u32::MAX);
    }
}
