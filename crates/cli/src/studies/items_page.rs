//! The table of docs/studies.md: everything that the studies contain, each with the command that shows it.

use clap::Parser as _;
use cryptbench_studies::items::{Item, items, table};
use cryptbench_studies::{Files, replay};
use cryptbench_view::table::markdown;

use crate::args::Args;
use crate::generated::check;

const MARK: &str = "<!-- generated: items of the studies, by cargo xtask readme -->\n";

fn all() -> Vec<Item> {
    let files = Files::published();
    items(&files, &replay(&files, &[]).unwrap()).unwrap()
}

/// The table, with commands as code.
fn written(all: &[Item]) -> String {
    let table = table(all);
    let headings = table.headings.iter().map(ToString::to_string).collect();
    let code = |mut row: Vec<String>| {
        row[3] = format!("`{}`", row[3]);
        row
    };
    let rows: Vec<_> = std::iter::once(headings).chain(table.lines().map(code)).collect();
    // These columns contain no numbers, so they are not right-aligned.
    let grid = markdown::grid(&rows).replace("\\`", "`").replace("---:", "---");
    format!("\n{}.\n\n{grid}\n", table.title)
}

#[test]
fn docs_have_every_item_of_the_studies() {
    check("studies.md", MARK, &written(&all()));
}

#[test]
fn every_item_is_shown_by_a_command_that_there_is() {
    let all = all();
    assert_eq!(all.len(), 125);
    for item in &all {
        let words = item.command.split(' ');
        if let Err(error) = Args::try_parse_from(words) {
            panic!("{}: {}\n{error}", item.item, item.command);
        }
    }
}
