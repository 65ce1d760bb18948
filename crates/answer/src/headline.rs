//! The first sentences: what it costs and where, or what is worse than any cost.

use cryptbench_catalog::BUILTIN;
use cryptbench_estimate::class::Class;
use cryptbench_estimate::ranking::{Ranked, level};
use cryptbench_estimate::soundness::is_unsound;
use cryptbench_record::{ReadBack, Workload};

use crate::answer::View;
use crate::avoid::is_avoided;
use crate::capacity;
use crate::figure::{Mark, Value, value};
use crate::kinds::{action, size_word};
use crate::machine;
use crate::names::{capitalised, cipher};
use crate::parts::costlier;
use crate::place;
use crate::quantity::{percent_digits, thousands};
use crate::wording::list;

/// Tied systems that are named one by one.
const MOST_NAMED: usize = 2;

/// From this factor on, a lead is told as a factor.
const TELLING_FACTOR: f64 = 1.5;

pub(crate) fn headline(view: &View<'_, '_>) -> Vec<String> {
    let mut said: Vec<String> = place::said(view.lookup.record);
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
    // What readers must avoid is praised nowhere, however fast it is.
    let ranked: Vec<&Ranked<'_>> = view.cast.ranked().collect();
    let usable: Vec<&Ranked<'_>> =
        ranked.iter().copied().filter(|row| !is_avoided(view, row.arm)).collect();
    let avoided = ranked.len() - usable.len();
    let arms: Vec<_> = match usable[..] {
        [only] => vec![only.arm],
        _ => spoken.to_vec(),
    };
    // Of several in one place none is what the first sentence speaks of.
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
            "Plain is {}, the device below it. Both were only read, by turns, so the drive's cache serves both alike.",
            in_use.below
        ));
    }
    if view.cast.choices.is_empty() {
        said.push("The cipher alone is a floor: no system was measured.".to_owned());
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

/// Several systems that somebody can take, the fastest first.
struct Ranks<'r, 'a> {
    first: &'r Ranked<'a>,
    /// Those without a proven difference to the first.
    tied: Vec<&'r Ranked<'a>>,
    next: Option<&'r Ranked<'a>>,
    all: usize,
}

impl<'r, 'a> Ranks<'r, 'a> {
    fn of(view: &View<'a, '_>, first: &'r Ranked<'a>, rest: &[&'r Ranked<'a>]) -> Self {
        let over = view.cast.ranking.as_ref().map_or(&[][..], |ranking| &ranking.over);
        // The first of their place may be one to be avoided: it does not stand for the first of these.
        let ties = |row: &&&Ranked<'_>| {
            row.place == first.place && level(view.lookup, row.arm, first.arm, over)
        };
        let tied: Vec<_> = rest.iter().take_while(ties).copied().collect();
        let next = rest.get(tied.len()).copied();
        Self { first, next, all: rest.len() + 1, tied }
    }

    /// Who is first, and by how much.
    fn sentence(&self, view: &View<'_, '_>) -> String {
        let Self { first, ref tied, next, all } = *self;
        let percent = |row: &Ranked<'_>| percent_digits(100.0 * row.all.ratio);
        // Of several in one place the slowest has the smallest lead.
        let slowest = tied.iter().fold(first.all.ratio, |least, row| least.min(row.all.ratio));
        let about = if tied.is_empty() { "about" } else { "at least about" };
        let lead = match next {
            Some(next) if slowest / next.all.ratio >= TELLING_FACTOR => {
                format!(", {about} {} times the next", factor(slowest / next.all.ratio))
            }
            Some(next) => {
                format!("; the next, {}, at {} %", view.names.arm(next.arm), percent(next))
            }
            None => String::new(),
        };
        let of = format!("{all} choices on {}", view.place());
        match tied[..] {
            [] => format!(
                "Fastest of {of}: {}, at {} % of plain speed on average{lead}.",
                view.names.arm(first.arm),
                percent(first)
            ),
            _ if next.is_none() => format!(
                "No difference was found between the {of}: {} run at {} % of plain speed on average.",
                named(view, first, tied),
                range(first, tied)
            ),
            _ => format!(
                "{} of {of} share the first place: {}, at {} % of plain speed on average{lead}.",
                tied.len() + 1,
                named(view, first, tied),
                range(first, tied)
            ),
        }
    }
}

