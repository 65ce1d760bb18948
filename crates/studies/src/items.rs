//! Everything that the studies contain: figures, tools, systems, devices, questions and conclusions, each with the
//! command that shows it in this program.

use serde::Serialize;

use crate::check::Verdict;
use crate::error::DataError;
use crate::files::Files;
use crate::here;
use crate::replay::{Replay, Replayed};
use crate::study::Letter;
use crate::table::Table;

/// One item of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// The study.
    pub study: Letter,
    /// `figure`, `procedure`, `tool`, `system`, `device`, `question` or `conclusion`.
    pub kind: String,
    /// What it is.
    pub item: String,
    /// The command that shows it.
    pub command: String,
    /// What that command requires in addition to this program; may be empty.
    pub needs: String,
    /// Why the item cannot be shown; empty if it can be shown.
    pub not_here: String,
}

impl Item {
    /// `works`, `works with …` or `not here: …`.
    pub fn state(&self) -> String {
        match (self.not_here.as_str(), self.needs.as_str()) {
            ("", "") => "works".to_owned(),
            ("", needs) => format!("works with {needs}"),
            (why, _) => format!("not here: {why}"),
        }
    }
}

/// If a file of published numbers is malformed.
pub fn items(files: &Files, studies: &[Replay]) -> Result<Vec<Item>, DataError> {
    let csv = files.csv("items")?;
    let mut written = Vec::new();
    for row in csv.rows() {
        let text = |column| row.text(column).map(str::to_owned);
        let letter = row.text("study")?;
        let Some(replay) = studies.iter().find(|s| s.about.letter.to_string() == letter) else {
            continue;
        };
        written.push(Item {
            study: replay.about.letter,
            kind: text("kind")?,
            item: text("item")?,
            command: text("command")?,
            needs: text("needs")?,
            not_here: text("not_here")?,
        });
    }
    let (own, rest): (Vec<_>, Vec<_>) =
        written.into_iter().partition(|item| item.kind == "conclusion");
    let mut all = Vec::new();
    for study in studies {
        let letter = study.about.letter;
        all.extend(rest.iter().filter(|item| item.study == letter).cloned());
        all.extend(study.conclusions.iter().map(|one| conclusion(letter, one, &own)));
    }
    Ok(all)
}

/// A conclusion: as in `items.csv`, or with the command that tests or replays it.
fn conclusion(study: Letter, one: &Replayed, own: &[Item]) -> Item {
    let item = Item {
        study,
        kind: "conclusion".to_owned(),
        item: one.text.to_owned(),
        command: String::new(),
        needs: String::new(),
        not_here: String::new(),
    };
    if let Some(own) = own.iter().find(|own| own.study == study && own.item == one.id) {
        return Item { item: item.item, ..own.clone() };
    }
    if here::tests(study, one.id) {
        return Item { command: format!("cryptbench run --study {study}"), ..item };
    }
    let not_here = match (one.finding.verdict, one.note) {
        (Verdict::CannotBeChecked, "") => "the study did not measure it",
        (Verdict::CannotBeChecked, note) => note,
        _ => "",
    };
    let command = format!("cryptbench studies {study}");
    Item { command, not_here: not_here.to_owned(), ..item }
}

/// The items as a table.
pub fn table(items: &[Item]) -> Table {
    let row = |item: &Item| {
        vec![
            item.study.to_string().into(),
            item.kind.clone().into(),
            item.item.clone().into(),
            item.command.clone().into(),
            item.state().into(),
        ]
    };
    let works = items.iter().filter(|item| item.not_here.is_empty()).count();
    Table {
        title: format!("{} items of the studies, of which {works} work", items.len()),
        headings: vec!["study", "what", "item", "command", "state"],
        rows: items.iter().map(row).collect(),
        note: "",
    }
}
