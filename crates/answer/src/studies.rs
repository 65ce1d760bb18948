//! The conclusions of published studies, tested on a record, as text.

use cryptbench_estimate::lookup::Lookup;
use cryptbench_studies::here::{Part, Tested, Told, conclusions};
use cryptbench_text::clean;

/// The conclusions for which a record has the data.
pub fn tested(lookup: &Lookup<'_>) -> Vec<Tested> {
    conclusions(None, &[(lookup.record, &lookup.cells)])
}

/// How many conclusions hold, and what the verdicts mean, in a sentence.
pub fn summary(tested: &[Tested]) -> String {
    let count = |told| tested.iter().filter(|t| t.told == told).count();
    let counts = [Told::Holds, Told::HoldsForSome, Told::DoesNotHold, Told::CannotBeTold]
        .map(|told| (count(told), told))
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, told)| format!("{told}: {n}"));
    counts.collect::<Vec<_>>().join(", ")
}

/// The text of a conclusion, with its study.
pub fn statement(one: &Tested) -> String {
    format!("{}: {}", one.study, one.text)
}

/// The figures of a conclusion, for at most `most` systems.
pub fn figures(one: &Tested, most: usize) -> String {
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
    format!(
        "of {} comparisons it holds for {holds}, and not for {not}; {}",
        one.parts.len(),
        all.join("; ")
    )
}