fn named(view: &View<'_, '_>, first: &Ranked<'_>, tied: &[&Ranked<'_>]) -> String {
    let all: Vec<&str> =
        std::iter::once(first).chain(tied.iter().copied()).map(|r| view.names.arm(r.arm)).collect();
    list(&all, MOST_NAMED)
}

fn range(first: &Ranked<'_>, tied: &[&Ranked<'_>]) -> String {
    between(std::iter::once(first).chain(tied.iter().copied()).map(|r| 100.0 * r.all.ratio))
}

/// `51 to 87`, or one figure where both ends are the same.
fn between(percents: impl Iterator<Item = f64> + Clone) -> String {
    let low = percent_digits(percents.clone().fold(f64::INFINITY, f64::min));
    let high = percent_digits(percents.fold(0.0, f64::max));
    if low == high { low } else { format!("{low} to {high}") }
}

/// `4`, `1.8`: as exact as a sentence can be.
pub(crate) fn factor(ratio: f64) -> String {
    if ratio < 2.95 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}

/// How the workloads of one size did.
struct Outcome {
    /// `large reads and writes`.
    what: String,
    /// `large ones`.
    short: String,
    /// What its figures are called where only some are spoken of: `large ones`, `figures for large ones`.
    parts: String,
    /// Figures of this size.
    all: usize,
    no_loss: usize,
    undecided: usize,
    how: How,
}

enum How {
    /// At so many percent of plain speed, where that is decided.
    Slower(String),
    NoLoss,
    Undecided,
    /// No loss in some, and some are undecided.
    Partly,
    Cached,
    Compressed,
    Unmeasured,
}

/// One system, or the engine: size by size.
fn by_class(view: &View<'_, '_>, arms: &[&cryptbench_record::Arm]) -> String {
    let (with, many) = with(view, arms);
    let place = view.place();
    let outcomes: Vec<Outcome> = [Class::Large, Class::Medium, Class::Small, Class::Files]
        .into_iter()
        .filter_map(|class| outcome(view, arms, class))
        .collect();
    let slow: Vec<(&Outcome, &str)> = outcomes
        .iter()
        .filter_map(|o| match &o.how {
            How::Slower(percent) => Some((o, percent.as_str())),
            _ => None,
        })
        .collect();
    let mut rest = remainder(&outcomes, !slow.is_empty());
    let all = |of: &dyn Fn(&How) -> bool| outcomes.iter().all(|o| of(&o.how));
    match slow[..] {
        [] if rest.is_empty() => format!("No trial of {with} was measured on {place}."),
        [] if all(&|how| matches!(how, How::Unmeasured)) => {
            let costs = if many { "cost" } else { "costs" };
            format!("Too few repeats were measured on {place} to tell what {with} {costs}.")
        }
        [] if all(&|how| matches!(how, How::NoLoss)) => {
            format!("No loss was found on {place} with {with}.")
        }
        [] if all(&|how| matches!(how, How::Undecided)) => {
            let are = if many { "are" } else { "is" };
            format!("Whether {with} {are} slower on {place} is undecided.")
        }
        [] => {
            rest[0] = format!("{} on {place} with {with}", capitalised(&rest[0]));
            format!("{}.", rest.join("; "))
        }
        [(first, percent), ref others @ ..] => {
            let mut text = format!("{} on {place} run at {percent}", capitalised(&first.what));
            for (other, percent) in others {
                text = format!("{text}, {} at {percent}", other.short);
            }
            text = format!("{text} of plain speed with {with}");
            format!("{}.", [vec![text], rest].concat().join("; "))
        }
    }
}

