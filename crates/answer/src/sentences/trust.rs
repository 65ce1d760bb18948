//! The reliability of the verdicts: caches, open questions, noise, and the reason why the run ended.

use std::collections::BTreeSet;

use cryptbench_record::{ArmRole, Cell, Pattern, Record, StopReason, Verdict, Workload};

use super::arms::names;
use super::{Sentence, View, of_workloads};
use crate::names::capitalised;
use crate::quantity::{count, duration, fraction, percent_digits, thousands};
use crate::wording::list;

/// More workloads than this are counted, not listed.
const MOST_NAMED: usize = 12;

/// Workloads that were served from a cache instead of the disk.
pub(super) fn cached(view: &View<'_>) -> Option<Sentence> {
    let ids = workloads_where(view, |c| c.cached);
    if ids.is_empty() {
        return None;
    }
    let place = match (&ids[..], view.workloads().len()) {
        ([one], _) => view.workload_label(one).to_owned(),
        (many, all) if many.len() == all => of_workloads(all, view),
        (many, _) => format!("{} ({})", of_workloads(many.len(), view), names(view, many, 3)),
    };
    let meant = |id: &&str| view.workloads().iter().any(|w| w.id == **id && means_cache(w));
    let written = view.workloads().iter().any(|w| w.fresh_file && ids.contains(&w.id.as_str()));
    let why = match ids.iter().all(meant) {
        true => ", as intended there",
        false if written => "; direct I/O, a flush within the time or a larger file avoids that",
        false => "; direct I/O or a larger scratch file avoids that",
    };
    let text = format!(
        "No verdict for {place}: less than half of the requested bytes reached the device, so a \
         cache was measured, not the disk{why}."
    );
    Some(Sentence::new(8, text))
}

/// Whether a workload measures a cache on purpose: it reads one block repeatedly, or reads data that earlier trials
/// left in the page cache.
fn means_cache(w: &Workload) -> bool {
    w.warm_cache || w.pattern == Pattern::Same
}

/// Undecided comparisons, which need more pairs.
pub(super) fn inconclusive(view: &View<'_>) -> Option<Sentence> {
    let mut open = 0;
    let mut judged = 0;
    let mut need: Option<(u32, &Cell)> = None;
    for arm in view.encrypted() {
        for cell in view.cells(arm) {
            judged += usize::from(cell.kept.is_some());
            if let Some(Verdict::Inconclusive { more_pairs }) = cell.verdict {
                open += 1;
                if need.is_none_or(|(most, _)| more_pairs > most) {
                    need = Some((more_pairs, cell));
                }
            }
        }
    }
    let (pairs, cell) = need?;
    let seen = cell.kept.map_or(0, |k| k.pairs);
    let subject = match (open, judged) {
        (1, 1) => "This is undecided".to_owned(),
        (1, n) => format!("1 of {n} comparisons is undecided"),
        (k, n) => {
            let [open, judged] = [k, n].map(|n| thousands(n as f64));
            match k == n {
                true => format!("All {judged} comparisons are undecided"),
                false => format!("{open} of {judged} comparisons are undecided"),
            }
        }
    };
    let ran = thousands(f64::from(seen));
    let about = format!("about {} repeats would decide it", thousands(f64::from(pairs)));
    let most = view.record.plan.max_pairs;
    let remedy = match pairs {
        u32::MAX => format!("no number of repeats would decide it on this disk ({ran} ran)"),
        n if n > most => format!(
            "{about}, but {ran} ran and a run is limited to {} repeats: this disk is too noisy to resolve so small a \
             difference",
            thousands(f64::from(most))
        ),
        _ => format!("{about}; {ran} ran: give the run more time"),
    };
    let text = format!("{subject}; in {} {remedy}.", view.workload_label(&cell.workload));
    Some(Sentence::new(6, text))
}

/// Differences that are significant according to their own interval, but not after correction for the number of
/// workloads.
pub(super) fn leaning(view: &View<'_>) -> Option<Sentence> {
    let leaning = workloads_where(view, |c| {
        matches!(c.verdict, Some(Verdict::LikelyCosts { .. }))
            && view.encrypted().iter().any(|a| a.id == c.arm)
    });
    if leaning.is_empty() {
        return None;
    }
    let place = match leaning.len() {
        n if n <= MOST_NAMED => names(view, &leaning, 3),
        n => of_workloads(n, view),
    };
    let text = format!(
        "Encrypted storage looks slower in {place}, but that is not proven; a longer run would settle \
         it."
    );
    Some(Sentence::new(7, text))
}

