//! Finds the cell that a user means.

use std::fmt;

use cryptbench_answer::names::Names;
use cryptbench_record::{Arm, Record, Workload};

/// No cell, or more than one, matches this name. Lists the choices.
#[derive(Debug)]
pub struct NoSuchCell {
    what: &'static str,
    asked: String,
    ambiguous: bool,
    /// A choice with this name exists, but the name of a workload is required.
    is_choice: bool,
    /// Identifier and label.
    choices: Vec<(String, String)>,
}

impl fmt::Display for NoSuchCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, asked, .. } = self;
        match (self.ambiguous, self.is_choice, self.choices.first()) {
            (false, true, Some((first, _))) => {
                write!(f, "{asked:?} is a choice; add a workload, for example {first}/{asked}:")?;
            }
            (true, ..) => write!(f, "{asked:?} matches several {what}s, choose one:")?,
            (false, ..) => write!(f, "unknown {what} {asked:?}; known:")?,
        }
        let column = self.choices.iter().map(|(id, _)| id.chars().count()).max().unwrap_or(0);
        for (id, label) in &self.choices {
            write!(f, "\n  {id:column$}  {label}")?;
        }
        Ok(())
    }
}

impl std::error::Error for NoSuchCell {}

/// An object in a plan that has an identifier, a label and a name.
trait Named {
    fn id(&self) -> &str;
    fn label(&self) -> &str;
    fn name<'a>(&'a self, names: &'a Names) -> &'a str;

    /// The label that the record stores for the object.
    fn stored<'a>(&'a self, names: &'a Names) -> &'a str {
        names.label_of(self.name(names)).unwrap_or(self.label())
    }

    fn is_called(&self, asked: &str, names: &Names) -> bool {
        [self.id(), self.label(), self.stored(names)].contains(&asked)
            || self.name(names).eq_ignore_ascii_case(asked)
    }
}

impl Named for Workload {
    fn id(&self) -> &str {
        &self.id
    }
    fn label(&self) -> &str {
        &self.label
    }
    fn name<'a>(&'a self, names: &'a Names) -> &'a str {
        names.workload(self)
    }
}

impl Named for Arm {
    fn id(&self) -> &str {
        &self.id
    }
    fn label(&self) -> &str {
        &self.label
    }
    fn name<'a>(&'a self, names: &'a Names) -> &'a str {
        names.arm(self)
    }
}

/// The workload, and the arm if one is given. Identifiers and labels can contain slashes, so the whole text is
/// tried as a workload first, and then every way to split it.
pub(super) fn find<'r>(
    record: &'r Record,
    names: &Names,
    asked: &str,
) -> Result<(&'r Workload, Option<&'r Arm>), NoSuchCell> {
    let plan = &record.plan;
    let asked = asked.trim();
    let whole = pick("workload", &plan.workloads, names, asked);
    if whole.is_ok() || !asked.contains('/') {
        return whole.map(|w| (w, None)).map_err(|refused| {
            let is_choice = pick("choice", &plan.arms, names, asked).is_ok();
            NoSuchCell { is_choice, ..refused }
        });
    }
    let mut first: Option<NoSuchCell> = None;
    for (at, _) in asked.match_indices('/') {
        match pick("workload", &plan.workloads, names, &asked[..at]) {
            Ok(workload) => {
                let arm = pick("choice", &plan.arms, names, &asked[at + 1..])?;
                return Ok((workload, Some(arm)));
            }
            Err(error) => {
                first.get_or_insert(error);
            }
        }
    }
    Err(first.unwrap_or_else(|| refused("workload", asked, &plan.workloads, false)))
}

/// The object with this name: compares its identifier, its label and its name, then all words of the name, and
/// then parts of words.
fn pick<'r, T: Named>(
    what: &'static str,
    all: &'r [T],
    names: &Names,
    asked: &str,
) -> Result<&'r T, NoSuchCell> {
    let asked = asked.trim();
    let is_called = |x: &&T| x.is_called(asked, names);
    if let Some(exact) = all.iter().find(is_called) {
        return Ok(exact);
    }
    let wanted: Vec<String> = words(asked);
    // A number or a date is never accepted as a part of a name.
    if !wanted.concat().chars().any(char::is_alphabetic) {
        return Err(refused(what, asked, all, false));
    }
    let whole = |x: &&T| {
        let own = [words(x.id()), words(x.label()), words(x.stored(names))].concat();
        wanted.iter().all(|w| own.contains(w))
    };
    let part = |x: &&T| {
        let own = format!("{} {} {}", x.id(), x.label(), x.stored(names)).to_lowercase();
        wanted.iter().all(|w| own.contains(w.as_str()))
    };
    let mut found: Vec<&T> = all.iter().filter(whole).collect();
    if found.is_empty() {
        found = all.iter().filter(part).collect();
    }
    match found[..] {
        [one] => Ok(one),
        [] => Err(refused(what, asked, all, false)),
        _ => Err(refused(what, asked, found, true)),
    }
}

fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| c.is_whitespace() || matches!(c, '-' | '/' | ','));
    let word = |w: &str| w.trim_matches('.').to_lowercase();
    parts.map(word).filter(|w| !w.is_empty()).collect()
}

fn refused<'r, T: Named + 'r>(
    what: &'static str,
    asked: &str,
    choices: impl IntoIterator<Item = &'r T>,
    ambiguous: bool,
) -> NoSuchCell {
    let clean = super::clean;
    NoSuchCell {
        what,
        asked: asked.to_owned(),
        ambiguous,
        is_choice: false,
        choices: choices.into_iter().map(|x| (clean(x.id()), clean(x.label()))).collect(),
    }
}
