//! Conclusions as data: what a study says, where, and the check that its own numbers must pass.

mod evaluate;
mod pairs;

pub(crate) use pairs::size;

use std::fmt;

use serde::Serialize;

use crate::observation::{Dimension, Select};

/// One conclusion of a study.
#[derive(Clone, Copy, Debug)]
pub struct Conclusion {
    /// Unique within the study, such as `ssd-small-reads`.
    pub id: &'static str,
    /// What the study says, in our words.
    pub text: &'static str,
    /// Where it says so: document and line of the text that the numbers were taken from.
    pub source: &'static str,
    /// How its words were taken where they leave room, or what is missing; may be empty.
    pub note: &'static str,
    /// What its numbers must show.
    pub check: Check,
}

/// What numbers must show for a conclusion to agree with them. Every check over numbers of which none is published
/// says so instead ([`Verdict::CannotBeChecked`]).
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// From `base` to `other`, numbers become smaller by so many percent in the mean over all cells that both have.
    Drop {
        /// The numbers to start from.
        base: Select,
        /// The numbers beside them, alike in all that is not selected differently.
        other: Select,
        /// What the percent are of.
        of: Denominator,
        /// What was stated.
        within: Band,
    },
    /// In every cell, `above` is so many times `below`.
    Times {
        /// The larger numbers.
        above: Select,
        /// The smaller ones.
        below: Select,
        /// What was stated.
        within: Band,
    },
    /// In this share of the cells `better` is strictly better than `worse`: faster, or shorter for a time.
    Better {
        /// Said to be better.
        better: Select,
        /// Said to be worse.
        worse: Select,
        /// In how many cells.
        share: Share,
    },
    /// Among the numbers that differ in one dimension alone, `who` has this rank in this share of the cells; ties count
    /// as first and not as last.
    Ranked {
        /// The arms.
        among: Select,
        /// In what they differ.
        along: Dimension,
        /// Whose rank it is.
        who: &'static str,
        /// Which rank.
        rank: Rank,
        /// In how many cells.
        share: Share,
    },
    /// `a` and `b` differ in every cell by more than the largest number of `noise`, all in one unit.
    Differ {
        /// One.
        a: Select,
        /// The other.
        b: Select,
        /// Differences between identical trials.
        noise: Select,
    },
    /// `a` and `b` differ in every cell by no more than the numbers of `noise` lie apart.
    Alike {
        /// One.
        a: Select,
        /// The other.
        b: Select,
        /// Ends of the range of identical trials.
        noise: Select,
    },
    /// The mean drop of one pair and that of another differ by at most so many points.
    SameDrop {
        /// Base and other of one.
        one: (Select, Select),
        /// Base and other of the other.
        two: (Select, Select),
        /// Percentage points.
        points: f64,
    },
    /// The mean drop of one pair is larger than that of another.
    LargerDrop {
        /// Base and other of what is said to lose more.
        larger: (Select, Select),
        /// Base and other of what is said to lose less.
        smaller: (Select, Select),
    },
    /// The best of those that differ along a dimension beats the worst by less among `a` than among `b`, in the mean.
    LessSpread {
        /// Said to differ little.
        a: Select,
        /// Said to differ much.
        b: Select,
        /// In what the numbers of a cell differ.
        along: Dimension,
    },
    /// Every number is this one.
    Equals {
        /// The numbers.
        of: Select,
        /// What was stated.
        value: f64,
    },
    /// The mean of the numbers.
    Mean {
        /// The numbers.
        of: Select,
        /// What was stated.
        within: Band,
    },
    /// The largest of the numbers.
    Largest {
        /// The numbers.
        of: Select,
        /// What was stated.
        within: Band,
    },
    /// Every number that the study derived follows from those that it printed.
    Rederives,
    /// There are such numbers at all. For conclusions on what the study did not publish: a number that is added to its
    /// file shows up here, and wants a check of its own.
    Published(Select),
    /// All of these: one that disagrees decides, then one that cannot be checked.
    All(&'static [Check]),
}

/// What a percentage is taken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denominator {
    /// The number to start from.
    Base,
    /// The larger of the two (study C).
    Larger,
}

/// In how many cells something must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// In all.
    All,
    /// In more than half.
    Most,
}

/// A place among arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// None is better.
    First,
    /// All others are better.
    Last,
}

/// A stated number with the room that its wording leaves.
#[derive(Clone, Copy, Debug)]
pub struct Band {
    low: f64,
    high: f64,
    stated: Option<f64>,
}

impl Band {
    /// `stated`, give or take `room`.
    pub const fn about(stated: f64, room: f64) -> Self {
        Self { low: stated - room, high: stated + room, stated: Some(stated) }
    }

    /// From `low` to `high`.
    pub const fn between(low: f64, high: f64) -> Self {
        Self { low, high, stated: None }
    }

    fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stated {
            Some(stated) => write!(f, "{stated} ± {}", rounded(self.high - stated)),
            None => write!(f, "{} to {}", self.low, self.high),
        }
    }
}

/// Whether a conclusion follows from the numbers beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Agrees,
    /// It does not.
    Disagrees,
    /// The numbers that it needs were not published.
    CannotBeChecked,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agrees => "agrees",
            Self::Disagrees => "DISAGREES",
            Self::CannotBeChecked => "cannot be checked from the published numbers",
        })
    }
}

/// A verdict with the numbers that it rests on.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The verdict.
    pub verdict: Verdict,
    /// What the numbers are, or which are missing; one sentence each.
    pub numbers: Vec<String>,
}

/// A number with three significant digits behind it at most, and no zeros at its end.
pub(crate) fn rounded(value: f64) -> String {
    let decimals = if value.abs() >= 100.0 {
        1
    } else if value.abs() >= 1.0 {
        2
    } else {
        3
    };
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