/// The second plain arm was judged different from the first: a warning about the method itself.
pub(super) fn plain_against_itself(view: &View<'_>) -> Option<Sentence> {
    let again = view.record.plan.arms.iter().find(|a| a.role == ArmRole::PlainAgain)?;
    let differing: Vec<&str> = view
        .cells(again)
        .into_iter()
        .filter(|c| matches!(c.verdict, Some(Verdict::Costs { .. } | Verdict::Gains { .. })))
        .map(|c| c.workload.as_str())
        .collect();
    if differing.is_empty() {
        return None;
    }
    let text = format!(
        "Be careful with {}: plain storage measured twice differed from itself there, so something \
         other than encryption changed its speed.",
        names(view, &differing, 3)
    );
    Some(Sentence::new(8, text))
}

/// When and why a partial run ended.
pub(super) fn ended_early(record: &Record) -> String {
    let how = if record.time_ran_out() { "The time ran out" } else { "The run was interrupted" };
    format!("{how} after {}", duration(record.elapsed_s))
}

/// Pairs, reasons for stopping, and noise. For a partial run, the sentence says first that the run is partial.
pub(super) fn basis(view: &View<'_>) -> Option<Sentence> {
    let interrupted = view.record.partial.then(|| ended_early(view.record));
    let text = match (interrupted, pairs(view)) {
        (None, None) => return None,
        (Some(interrupted), None) => {
            format!("{interrupted}, before any workload had enough repeats for an interval.")
        }
        (interrupted, Some(pairs)) => {
            let lead = interrupted.map_or_else(String::new, |words| format!("{words}: "));
            let parts: Vec<String> =
                [Some(pairs), stops(view), noise(view)].into_iter().flatten().collect();
            format!("{}.", capitalised(&format!("{lead}{}", parts.join("; "))))
        }
    };
    Some(Sentence::new(8, text))
}

fn pairs(view: &View<'_>) -> Option<String> {
    let seen: Vec<u32> = view.cells.iter().filter_map(|c| Some(c.kept?.pairs)).collect();
    let (least, most) = (*seen.iter().min()?, *seen.iter().max()?);
    let range = match least == most {
        true => count(most as usize, "repeat", "repeats"),
        false => format!("{least} to {most} repeats"),
    };
    Some(format!("each figure is based on {range}, interleaved with plain"))
}

fn stops(view: &View<'_>) -> Option<String> {
    let stops = &view.record.stops;
    let ended = |reason| stops.iter().filter(|s| s.reason == reason).count();
    let (precise, all) = (ended(StopReason::Precision), stops.len());
    if all == 0 {
        return None;
    }
    if precise == all {
        return Some(match all {
            1 => "the requested precision was reached".to_owned(),
            _ => "all workloads reached the requested precision".to_owned(),
        });
    }
    let reasons = [
        (StopReason::PairCap, "stopped at the maximum number of repeats"),
        (StopReason::Budget, "ran out of time"),
        (StopReason::Interrupted, "stopped by interruption"),
    ];
    if let Some((_, words)) = reasons.iter().find(|(reason, _)| ended(*reason) == all) {
        let all = if all == 1 { "it" } else { "all" };
        return Some(format!("the requested precision was not reached: {all} {words}"));
    }
    let others: Vec<String> = reasons
        .into_iter()
        .filter(|(reason, _)| ended(*reason) > 0)
        .map(|(reason, words)| format!("{} {words}", ended(reason)))
        .collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    Some(format!(
        "{precise} of {} reached the requested precision, {}",
        count(all, "workload", "workloads"),
        list(&others, 3)
    ))
}

fn noise(view: &View<'_>) -> Option<String> {
    let floors: Vec<f64> =
        view.workloads().iter().filter_map(|w| view.plain_cell(&w.id)?.noise_floor).collect();
    let low = floors.iter().copied().reduce(f64::min)?;
    let high = floors.iter().copied().reduce(f64::max)?;
    let range = match percent_digits(low * 100.0) == percent_digits(high * 100.0) {
        true => fraction(high),
        false => format!(
            "{} in the quietest workload and {} in the noisiest",
            fraction(low),
            fraction(high)
        ),
    };
    Some(format!("plain differs from itself by up to {range} between trials"))
}

fn workloads_where<'a>(view: &View<'a>, keep: impl Fn(&Cell) -> bool) -> Vec<&'a str> {
    let found: BTreeSet<&str> =
        view.cells.iter().filter(|c| keep(c)).map(|c| c.workload.as_str()).collect();
    view.workloads().iter().map(|w| w.id.as_str()).filter(|id| found.contains(id)).collect()
}
