//! The answer of a run as data: what it costs, what to take, what to avoid, and what is still open. The terminal and the
//! page draw this one model.

mod avoid;
mod budget;
mod cast;
mod figure;
mod headline;
mod machine;
mod open;
mod opening;
mod parts;
mod take;

use std::path::Path;

use cryptbench_record::InUse;

pub(crate) use self::avoid::has_known_weakness;
use self::cast::Cast;
pub use self::figure::in_order;
pub(crate) use self::figure::{Columns, Figure, Ladder, Mark, Row, Rung, Value, figure};
pub(crate) use self::machine::is_kernels;
pub(crate) use self::opening::OpeningRow;
use crate::lookup::Lookup;
use crate::names::Names;
use crate::presentation::Form;

/// Lines of advice at most, over [`Answer::take`] and [`Answer::avoid`].
const MOST_ADVICE: usize = 5;

/// The answer.
pub(crate) struct Answer<'a> {
    /// The answer in a sentence or two, with what it holds for.
    pub(crate) headline: Vec<String>,
    /// The figures behind it.
    pub(crate) figure: Figure<'a>,
    /// What to do, each line with its figure; what the machine itself does wrong comes first.
    pub(crate) take: Vec<String>,
    /// What not to use, and why.
    pub(crate) avoid: Vec<String>,
    /// What is undecided, unmeasured or was disturbed, the most important first.
    pub(crate) open: Vec<Open>,
}

/// One open question.
pub(crate) struct Open {
    /// What is open, and why.
    pub(crate) text: String,
    /// What settles it.
    pub(crate) command: Option<String>,
}

impl Open {
    fn new(text: String) -> Self {
        Self { text, command: None }
    }

    /// Text and command in one line.
    pub(crate) fn line(&self) -> String {
        match &self.command {
            Some(command) => format!("{} {command}", self.text),
            None => self.text.clone(),
        }
    }
}

/// The answer of a run whose cells are judged. `here` is the directory in which commands will be typed.
pub(crate) fn answer<'a>(lookup: &'a Lookup<'a>, here: Option<&Path>) -> Answer<'a> {
    if Form::of(lookup.record) == Form::Unlock {
        return opening::answer(lookup);
    }
    let names = Names::of(&lookup.record.plan);
    let view = View { lookup, names, cast: Cast::of(lookup), here };
    let (mut take, avoid) = (machine::remedies(&view), avoid::avoid(&view));
    take.extend(take::take(&view));
    take.truncate(MOST_ADVICE - avoid.len().min(2));
    let room = MOST_ADVICE - take.len();
    Answer {
        headline: headline::headline(&view),
        figure: figure(&view),
        take,
        avoid: avoid.into_iter().take(room).collect(),
        open: open::open(&view),
    }
}

/// What the parts of an answer look at.
pub(crate) struct View<'a, 'h> {
    lookup: &'a Lookup<'a>,
    names: Names,
    cast: Cast<'a>,
    here: Option<&'h Path>,
}

impl View<'_, '_> {
    /// The device in use, if the run compared one with the device below it.
    fn in_use(&self) -> Option<&InUse> {
        self.lookup.record.target.paired.as_ref()?.in_use.as_ref()
    }

    /// What was measured: the name of the disk, or of the model that stood for one.
    fn place(&self) -> String {
        let target = &self.lookup.record.target;
        match (&target.emulated, &target.device) {
            (Some(emulated), _) => format!("the EMULATED {}", emulated.model),
            (None, Some(device)) => device.name.clone(),
            (None, None) => target.directory.clone(),
        }
    }
}
