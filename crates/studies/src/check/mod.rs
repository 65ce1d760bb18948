//! Conclusions as data: a study's statement, its source, and the check that the study's own numbers
//! must pass.

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
    /// The study's statement, in our words.
    pub text: &'static str,
    /// Source of the statement: document and line in the text from which the numbers come.
    pub source: &'static str,
    /// How an ambiguous wording is interpreted, or what is missing; may be empty.
    pub note: &'static str,
    /// The check on its numbers.
    pub check: Check,
}

/// The numbers that support a conclusion. A check without any published numbers yields
/// [`Verdict::CannotBeChecked`].
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// From `base` to `other`, the numbers fall by the stated percentage, averaged over all cells that both
    /// contain.
    Drop {
        /// The reference numbers.
        base: Select,
        /// The numbers to compare, which are equal in every dimension that both selections treat alike.
        other: Select,
        /// What the percentage refers to.
        of: Denominator,
        /// The stated percentage.
        within: Band,
    },
    /// In every cell, `above` is the stated multiple of `below`.
    Times {
        /// The larger numbers.
        above: Select,
        /// The smaller ones.
        below: Select,
        /// The stated factor.
        within: Band,
    },
    /// `better` is strictly better than `worse` (a higher speed, or a shorter time) in this share of the cells.
    Better {
        /// The supposedly better numbers.
        better: Select,
        /// The supposedly worse numbers.
        worse: Select,
        /// The required share of cells.
        share: Share,
    },
    /// Among numbers that differ in only one dimension, the value `who` has this rank in this share of the cells.
    /// Ties count as first but not as last.
    Ranked {
        /// The numbers to rank.
        among: Select,
        /// The dimension in which they differ.
        along: Dimension,
        /// The value whose rank is checked.
        who: &'static str,
        /// The required rank.
        rank: Rank,
        /// The required share of cells.
        share: Share,
    },
    /// In every cell, `a` and `b` differ by more than the largest number of `noise`. All have the same unit.
    Differ {
        /// One selection.
        a: Select,
        /// The other selection.
        b: Select,
        /// Differences between identical trials.
        noise: Select,
    },
    /// In every cell, `a` and `b` differ by no more than the range of `noise`.
    Alike {
        /// One selection.
        a: Select,
        /// The other selection.
        b: Select,
        /// Ends of the range between identical trials.
        noise: Select,
    },
    /// The mean drops of two pairs differ by at most this many percentage points.
    SameDrop {
        /// Base and other selection of the first pair.
        one: (Select, Select),
        /// Base and other selection of the second pair.
        two: (Select, Select),
        /// Tolerance in percentage points.
        points: f64,
    },
    /// The mean drop of one pair exceeds the mean drop of another.
    LargerDrop {
        /// The pair with the supposedly larger loss, as base and other selection.
        larger: (Select, Select),
        /// The pair with the supposedly smaller loss, as base and other selection.
        smaller: (Select, Select),
    },
    /// The best is better than the worst along a dimension by less, on average, for `a` than for `b`.
    LessSpread {
        /// The numbers that supposedly differ little.
        a: Select,
        /// The numbers that supposedly differ more.
        b: Select,
        /// The dimension in which the numbers of a cell differ.
        along: Dimension,
    },
    /// The smallest of `more` is at least this many times the largest of `less`.
    Exceeds {
        /// The larger numbers.
        more: Select,
        /// The smaller ones.
        less: Select,
        /// The factor between them.
        times: f64,
    },
    /// Every number equals the stated one.
    Equals {
        /// The numbers.
        of: Select,
        /// The stated value.
        value: f64,
    },
    /// The mean of the numbers.
    Mean {
        /// The numbers.
        of: Select,
        /// The stated mean.
        within: Band,
    },
    /// The largest of the numbers.
    Largest {
        /// The numbers.
        of: Select,
        /// The stated maximum.
        within: Band,
    },
    /// Every number that the study derived follows from its printed numbers.
    Rederives,
    /// Some of these numbers were published. Used for conclusions about unpublished numbers: if the numbers are added
    /// to the file, this check reports the addition, and the conclusion needs a proper check.
    Published(Select),
    /// All of these checks. A disagreement decides; without a disagreement, a check that cannot be evaluated decides.
    All(&'static [Check]),
}

/// The reference of a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denominator {
    /// The base number.
    Base,
    /// The larger of the two (study C).
    Larger,
}

/// The share of cells in which a statement must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// In all cells.
    All,
    /// In more than half of the cells.
    Most,
}

/// A rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// No other is better.
    First,
    /// All others are better.
    Last,
}

/// A stated number with the tolerance that its wording allows.
#[derive(Clone, Copy, Debug)]
pub struct Band {
    low: f64,
    high: f64,
    stated: Option<f64>,
}

impl Band {
    /// `stated` plus or minus `room`.
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

/// Whether a conclusion follows from the study's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The numbers support it.
    Agrees,
    /// The numbers contradict it.
    Disagrees,
    /// The necessary numbers were not published.
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

/// A verdict with the numbers behind it.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The verdict.
    pub verdict: Verdict,
    /// The numbers, or the missing numbers; one sentence each.
    pub numbers: Vec<String>,
}

/// Formats a number with at most three significant digits and without trailing zeros.
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
