//! The cost of one system, or of the engine, by request size. Each part of the sentence covers only the figures that
//! it lists. It covers a size as a whole only if most figures of that size are percentages; the exceptions are then
//! counted.

use std::collections::BTreeSet;

use cryptbench_catalog::BUILTIN;
use cryptbench_estimate::class::Class;
use cryptbench_record::{Arm, Workload};

use crate::answer::View;
use crate::figure::{Mark, value};
use crate::kinds::{action, size_word};
use crate::names::{capitalised, cipher, lowered};
use crate::quantity::{percent_digits, thousands};
use crate::wording::list;

/// Maximum number of tied systems listed individually.
pub(crate) const MOST_NAMED: usize = 2;

/// The statement about one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    /// Covered by the percentages for its size.
    Percent,
    NoLoss,
    Undecided,
    Cached,
    Compressed,
    Unmeasured,
}

/// The kinds of figures that are counted instead of printed as percentages, in this order.
const BESIDE: [Told; 5] =
    [Told::NoLoss, Told::Undecided, Told::Cached, Told::Compressed, Told::Unmeasured];

impl Told {
    /// `percentages`: whether decided figures of this size are printed as percentages. They are printed if at least one
    /// of the figures is a loss.
    fn of(mark: Mark, percentages: bool) -> Self {
        match mark {
            Mark::Slower | Mark::Faster | Mark::Same if percentages => Self::Percent,
            Mark::Slower | Mark::Faster | Mark::Same | Mark::NoLoss => Self::NoLoss,
            Mark::Undecided => Self::Undecided,
            Mark::Cached => Self::Cached,
            Mark::Compressed => Self::Compressed,
            Mark::Unmeasured => Self::Unmeasured,
        }
    }

    /// The verb phrase for this number of subjects: `shows no loss`, `show no loss`.
    fn words(self, n: usize) -> &'static str {
        let [one, many] = match self {
            Self::Percent => ["runs at", "run at"],
            Self::NoLoss => ["shows no loss", "show no loss"],
            Self::Undecided => ["is undecided", "are undecided"],
            Self::Cached => ["was served from a cache", "were served from a cache"],
            Self::Compressed => {
                ["was compressed by the file system", "were compressed by the file system"]
            }
            Self::Unmeasured => ["has too few repeats", "have too few repeats"],
        };
        if n == 1 { one } else { many }
    }
}

/// The results of the workloads of one size.
struct Outcome {
    /// `large reads and writes`.
    what: String,
    /// `large ones`.
    short: String,
    /// Whether the text says `figures for`: the workloads have several figures, or do not consist of requests.
    has_figures: bool,
    /// The statements about its figures.
    told: Vec<Told>,
    /// The percentages of plain speed, if there are any.
    percent: Option<String>,
    /// The only workload, if there is exactly one and it has a single figure.
    only: Option<String>,
}

impl Outcome {
    fn of(view: &View<'_, '_>, arms: &[&Arm], class: Class) -> Option<Self> {
        let members: Vec<&Workload> =
            view.lookup.workloads().iter().filter(|w| Class::of(w) == class).collect();
        let figures: Vec<(&Workload, crate::figure::Value)> =
            members.iter().flat_map(|w| arms.iter().map(|arm| (*w, value(view, w, arm)))).collect();
        if figures.is_empty() {
            return None;
        }
        let percentages = figures.iter().any(|(_, v)| v.mark == Mark::Slower);
        let told = |mark| Told::of(mark, percentages);
        let within = || figures.iter().filter(|(_, v)| told(v.mark) == Told::Percent);
        let ratios: Vec<f64> = within().filter_map(|(_, v)| Some(100.0 * v.kept?.ratio)).collect();
        let ids: BTreeSet<&str> = within().map(|(w, _)| w.id.as_str()).collect();
        let only = members
            .iter()
            .find(|w| {
                ids.len() == 1 && ids.contains(w.id.as_str()) && within().count() == arms.len()
            })
            .map(|w| lowered(view.names.workload(w)));
        let [what, short] = words(&members, class);
        Some(Self {
            has_figures: class == Class::Files || arms.len() > 1,
            told: figures.iter().map(|(_, v)| told(v.mark)).collect(),
            percent: percentages.then(|| format!("{} %", between(ratios.iter().copied()))),
            only,
            what,
            short,
        })
    }

    /// The name for a part of the figures: `large ones`, `figures for large ones`.
    fn parts(&self, of: &str) -> String {
        if self.has_figures { format!("figures for {of}") } else { of.to_owned() }
    }

    fn count(&self, told: Told) -> usize {
        self.told.iter().filter(|of| **of == told).count()
    }

    /// The statement that applies to all figures, if there is such a statement.
    fn whole(&self) -> Option<Told> {
        self.told.first().copied().filter(|first| self.count(*first) == self.told.len())
    }

    /// The figures that the percentages refer to, and their operation. `leads`: whether this text starts the sentence
    /// instead of following its subject.
    fn subject(&self, leads: bool) -> (String, &'static str) {
        let (n, all) = (self.count(Told::Percent), self.told.len());
        let whole = if leads { &self.what } else { &self.short };
        match &self.only {
            _ if 2 * n > all => (whole.clone(), "run at"),
            Some(name) => {
                let comma = if name.contains(',') { "," } else { "" };
                (format!("{name}{comma}"), "run at")
            }
            None => {
                let parts = self.parts(whole);
                (format!("{} of {} {parts}", thousands(n), thousands(all)), Told::Percent.words(n))
            }
        }
    }

    /// `3 of 4 large ones are undecided`
    fn part(&self, told: Told) -> String {
        let n = self.count(told);
        let [of, all] = [n, self.told.len()].map(thousands);
        format!("{of} of {all} {} {}", self.parts(&self.short), told.words(n))
    }
}

