//! The published studies' conclusions, tested on a record, as text.

use cryptbench_record::Record;
use cryptbench_studies::Letter;
use cryptbench_studies::here::{Part, Tested, Told, conclusions};

use crate::prose::{clean, wrap};

/// Systems of which a conclusion shows the figures.
const MOST_PARTS: usize = 6;

/// Columns of a verdict.
const VERDICT: usize = 16;

/// The conclusions that `record` can carry.
pub(crate) fn tested(record: &Record) -> Vec<Tested> {
    conclusions(None, &[record])
}

/// The conclusions with one figure each, for the end of a study's answer.
#[must_use]
pub fn brief(tested: &[Tested], width: usize) -> String {
    listed(tested, 1, width)
}

/// The conclusions with their figures.
pub(crate) fn full(tested: &[Tested], width: usize) -> Option<String> {
    (!tested.is_empty()).then(|| listed(tested, MOST_PARTS, width).trim_end().to_owned())
}

/// How many hold, and what the verdicts mean, in a sentence.
pub(crate) fn summary(tested: &[Tested]) -> String {
    let count = |told| tested.iter().filter(|t| t.told == told).count();
    let counts = [Told::Holds, Told::HoldsForSome, Told::DoesNotHold, Told::CannotBeTold]
        .map(|told| (count(told), told))
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, told)| format!("{told}: {n}"));
    counts.collect::<Vec<_>>().join(", ")
}

/// What a conclusion is, with its study.
pub(crate) fn statement(one: &Tested) -> String {
    format!("{}: {}", one.study, one.text)
}

/// The figures of a conclusion, of `most` systems at most.
pub(crate) fn figures(one: &Tested, most: usize) -> String {
    let words = |part: &Part| {
        let told = match one.told == part.told {
            true => String::new(),
            false => format!(", {}", part.told),
        };
        format!("{} {}{told}", clean(&part.of), part.figure)
    };
    let all: Vec<String> = one.parts.iter().take(most).map(words).collect();
    if one.parts.len() <= most {
        return all.join("; ");
    }
    let count = |told| one.parts.iter().filter(|part| part.told == told).count();
    let (holds, not) = (count(Told::Holds), count(Told::DoesNotHold));
    format!("of {} it holds for {holds}, and not for {not}; {}", one.parts.len(), all.join("; "))
}

fn listed(tested: &[Tested], most: usize, width: usize) -> String {
    let mut lines = vec![wrap(
        &format!("The studies' conclusions on this machine ({})", summary(tested)),
        "",
        "  ",
        width,
    )];
    let rest = " ".repeat(VERDICT);
    for letter in [Letter::A, Letter::B, Letter::C, Letter::D] {
        for one in tested.iter().filter(|one| one.study == letter) {
            let first = format!("{:<VERDICT$}", one.told.to_string());
            lines.push(wrap(&statement(one), &first, &rest, width));
            lines.push(wrap(&figures(one, most), &rest, &rest, width));
        }
    }
    lines.join("\n") + "\n"
}