/// What is said besides the percentages: `small ones show no loss`, `3 of 4 large ones are undecided`.
fn remainder(outcomes: &[Outcome], is_rest: bool) -> Vec<String> {
    // What is undecided is counted where several sizes have some.
    let (mut said, mut counted) = (Vec::new(), Vec::new());
    for o in outcomes {
        let subject = if is_rest { &o.short } else { &o.what };
        let (text, is_counted) = match o.how {
            How::NoLoss => (format!("{subject} show no loss"), false),
            How::Undecided => (format!("{subject} are undecided"), true),
            How::Partly if o.undecided + o.no_loss == o.all => {
                let undecided = some(o.undecided, o, "is undecided", "are undecided");
                (format!("{undecided}, the others show no loss"), true)
            }
            How::Cached => (format!("a cache answered {subject}"), false),
            How::Compressed => (format!("the file system compressed {subject}"), false),
            How::Unmeasured => (format!("{subject} have too few repeats"), false),
            How::Partly | How::Slower(_) => continue,
        };
        said.push(text);
        counted.push(is_counted);
    }
    // Parts of what the percentages are about come last, in one where several sizes have some.
    let in_part: Vec<&Outcome> = outcomes
        .iter()
        .filter(|o| matches!(o.how, How::Slower(_) | How::Partly) && o.undecided > 0)
        .collect();
    if in_part.len() > 1 {
        let sum = |of: fn(&Outcome) -> usize| thousands(outcomes.iter().map(of).sum::<usize>());
        let mut counted = counted.into_iter();
        said.retain(|_| counted.next() == Some(false));
        said.push(format!("{} of {} figures are undecided", sum(|o| o.undecided), sum(|o| o.all)));
        return said;
    }
    for o in outcomes {
        let (no_loss, undecided) = match o.how {
            How::Slower(_) => (o.no_loss, o.undecided),
            How::Partly if o.undecided + o.no_loss < o.all => (0, o.undecided),
            _ => continue,
        };
        for (n, one, many) in [
            (no_loss, "shows no loss", "show no loss"),
            (undecided, "is undecided", "are undecided"),
        ] {
            said.extend((n > 0).then(|| some(n, o, one, many)));
        }
    }
    said
}

/// `3 of 4 large ones are undecided`
fn some(n: usize, of: &Outcome, one: &str, many: &str) -> String {
    format!("{n} of {} {} {}", of.all, of.parts, if n == 1 { one } else { many })
}

/// The choices, and whether they are several.
fn with(view: &View<'_, '_>, arms: &[&cryptbench_record::Arm]) -> (String, bool) {
    let mut names: Vec<String> = Vec::new();
    for arm in arms {
        let name = match (arm.system.as_str(), cipher(arm)) {
            (system, Some(cipher)) if system == BUILTIN.name => format!("{cipher} alone"),
            _ => view.names.arm(arm).to_owned(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (list(&names, MOST_NAMED + 1), names.len() > 1)
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
    let of = |mark: Mark| values.iter().filter(|v| v.mark == mark).count();
    let is_decided = |v: &&Value| matches!(v.mark, Mark::Slower | Mark::Faster | Mark::Same);
    let decided: Vec<f64> =
        values.iter().filter(is_decided).filter_map(|v| Some(100.0 * v.kept?.ratio)).collect();
    let undecided = of(Mark::Undecided);
    let without_loss = of(Mark::NoLoss) + decided.len();
    let how = match () {
        () if values.is_empty() => return None,
        () if of(Mark::Slower) > 0 => {
            How::Slower(format!("{} %", between(decided.iter().copied())))
        }
        () if undecided > 0 && without_loss > 0 => How::Partly,
        () if undecided > 0 => How::Undecided,
        () if without_loss > 0 => How::NoLoss,
        () if of(Mark::Cached) > 0 => How::Cached,
        () if of(Mark::Compressed) > 0 => How::Compressed,
        () => How::Unmeasured,
    };
    // Those that are within its percentages are not counted beside them.
    let no_loss = match how {
        How::Slower(_) => of(Mark::NoLoss),
        _ => without_loss,
    };
    let size = size_word(class);
    let (what, short) = match class {
        Class::Files => {
            let what = match actions.len() {
                0..=2 => list(&actions, 2),
                _ => "work on files".to_owned(),
            };
            (what.clone(), what)
        }
        _ => (format!("{size} {}", list(&actions, actions.len())), format!("{size} ones")),
    };
    let parts = match class {
        Class::Files => format!("figures for {short}"),
        _ if arms.len() == 1 => short.clone(),
        _ => format!("figures for {short}"),
    };
    Some(Outcome { what, short, parts, all: values.len(), no_loss, undecided, how })
}
