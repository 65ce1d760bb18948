//! The studies' conclusions, tested on the user's own records.
//!
//! A conclusion is a range for one figure, such as a loss of 40 % with a tolerance of 3 points for the study's
//! rounding, or any loss above 0. It holds on this machine if the figure's interval is in that range, does not hold
//! if the interval is outside it, and is otherwise undecided. Figures come from pairs of trials, so that the drift
//! of the disk cancels out. The intervals are not corrected for multiplicity. Conclusions that need several
//! devices, or numbers that the record lacks, are not tested.

mod claims;
mod figures;

use cryptbench_record::{Cell, Record};
use serde::Serialize;

use crate::study::Letter;
use figures::View;

/// Whether something holds on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// The interval is in the range of the conclusion.
    Holds,
    /// The interval is outside the range.
    DoesNotHold,
    /// The conclusion holds for some systems, but not for others.
    HoldsForSome,
    /// The interval extends beyond the range.
    CannotBeTold,
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::HoldsForSome => "holds for some",
            Self::CannotBeTold => "cannot be told",
        })
    }
}

/// A conclusion on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct Tested {
    /// The study.
    pub study: Letter,
    /// The conclusion's identifier; usually that of the [replay](crate::Replayed).
    pub id: &'static str,
    /// The study's statement, in our words.
    pub text: &'static str,
    /// Whether it holds here.
    pub told: Told,
    /// The figures behind it, one for each system.
    pub parts: Vec<Part>,
}

/// A figure behind a verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The system, or the object that the figure describes.
    pub of: String,
    /// Whether the conclusion holds for that system or object.
    pub told: Told,
    /// The figure with its interval, in words.
    pub figure: String,
}

/// Tests every conclusion of one study, or of all studies, for which the records (each with its cells) contain the
/// data. The records must come from one machine and device, as those that `run --study` creates.
pub fn conclusions(study: Option<Letter>, records: &[(&Record, &[Cell])]) -> Vec<Tested> {
    let views: Vec<View<'_>> =
        records.iter().map(|(record, cells)| View::of(record, cells)).collect();
    let claims = claims::CLAIMS.iter().filter(|c| study.is_none_or(|study| c.study == study));
    claims
        .filter_map(|claim| {
            let mut parts: Vec<Part> = Vec::new();
            for part in views.iter().flat_map(|view| (claim.test)(view)) {
                // Each record contains the same measurements in RAM.
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
            let told = together(&parts)?;
            Some(Tested { study: claim.study, id: claim.id, text: claim.text, told, parts })
        })
        .collect()
}

/// Whether a conclusion with that identifier is tested on records.
pub fn tests(study: Letter, id: &str) -> bool {
    claims::CLAIMS.iter().any(|claim| claim.study == study && claim.id == id)
}

/// The verdict over all systems; `None` if there are none.
fn together(parts: &[Part]) -> Option<Told> {
    let first = parts.first()?.told;
    let has = |told| parts.iter().any(|part| part.told == told);
    Some(match parts.iter().all(|part| part.told == first) {
        true => first,
        false if has(Told::Holds) => Told::HoldsForSome,
        false => Told::CannotBeTold,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_that_disagree_are_told_apart() {
        let parts = |told: &[Told]| -> Vec<Part> {
            let part = |told: &Told| Part { of: String::new(), told: *told, figure: String::new() };
            told.iter().map(part).collect()
        };
        use Told::{CannotBeTold, DoesNotHold, Holds, HoldsForSome};
        assert_eq!(together(&[]), None);
        assert_eq!(together(&parts(&[Holds, Holds])), Some(Holds));
        assert_eq!(together(&parts(&[Holds, DoesNotHold])), Some(HoldsForSome));
        assert_eq!(together(&parts(&[Holds, CannotBeTold])), Some(HoldsForSome));
        assert_eq!(together(&parts(&[CannotBeTold, DoesNotHold])), Some(CannotBeTold));
    }
}
