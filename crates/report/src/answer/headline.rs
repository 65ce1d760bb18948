//! The first sentences: what it costs and where, or what is worse than any cost.

use cryptbench_record::{ReadBack, Workload};

use super::figure::{Mark, Value, value};
use super::parts::costlier;
use super::{View, machine};
use crate::evidence::is_unsound;
use crate::kinds::{Class, action};
use crate::names::{capitalised, cipher};
use crate::presentation::ranking::Ranked;
use crate::quantity::percent_digits;
use crate::wording::list;

/// Tied systems that are named one by one.
const MOST_NAMED: usize = 2;

/// From this factor on, a lead is told as a factor.
const TELLING_FACTOR: f64 = 1.5;

pub(super) fn headline(view: &View<'_, '_>) -> Vec<String> {
    let mut said: Vec<String> = failures(view);
    said.extend(machine::slow_aes(view).map(|slow| slow.sentence().to_owned()));
    said.extend(machine::slow_kernel(view));
    let record = view.lookup.record;
    said.extend(record.target.encrypted_by.as_ref().map(|by| {
        format!(
            "{} is encrypted already, by {}: these are the costs of doing it twice.",
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
    let ranked = view.cast.ranking.as_ref().map_or(&[][..], |r| &r.rows);
    let arms: Vec<_> = match ranked {
        [only] => vec![only.arm],
        _ => spoken.to_vec(),
    };
    said.push(match ranked {
        [first, rest @ ..] if !rest.is_empty() => ranking(view, first, rest),
        _ => by_class(view, &arms),
    });
    // Of several in one place none is what the sentence before speaks of.
    let alone = match ranked {
        [only] => Some(only),
        [first, second, ..] if first.place != second.place => Some(first),
        _ => None,
    };
    said.extend(alone.and_then(|row| costlier(view, row.arm)));
    if let Some(in_use) = view.in_use() {
        said.push(format!(
            "Plain is {}, the device below it. Both were only read, by turns, so the drive's cache serves both alike.",
            in_use.below
        ));
    }
    if view.cast.choices.is_empty() {
        said.push("That is the floor: no system was measured.".to_owned());
    }
    if record.machine.emulated.is_some() {
        said.push("This machine is EMULATED: hardware is faster or slower.".to_owned());
    }
    said
}

/// What makes every figure of a system pointless.
fn failures(view: &View<'_, '_>) -> Vec<String> {
    let record = view.lookup.record;
    let failed = view.lookup.arms().iter().filter(|arm| is_unsound(record, arm));
    failed
        .filter_map(|arm| {
            let evidence = record.evidence.iter().find(|e| e.arm == arm.id)?;
            let name = view.names.arm(arm);
            Some(match () {
                () if evidence.shows_plaintext() == Some(true) => {
                    format!("{name} stored readable text on the disk: it does not encrypt.")
                }
                () if evidence.read_back() == ReadBack::Lost => {
                    format!("{name} did not give back what was written: data were lost.")
                }
                () => format!("What {name} stores is no ciphertext: it is not random enough."),
            })
        })
        .collect()
}

/// Several systems: who is first, and by how much.
fn ranking(view: &View<'_, '_>, first: &Ranked<'_>, rest: &[Ranked<'_>]) -> String {
    let percent = |row: &Ranked<'_>| percent_digits(100.0 * row.all.ratio);
    let n = rest.len() + 1;
    let tied: Vec<&Ranked<'_>> = rest.iter().filter(|row| row.place == first.place).collect();
    let next = rest.iter().find(|row| row.place != first.place);
    let lead = match next {
        Some(next) if first.all.ratio / next.all.ratio >= TELLING_FACTOR => {
            format!(", about {} times the next", factor(first.all.ratio / next.all.ratio))
        }
        Some(next) => format!("; the next, {}, at {} %", view.names.arm(next.arm), percent(next)),
        None => String::new(),
    };
    let place = view.place();
    let name = view.names.arm(first.arm);
    match tied[..] {
        [] => format!(
            "Fastest of {n} choices on {place}: {name}, at {} % of plain speed on average{lead}.",
            percent(first)
        ),
        _ if tied.len() == rest.len() => format!(
            "No difference found between the {n} choices on {place}: {} run at {} % of plain speed on average.",
            named(view, first, &tied),
            range(first, &tied)
        ),
        _ => format!(
            "Fastest of {n} choices on {place}, with no difference found: {}, at {} % of plain speed on \
             average{lead}.",
            named(view, first, &tied),
            range(first, &tied)
        ),
    }
}

fn named(view: &View<'_, '_>, first: &Ranked<'_>, tied: &[&Ranked<'_>]) -> String {
    let all: Vec<&str> =
        std::iter::once(first).chain(tied.iter().copied()).map(|r| view.names.arm(r.arm)).collect();
    list(&all, MOST_NAMED)
}

fn range(first: &Ranked<'_>, tied: &[&Ranked<'_>]) -> String {
    let ratios = || std::iter::once(first).chain(tied.iter().copied()).map(|r| 100.0 * r.all.ratio);
    let low = percent_digits(ratios().fold(f64::INFINITY, f64::min));
    let high = percent_digits(ratios().fold(0.0, f64::max));
    if low == high { low } else { format!("{low} to {high}") }
}

/// `4`, `1.8`: as exact as a sentence can be.
pub(super) fn factor(ratio: f64) -> String {
    if ratio < 2.95 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}

/// How the workloads of one size did.
struct Outcome {
    /// `large reads and writes`.
    what: String,
    /// `large ones`.
    short: String,
    how: How,
}

enum How {
    /// At so many percent of plain speed.
    Slower(String),
    NoLoss,
    Undecided,
    Cached,
    Unmeasured,
}

/// One system, or the engine: size by size.
fn by_class(view: &View<'_, '_>, arms: &[&cryptbench_record::Arm]) -> String {
    let with = with(view, arms);
    let place = view.place();
    let outcomes: Vec<Outcome> = [Class::Large, Class::Medium, Class::Small, Class::Files]
        .into_iter()
        .filter_map(|class| outcome(view, arms, class))
        .collect();
    let slow: Vec<&Outcome> = outcomes.iter().filter(|o| matches!(o.how, How::Slower(_))).collect();
    let mut rest: Vec<String> = outcomes
        .iter()
        .filter_map(|o| {
            let subject = if slow.is_empty() { &o.what } else { &o.short };
            Some(match o.how {
                How::Slower(_) => return None,
                How::NoLoss => format!("{subject} show no loss"),
                How::Undecided => format!("{subject} are undecided"),
                How::Cached => format!("a cache answered {subject}"),
                How::Unmeasured => format!("{subject} have too few repeats"),
            })
        })
        .collect();
    let all = |of: &dyn Fn(&How) -> bool| outcomes.iter().all(|o| of(&o.how));
    let percent = |o: &Outcome| match &o.how {
        How::Slower(percent) => percent.clone(),
        _ => String::new(),
    };
    match slow[..] {
        [] if rest.is_empty() => format!("No trial of {with} was measured on {place}."),
        [] if all(&|how| matches!(how, How::Unmeasured)) => {
            format!("Too few repeats were measured on {place} to tell what {with} costs.")
        }
        [] if all(&|how| matches!(how, How::NoLoss)) => {
            format!("No loss was found on {place} with {with}.")
        }
        [] if all(&|how| matches!(how, How::Undecided)) => {
            format!("Whether {with} is slower on {place} is undecided.")
        }
        [] => {
            rest[0] = format!("{} on {place} with {with}", capitalised(&rest[0]));
            format!("{}.", rest.join("; "))
        }
        [first, ref others @ ..] => {
            let mut text =
                format!("{} on {place} run at {}", capitalised(&first.what), percent(first));
            for other in others {
                text = format!("{text}, {} at {}", other.short, percent(other));
            }
            text = format!("{text} of plain speed with {with}");
            format!("{}.", [vec![text], rest].concat().join("; "))
        }
    }
}

fn with(view: &View<'_, '_>, arms: &[&cryptbench_record::Arm]) -> String {
    let mut names: Vec<String> = Vec::new();
    for arm in arms {
        let name = match (arm.system.as_str(), cipher(arm)) {
            ("builtin", Some(cipher)) => format!("{cipher} alone"),
            _ => view.names.arm(arm).to_owned(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    list(&names, MOST_NAMED + 1)
}

fn outcome(view: &View<'_, '_>, arms: &[&cryptbench_record::Arm], class: Class) -> Option<Outcome> {
    let members: Vec<&Workload> =
        view.lookup.workloads().iter().filter(|w| Class::of(w) == class).collect();
    let mut actions: Vec<&str> = Vec::new();
    for w in &members {
        if !actions.contains(&action(w)) {
            actions.push(action(w));
        }
    }
    let values: Vec<Value> =
        members.iter().flat_map(|w| arms.iter().map(|arm| value(view, w, arm))).collect();
    let has = |mark: Mark| values.iter().any(|v| v.mark == mark);
    let ratios: Vec<f64> = values.iter().filter_map(|v| Some(100.0 * v.kept?.ratio)).collect();
    let how = match () {
        () if values.is_empty() => return None,
        () if has(Mark::Slower) => {
            let low = percent_digits(ratios.iter().copied().fold(f64::INFINITY, f64::min));
            let high = percent_digits(ratios.iter().copied().fold(0.0, f64::max));
            How::Slower(match low == high {
                true => format!("{low} %"),
                false => format!("{low} to {high} %"),
            })
        }
        () if has(Mark::Undecided) => How::Undecided,
        () if !ratios.is_empty() => How::NoLoss,
        () if has(Mark::Cached) => How::Cached,
        () => How::Unmeasured,
    };
    let what = match class.word() {
        "" if actions.len() > 2 => "work on files".to_owned(),
        "" => list(&actions, actions.len()),
        size => format!("{size} {}", list(&actions, actions.len())),
    };
    let short = match class.word() {
        "" => what.clone(),
        size => format!("{size} ones"),
    };
    Some(Outcome { what, short, how })
}
