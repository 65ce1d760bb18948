//! Which encrypted arm to take for which kind of work.

use cryptbench_record::{Arm, Workload};

use crate::lookup::Lookup;
use crate::presentation::ranking::{Mean, level, mean_kept};
use crate::quantity::percent_digits;
use crate::wording::list;

/// Requests up to this size are small, bytes: where the time of a request weighs more than its bytes.
pub(super) const SMALL: u64 = 16 << 10;

/// Requests from this size on are large, bytes.
pub(super) const LARGE: u64 = 256 << 10;

/// Arms that are named as tied.
const MOST_NAMED: usize = 4;

/// Kinds of work: their name, and what belongs to them.
type Kind = (&'static str, fn(&Workload) -> bool);

const KINDS: [Kind; 4] = [
    ("large reads", |w| w.operation == "read" && w.block_size >= LARGE),
    ("large writes", |w| w.operation == "write" && w.block_size >= LARGE),
    ("small reads", |w| w.operation == "read" && w.block_size <= SMALL),
    ("small writes", |w| w.operation == "write" && w.block_size <= SMALL),
];

/// For each kind of work the arm that keeps most, and those that cannot be told from it.
pub(super) fn best(lookup: &Lookup<'_>, arms: &[&Arm]) -> Vec<String> {
    if arms.len() < 2 {
        return Vec::new();
    }
    KINDS.iter().filter_map(|kind| of_kind(lookup, arms, kind)).collect()
}

fn of_kind(lookup: &Lookup<'_>, arms: &[&Arm], (name, belongs): &Kind) -> Option<String> {
    let judged = |w: &Workload, arm: &Arm| {
        lookup.cell(w, arm).is_some_and(|c| !c.cached && c.kept.is_some())
    };
    let all = lookup.workloads().iter().filter(|w| w.is_of_requests() && belongs(w));
    // Over what all can be compared in; who is answered by a cache there cannot be advised.
    let over: Vec<&Workload> =
        all.filter(|w| arms.iter().filter(|arm| judged(w, arm)).count() > 1).collect();
    let complete = |arm: &&Arm| !over.is_empty() && over.iter().all(|w| judged(w, arm));
    let mut ranked: Vec<(&Arm, Mean)> = arms
        .iter()
        .copied()
        .filter(complete)
        .filter_map(|arm| Some((arm, mean_kept(lookup, arm, &over)?)))
        .collect();
    ranked.sort_by(|a, b| b.1.ratio.total_cmp(&a.1.ratio));
    let ((first, kept), rest) = ranked.split_first()?;
    let tied: Vec<&str> = rest
        .iter()
        .filter(|(arm, _)| level(lookup, arm, first, &over))
        .map(|(arm, _)| arm.label.as_str())
        .collect();
    let last = rest.last()?;
    if tied.len() == rest.len() {
        return Some(format!(
            "For {name} this run shows no arm ahead of the others: {} keeps {} of plain speed, and {} cannot be told from \
             it.",
            first.label,
            interval(kept),
            list(&tied, MOST_NAMED)
        ));
    }
    let behind = match rest.len() {
        1 => format!("; {} keeps {}", last.0.label, interval(&last.1)),
        _ => format!("; the last, {}, keeps {}", last.0.label, interval(&last.1)),
    };
    let tied = match tied.len() {
        0 => String::new(),
        _ => format!("; {} cannot be told from it", list(&tied, MOST_NAMED)),
    };
    Some(format!(
        "For {name} take {}: it keeps {} of plain speed{tied}{behind}.",
        first.label,
        interval(kept)
    ))
}

/// `86 % [83, 89]`.
pub(super) fn interval(mean: &Mean) -> String {
    let [ratio, low, high] = [mean.ratio, mean.low, mean.high].map(|r| percent_digits(100.0 * r));
    format!("{ratio} % [{low}, {high}]")
}
