//! The answer of a run as data: the cost, what to use, what to avoid, and open questions. The terminal and the page
//! display the same model.

use std::path::Path;

use cryptbench_catalog::Presentation;
use cryptbench_estimate::binding::Bound;
use cryptbench_estimate::cast::Cast;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, InUse};

use crate::command::Command;
use crate::figure::{Figure, figure};
use crate::names::Names;
use crate::{avoid, headline, machine, open, opening, take, why};

/// Maximum number of lines of advice, over [`Answer::take`] and [`Answer::avoid`].
pub(crate) const MOST_ADVICE: usize = 5;

/// The answer.
pub struct Answer<'a> {
    /// The answer in a sentence or two, with its scope.
    pub headline: Vec<String>,
    /// The figures behind it.
    pub figure: Figure<'a>,
    /// Recommendations, each line with its figure; faults of the machine itself come first.
    pub take: Vec<String>,
    /// What not to use, and why.
    pub avoid: Vec<String>,
    /// The bottleneck of each system, with its figure.
    pub why: Vec<String>,
    /// Undecided, unmeasured or disturbed results, the most important first.
    pub open: Vec<Open>,
}

/// One open question.
pub struct Open {
    /// The undecided result and the reason.
    pub text: String,
    /// The command that settles it.
    pub command: Option<Command>,
}

impl Open {
    pub(crate) fn new(text: String) -> Self {
        Self { text, command: None }
    }

    /// Text and command in one line; the command is for use in the directory `here`.
    pub fn line(&self, here: Option<&Path>) -> String {
        self.line_of(here, None)
    }

    /// Like [`Self::line`], for a user who knows the directory of the run: `run` is that directory as an argument.
    pub fn line_of(&self, here: Option<&Path>, run: Option<&str>) -> String {
        match &self.command {
            Some(command) => format!("{} {}", self.text, command.typed_of(here, run)),
            None => self.text.clone(),
        }
    }
}

impl Answer<'_> {
    /// What to use, then what to avoid.
    pub fn advice(&self) -> impl Iterator<Item = &String> {
        self.take.iter().chain(&self.avoid)
    }
}

/// The answer of a run whose cells have verdicts.
pub(crate) fn answer<'a>(lookup: &Lookup<'a>, names: &Names, bindings: &[Bound<'a>]) -> Answer<'a> {
    if lookup.record.plan.form() == Presentation::Unlock {
        return opening::answer(lookup);
    }
    let view = View { lookup, names, cast: Cast::of(lookup) };
    let (mut take, avoid) = (machine::remedies(&view), avoid::avoid(&view));
    take.extend(take::take(&view));
    take.truncate(MOST_ADVICE - avoid.len().min(2));
    let room = MOST_ADVICE - take.len();
    Answer {
        headline: headline::headline(&view),
        figure: figure(&view),
        take,
        avoid: avoid.into_iter().take(room).collect(),
        why: why::lines(&view, bindings),
        open: open::open(&view),
    }
}

/// The input for the parts of an answer.
pub(crate) struct View<'a, 'l> {
    pub(crate) lookup: &'l Lookup<'a>,
    pub(crate) names: &'l Names,
    pub(crate) cast: Cast<'a>,
}

impl View<'_, '_> {
    /// The device in use, if the run compared such a device with its underlying device.
    pub(crate) fn in_use(&self) -> Option<&InUse> {
        self.lookup.record.target.paired.as_ref()?.in_use.as_ref()
    }

    /// The recommended choice: the first choice in the ranking that is not to be avoided.
    pub(crate) fn taken(&self) -> Option<&Arm> {
        let is_taken = |arm: &&Arm| !avoid::is_avoided(self, arm);
        self.cast.ranked().map(|row| row.arm).find(is_taken)
    }

    /// The measured storage: the name of the disk, or of the model that is used instead of a disk.
    pub(crate) fn place(&self) -> String {
        let target = &self.lookup.record.target;
        match (&target.emulated, &target.device) {
            (Some(emulated), _) => format!("the EMULATED {}", emulated.model),
            (None, Some(device)) => device.name.clone(),
            (None, None) => target.directory.clone(),
        }
    }
}
