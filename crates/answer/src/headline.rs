//! The first sentences: the cost and its scope, or any finding that is worse than a cost.

use cryptbench_estimate::ranking::{Ranked, level};
use cryptbench_estimate::soundness::is_unsound;
use cryptbench_record::{Arm, ReadBack};

use crate::answer::View;
use crate::avoid::is_avoided;
use crate::capacity;
use crate::classes::{MOST_NAMED, between, by_class};
use crate::machine;
use crate::parts::costlier;
use crate::place;
use crate::quantity::percent_digits;
use crate::wording::list;

/// A lead of at least this factor is printed as a factor.
const TELLING_FACTOR: f64 = 1.5;

pub(crate) fn headline(view: &View<'_, '_>) -> Vec<String> {
    let mut said: Vec<String> = place::said(view.lookup.record);
    said.extend(machine::held(view));
    said.extend(failures(view));
    said.extend(machine::slow_aes(view).map(|slow| slow.sentence().to_owned()));
    said.extend(machine::slow_kernel(view));
    let record = view.lookup.record;
    said.extend(record.target.encrypted_by.as_ref().map(|by| {
        format!(
            "{} is already encrypted, by {}: these are the costs of encrypting it twice.",
            view.place(),
            by.system
        )
    }));
    let spoken = view.cast.spoken();
    if spoken.is_empty() {
        said.push(format!(
            "Nothing encrypted was measured on {}, only plain storage.",
            view.place()
        ));
        return said;
    }
    // Systems to avoid are never praised, however fast they are.
    let ranked: Vec<&Ranked<'_>> = view.cast.ranked().collect();
    let usable: Vec<&Ranked<'_>> =
        ranked.iter().copied().filter(|row| !is_avoided(view, row.arm)).collect();
    let avoided = ranked.len() - usable.len();
    let arms: Vec<_> = match usable[..] {
        [only] => vec![only.arm],
        _ => sound(view, spoken),
    };
    // If several systems share the rank, the first sentence does not single out one of them.
    let (sentence, alone) = match usable[..] {
        [first, ref rest @ ..] if !rest.is_empty() => {
            let of = Ranks::of(view, first, rest);
            (of.sentence(view), of.tied.is_empty().then_some(first))
        }
        _ => (by_class(view, &arms), usable.first().copied()),
    };
    said.push(sentence);
    if usable.len() > 1 && avoided > 0 {
        said.push(format!("Not counted: {avoided} to avoid."));
    }
    said.extend(alone.and_then(|row| costlier(view, row.arm)));
    said.extend(capacity::said(view));
    if let Some(in_use) = view.in_use() {
        said.push(format!(
            "Plain is {}, the underlying device. Both were only read, interleaved, so the drive's cache serves both alike.",
            in_use.below
        ));
    }
    if view.cast.choices.is_empty() {
        said.push("The cipher alone is a floor: no system was measured.".to_owned());
    }
    if record.machine.emulated.is_some() {
        said.push("This machine is EMULATED: real hardware is faster or slower.".to_owned());
    }
    said
}

/// The arms that are not to be avoided, or all arms if there are none.
fn sound<'a>(view: &View<'_, '_>, spoken: &[&'a Arm]) -> Vec<&'a Arm> {
    let sound: Vec<&Arm> = spoken.iter().copied().filter(|arm| !is_avoided(view, arm)).collect();
    if sound.is_empty() { spoken.to_vec() } else { sound }
}

/// Findings that invalidate every figure of a system.
fn failures(view: &View<'_, '_>) -> Vec<String> {
    let record = view.lookup.record;
    let failed = view.lookup.arms().iter().filter(|arm| is_unsound(record, arm));
    failed
        .filter_map(|arm| {
            let evidence = record.evidence.iter().find(|e| e.arm == arm.id)?;
            let name = view.names.arm(arm);
            Some(match () {
                () if evidence.shows_plaintext_in_cache() => format!(
                    "{name} leaves readable text in its cache on this disk, in addition to what it encrypts."
                ),
                () if evidence.shows_plaintext() == Some(true) => {
                    format!("{name} stored readable text on the disk: it does not encrypt.")
                }
                () if evidence.read_back() == ReadBack::Lost => {
                    format!("{name} did not return what was written: data was lost.")
                }
                () => format!("The data that {name} stores is not ciphertext: its entropy is too low."),
            })
        })
        .collect()
}

