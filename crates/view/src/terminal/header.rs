//! The machine, the target and the plan, above the table.

use cryptbench_answer::surroundings::{occasion, surroundings};
use cryptbench_record::Record;

use super::wrap;

pub(super) fn title(record: &Record, width: usize) -> String {
    let own = record.title.as_ref().map_or_else(String::new, |title| format!("{title}, "));
    let title = format!("cryptbench {}: {own}{}", record.program_version, occasion(record));
    wrap(&title, "", "  ", width)
}

/// The lines below the title.
pub(super) fn facts(record: &Record, width: usize) -> String {
    let facts = surroundings(record);
    let column = facts.iter().map(|(about, _)| about.as_str().len()).max().unwrap_or(0) + 2;
    let lines = facts.iter().map(|(about, words)| {
        let name = about.as_str();
        wrap(words, &format!("{name:column$}"), &" ".repeat(column), width)
    });
    lines.collect::<Vec<_>>().join("\n")
}
