//! What is stored on the disk: one line for each arm, followed by what its stored data reveals.

use cryptbench_answer::evidence::{Row, method, rows};
use cryptbench_record::Record;

use super::layout::{add, clean, empty, text, widest};
use super::wrap;

/// The section, at most `width` columns wide; `None` if no arm was examined.
pub(super) fn section(record: &Record, width: usize) -> Option<String> {
    let rows = rows(record);
    if rows.is_empty() {
        return None;
    }
    let headings = ["Data stored on the disk", "read back", "plaintext", "bits/byte"];
    let mut table = empty(headings.map(str::to_owned).into());
    for row in &rows {
        let label = clean(&row.arm.label);
        add(
            &mut table,
            vec![label, row.read_back.clone(), row.plaintext.to_owned(), row.entropy.clone()],
        );
    }
    // Lines of text are inserted between the lines of the table, and do not widen the table.
    let table = text(&table);
    if widest(&table) > width {
        return Some(listed(record, &rows, width));
    }
    let mut lines = table.lines();
    let mut all: Vec<String> = lines.by_ref().take(2).map(str::to_owned).collect();
    for (line, row) in lines.zip(&rows) {
        all.push(line.to_owned());
        all.push(wrap(&format!("shows {}", row.reveals), "    ", "    ", width));
    }
    all.extend(method(record).iter().map(|said| wrap(said, "", "  ", width)));
    Some(all.into_iter().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n"))
}

/// The section as a list instead of a table, for narrow terminals.
fn listed(record: &Record, rows: &[Row<'_>], width: usize) -> String {
    let mut all = vec![wrap("Data stored on the disk:", "", "  ", width)];
    for row in rows {
        let words = format!(
            "{}: read back {}, plaintext {}, bits/byte {}; visible: {}",
            clean(&row.arm.label),
            row.read_back,
            row.plaintext,
            row.entropy,
            row.reveals
        );
        all.push(wrap(&words, "", "    ", width));
    }
    all.extend(method(record).iter().map(|said| wrap(said, "", "  ", width)));
    all.join("\n")
}