/// Several installable systems, with the fastest first.
struct Ranks<'r, 'a> {
    first: &'r Ranked<'a>,
    /// The systems without a proven difference from the first system.
    tied: Vec<&'r Ranked<'a>>,
    next: Option<&'r Ranked<'a>>,
    all: usize,
}

impl<'r, 'a> Ranks<'r, 'a> {
    fn of(view: &View<'a, '_>, first: &'r Ranked<'a>, rest: &[&'r Ranked<'a>]) -> Self {
        let over = view.cast.ranking.as_ref().map_or(&[][..], |ranking| &ranking.over);
        // The first system of their rank may be a system to avoid, which cannot represent the others.
        let ties = |row: &&&Ranked<'_>| {
            row.place == first.place && level(view.lookup, row.arm, first.arm, over)
        };
        let tied: Vec<_> = rest.iter().take_while(ties).copied().collect();
        let next = rest.get(tied.len()).copied();
        Self { first, next, all: rest.len() + 1, tied }
    }

    /// The leader, and its advantage.
    fn sentence(&self, view: &View<'_, '_>) -> String {
        let Self { first, ref tied, next, all } = *self;
        let percent = |row: &Ranked<'_>| percent_digits(100.0 * row.all.ratio);
        // If several systems share a rank, the slowest of these systems has the smallest lead.
        let slowest = tied.iter().fold(first.all.ratio, |least, row| least.min(row.all.ratio));
        let about = if tied.is_empty() { "about" } else { "at least about" };
        let lead = match next {
            Some(next) if slowest / next.all.ratio >= TELLING_FACTOR => {
                format!(", {about} {} times the next", factor(slowest / next.all.ratio))
            }
            Some(next) => {
                format!("; next: {}, at {} %", view.names.arm(next.arm), percent(next))
            }
            None => String::new(),
        };
        let of = format!("{all} choices on {}", view.place());
        let average = on_average(view);
        match tied[..] {
            [] => format!(
                "Fastest of {of}: {}, at {} % of plain speed{average}{lead}.",
                view.names.arm(first.arm),
                percent(first)
            ),
            _ if next.is_none() => format!(
                "No difference was found between the {of}: {} run at {} % of plain speed{average}.",
                named(view, first, tied),
                range(first, tied)
            ),
            _ => format!(
                "{} of {of} share the first rank: {}, at {} % of plain speed{average}{lead}.",
                tied.len() + 1,
                named(view, first, tied),
                range(first, tied)
            ),
        }
    }
}

/// ` on average`, and the number of workloads, unless these are all workloads.
fn on_average(view: &View<'_, '_>) -> String {
    let over = view.cast.ranking.as_ref().map_or(0, |ranking| ranking.over.len());
    format!(" on average{}", of_workloads(over, view.lookup.workloads().len()))
}

/// ` over 6 of 8 workloads`; nothing where those are all.
pub(crate) fn of_workloads(over: usize, all: usize) -> String {
    if over == all { String::new() } else { format!(" over {over} of {all} workloads") }
}

fn named(view: &View<'_, '_>, first: &Ranked<'_>, tied: &[&Ranked<'_>]) -> String {
    let all: Vec<&str> =
        std::iter::once(first).chain(tied.iter().copied()).map(|r| view.names.arm(r.arm)).collect();
    list(&all, MOST_NAMED)
}

fn range(first: &Ranked<'_>, tied: &[&Ranked<'_>]) -> String {
    between(std::iter::once(first).chain(tied.iter().copied()).map(|r| 100.0 * r.all.ratio))
}

/// `4`, `1.8`: as exact as a sentence needs to be.
pub(crate) fn factor(ratio: f64) -> String {
    if ratio < 2.95 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}