/// `large reads and writes`, `large ones`
fn words(members: &[&Workload], class: Class) -> [String; 2] {
    let mut actions: Vec<&str> = Vec::new();
    for w in members {
        if !actions.contains(&action(w)) {
            actions.push(action(w));
        }
    }
    if class == Class::Files {
        let what = match actions.len() {
            0..=2 => list(&actions, 2),
            _ => "work on files".to_owned(),
        };
        return [what.clone(), what];
    }
    let size = size_word(class);
    [format!("{size} {}", list(&actions, actions.len())), format!("{size} ones")]
}

/// `51 to 87`, or one figure if both ends are the same.
pub(crate) fn between(percents: impl Iterator<Item = f64> + Clone) -> String {
    let low = percent_digits(percents.clone().fold(f64::INFINITY, f64::min));
    let high = percent_digits(percents.fold(0.0, f64::max));
    if low == high { low } else { format!("{low} to {high}") }
}

/// The sentence about one system, or about the engine, size by size.
pub(crate) fn by_class(view: &View<'_, '_>, arms: &[&Arm]) -> String {
    let (with, many) = with(view, arms);
    let place = view.place();
    let outcomes: Vec<Outcome> = [Class::Large, Class::Medium, Class::Small, Class::Files]
        .into_iter()
        .filter_map(|class| Outcome::of(view, arms, class))
        .collect();
    let slow: Vec<(&Outcome, &str)> =
        outcomes.iter().filter_map(|o| Some((o, o.percent.as_deref()?))).collect();
    let mut rest = beside(&outcomes, !slow.is_empty());
    let all = |told: Told| outcomes.iter().all(|o| o.whole() == Some(told));
    match slow[..] {
        [] if rest.is_empty() => format!("No trial of {with} was measured on {place}."),
        [] if all(Told::Unmeasured) => {
            let costs = if many { "cost" } else { "costs" };
            format!("Too few repeats were measured on {place} to estimate what {with} {costs}.")
        }
        [] if all(Told::NoLoss) => {
            format!("No loss was found on {place} with {with}.")
        }
        [] if all(Told::Undecided) => {
            let are = if many { "are" } else { "is" };
            format!("Whether {with} {are} slower on {place} is undecided.")
        }
        [] => {
            rest[0] = format!("{} on {place} with {with}", capitalised(&rest[0]));
            format!("{}.", rest.join("; "))
        }
        [(first, percent), ref others @ ..] => {
            let (subject, run) = first.subject(true);
            let mut text = format!("{} on {place} {run} {percent}", capitalised(&subject));
            for (other, percent) in others {
                text = format!("{text}, {} at {percent}", other.subject(false).0);
            }
            text = format!("{text} of plain speed with {with}");
            format!("{}.", [vec![text], rest].concat().join("; "))
        }
    }
}

/// The statements that follow the percentages: `small ones show no loss`, `3 of 4 large ones are undecided`.
fn beside(outcomes: &[Outcome], is_rest: bool) -> Vec<String> {
    let in_part =
        |told: Told| outcomes.iter().filter(|o| o.count(told) > 0 && o.whole().is_none()).count();
    // Partial statements are counted together if results of several sizes are undecided.
    let is_summed = |told: Told| in_part(Told::Undecided) > 1 && in_part(told) > 0;
    let mut said = Vec::new();
    let mut whole: Vec<Told> = outcomes.iter().filter_map(Outcome::whole).collect();
    let mut seen = BTreeSet::new();
    whole.retain(|told| *told != Told::Percent && !is_summed(*told) && seen.insert(*told));
    for told in whole {
        // Statements that apply to several sizes are made once.
        let of = outcomes.iter().filter(|o| o.whole() == Some(told)).enumerate();
        let subjects: Vec<&str> =
            of.map(|(i, o)| if is_rest || i > 0 { &o.short[..] } else { &o.what }).collect();
        let subject = list(&subjects, subjects.len());
        said.push(match told {
            Told::Compressed => format!("the file system compressed {subject}"),
            told => format!("{subject} {}", told.words(2)),
        });
    }
    if in_part(Told::Undecided) > 1 {
        said.push(summed(outcomes, &is_summed));
        return said;
    }
    for o in outcomes.iter().filter(|o| o.whole().is_none()) {
        let (no_loss, undecided) = (o.count(Told::NoLoss), o.count(Told::Undecided));
        if no_loss > 0 && undecided > 0 && no_loss + undecided == o.told.len() {
            said.push(format!("{}, the others show no loss", o.part(Told::Undecided)));
            continue;
        }
        said.extend(BESIDE.into_iter().filter(|told| o.count(*told) > 0).map(|told| o.part(told)));
    }
    said
}

/// `7 of 16 figures are undecided, 7 show no loss`
fn summed(outcomes: &[Outcome], is_summed: &dyn Fn(Told) -> bool) -> String {
    let all: usize = outcomes.iter().map(|o| o.told.len()).sum();
    let count = |told| outcomes.iter().map(|o| o.count(told)).sum::<usize>();
    let undecided = count(Told::Undecided);
    let mut text = format!(
        "{} of {} figures {}",
        thousands(undecided as f64),
        thousands(all as f64),
        Told::Undecided.words(undecided)
    );
    for told in BESIDE.into_iter().filter(|t| *t != Told::Undecided && is_summed(*t)) {
        let n = count(told);
        text = format!("{text}, {} {}", thousands(n as f64), told.words(n));
    }
    text
}

/// The choices as text, and whether there are several.
fn with(view: &View<'_, '_>, arms: &[&Arm]) -> (String, bool) {
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
