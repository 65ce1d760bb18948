//! How many repeats decide what is undecided, and how long a run takes them.

use std::path::Path;

use cryptbench_catalog::{BUILTIN, Encrypts, encrypts};
use cryptbench_record::{Arm, ArmRole, BUILTIN_ONLY, Plan, Record, Verdict, Workload};
use cryptbench_stats::{FAMILY_LEVEL, estimate, pairs_needed, smallest_detectable};
use cryptbench_text::{quoted, quoted_path};

use crate::lookup::Lookup;
use crate::wording::{HOPELESS_PERCENT, TELLING_MARGIN_PERCENT};

/// Longest budget that is suggested, seconds, unless the run itself took a good part of it.
const LONGEST_S: f64 = 3600.0;

/// So many times as long as it took is not too long.
const NOT_TOO_LONG: f64 = 3.0;

/// Budgets that people type, seconds.
const BUDGETS: [(f64, &str); 12] = [
    (120.0, "2m"),
    (180.0, "3m"),
    (300.0, "5m"),
    (600.0, "10m"),
    (900.0, "15m"),
    (1200.0, "20m"),
    (1800.0, "30m"),
    (2700.0, "45m"),
    (LONGEST_S, "1h"),
    (2.0 * LONGEST_S, "2h"),
    (4.0 * LONGEST_S, "4h"),
    (12.0 * LONGEST_S, "12h"),
];

/// More systems than this are not named in a command.
const MOST_SYSTEMS: usize = 4;

/// Repeats that ran, and about how many decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Need {
    pub(super) ran: u32,
    pub(super) need: u32,
}

impl Need {
    fn factor(self) -> f64 {
        f64::from(self.need) / f64::from(self.ran.max(1))
    }
}

/// The repeats that an undecided cell needs; nothing where it is decided.
pub(super) fn repeats(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm) -> Option<Need> {
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

/// Repeats from which on a difference of `mean` can be claimed at the spread seen so far.
fn to_claim(mean: f64, sd: f64, tests: usize, ran: u32) -> u32 {
    const MOST: u32 = 1 << 20;
    let enough = |n: u32| smallest_detectable(sd, n as usize, tests, FAMILY_LEVEL) < mean;
    let mut n = ran.saturating_add(1).max(3);
    while n < MOST && !enough(n) {
        n += n.div_ceil(8);
    }
    if n >= MOST { u32::MAX } else { n }
}

/// Repeats that tell two arms apart whose difference of `mean` has an interval of `half_width` on either side.
pub(super) fn to_part(mean: f64, half_width: f64, ran: u32) -> Need {
    let factor = (half_width / mean).powi(2);
    let need = f64::from(ran) * factor;
    let need = if need.is_finite() && need < 1e6 { need.ceil() as u32 } else { u32::MAX };
    Need { ran, need: need.max(ran.saturating_add(1)) }
}

/// What follows `cryptbench run` for the repeats that are needed: a longer budget, or more trials where their number is
/// fixed. Nothing where an hour is not enough, or nothing is needed.
pub(super) fn options(record: &Record, needs: &[Need]) -> Option<String> {
    let most = needs.iter().copied().max_by(|a, b| a.factor().total_cmp(&b.factor()))?;
    let plan = &record.plan;
    let measuring: f64 = record.trials.iter().map(|t| t.measured.elapsed_s).sum();
    let setup = (record.elapsed_s - measuring * 1.3).max(0.0);
    let wanted = setup + (record.elapsed_s - setup).max(1.0) * most.factor();
    if wanted > LONGEST_S.max(NOT_TOO_LONG * record.elapsed_s) {
        return None;
    }
    if plan.fixed_trials().is_some() {
        return Some(format!("--trials {}", rounded(most.need)));
    }
    // Never less than what was not enough.
    let wanted = wanted.max(plan.budget_s * 1.01);
    let (_, words) = BUDGETS.iter().find(|(seconds, _)| *seconds >= wanted)?;
    let pairs = match most.need > plan.max_pairs {
        true => format!(" --max-pairs {}", rounded(most.need)),
        false => String::new(),
    };
    Some(format!("--budget {words}{pairs}"))
}

/// A forecast has no more than two figures.
pub(super) fn rounded(need: u32) -> u32 {
    let unit = 10u32.pow(need.max(1).ilog10().saturating_sub(1));
    need.div_ceil(unit).saturating_mul(unit)
}

/// `cryptbench run` as this run was asked for, typed in `here`, of the arms that are named or of all; nothing where a
/// command could not say it, or would overwrite something.
pub(super) fn command(
    record: &Record,
    here: Option<&Path>,
    arms: &[&Arm],
    options: &str,
) -> Option<String> {
    let target = &record.target;
    // The device in use is all that such a run measures.
    if let Some(place) = target.places().find(|place| place.in_use.is_some()) {
        let device = quoted_path(place.directory.as_ref());
        return Some(format!("sudo cryptbench run --existing {device} {options}"));
    }
    let is_directory = target.kind.as_deref().is_none_or(|kind| kind == "directory");
    // Where a profile's file lies is not known, nor what a place of the user's stands for.
    if !is_directory || target.paired.is_some() || record.plan.profile != "quick" {
        return None;
    }
    let mut words = vec!["cryptbench run".to_owned()];
    match &target.emulated {
        Some(emulated) => words.push(format!("--emulate {}", quoted(&emulated.model))),
        None if here.is_some_and(|here| here == Path::new(&target.directory)) => {}
        None => words.push(quoted_path(target.directory.as_ref())),
    }
    words.extend(systems(&record.plan, arms));
    words.push(options.to_owned());
    Some(words.join(" "))
}

fn systems(plan: &Plan, arms: &[&Arm]) -> Vec<String> {
    match plan.arm_set() {
        Some(BUILTIN_ONLY) if arms.is_empty() => return vec!["--builtin-only".to_owned()],
        // The program chooses the same again.
        Some(set) if arms.is_empty() && plan.set.is_some() => {
            return set.ends_with("/split").then(|| "--split".to_owned()).into_iter().collect();
        }
        _ => {}
    }
    let encrypted = || plan.arms.iter().filter(|arm| arm.role == ArmRole::Encrypted);
    let among = |arm: &&Arm| arms.is_empty() || arms.iter().any(|wanted| wanted.id == arm.id);
    let distinct = |of: &dyn Fn(&Arm) -> Option<String>| {
        let mut found: Vec<String> = Vec::new();
        for value in encrypted().filter(among).filter_map(of) {
            if !found.contains(&value) {
                found.push(value);
            }
        }
        found
    };
    let systems = distinct(&|arm| Some(arm.system.clone()));
    let only_builtin = encrypted().all(|arm| arm.system == BUILTIN.name);
    let mut words = Vec::new();
    if !only_builtin {
        words.push(match systems.len() > MOST_SYSTEMS {
            true => "--systems all".to_owned(),
            false => format!("--systems {}", quoted(&systems.join(","))),
        });
    }
    let ours =
        |arm: &Arm| arm.cipher.clone().filter(|_| encrypts(&arm.system) == Some(Encrypts::Own));
    let ciphers = distinct(&ours);
    if ciphers.iter().any(|cipher| cipher != "aes-256-xts") {
        words.push(format!("--cipher {}", quoted(&ciphers.join(","))));
    }
    words
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
