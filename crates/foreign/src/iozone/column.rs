//! The columns of iozone's table: the operation of each column, and the assignment of numbers to columns.

use cryptbench_catalog::Pattern;

/// A column of the table. Names and patterns are those of the profile `iozone`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) operation: &'static str,
    pub(super) pattern: Pattern,
    /// The column's name in the lower line of the header.
    word: &'static str,
    /// The name of the spreadsheet table with the column's values.
    pub(super) report: &'static str,
    /// Position after its last letter.
    end: usize,
}

const fn column(
    operation: &'static str,
    pattern: Pattern,
    word: &'static str,
    report: &'static str,
) -> Column {
    Column { operation, pattern, word, report, end: 0 }
}

/// In iozone's order.
pub(super) const ALL: [Column; 13] = [
    column("write", Pattern::Sequential, "write", "Writer"),
    column("rewrite", Pattern::Sequential, "rewrite", "Re-writer"),
    column("read", Pattern::Sequential, "read", "Reader"),
    column("reread", Pattern::Sequential, "reread", "Re-Reader"),
    column("random-read", Pattern::Permutation, "read", "Random read"),
    column("random-write", Pattern::Permutation, "write", "Random write"),
    column("backward-read", Pattern::Backward, "read", "Backward read"),
    column("record-rewrite", Pattern::Same, "rewrite", "Record rewrite"),
    column("stride-read", Pattern::Strided, "read", "Stride read"),
    column("fwrite", Pattern::Sequential, "fwrite", "Fwrite"),
    column("frewrite", Pattern::Sequential, "frewrite", "Re-Fwrite"),
    column("fread", Pattern::Sequential, "fread", "Fread"),
    column("freread", Pattern::Sequential, "freread", "Re-Fread"),
];

/// Maximum distance between the right edges of a number and its heading. iozone's headings and formats differ by one
/// character, and neighbouring columns are eight characters apart.
const DRIFT: usize = 3;

/// The words of a line, each with the position after its last character.
pub(super) fn words(line: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    let mut rest = 0;
    for word in line.split_whitespace() {
        let start = rest + line[rest..].find(word).unwrap_or(0);
        rest = start + word.len();
        found.push((word, rest));
    }
    found
}

/// The columns, if the line is the lower line of the header.
pub(super) fn header(line: &str) -> Option<Result<Vec<Column>, String>> {
    let words = words(line);
    let [(size, _), (record, _), names @ ..] = words.as_slice() else { return None };
    if !size.eq_ignore_ascii_case("kb") || *record != "reclen" {
        return None;
    }
    // Some tables lack the last columns (-i without fwrite on systems without stdio), but never the first columns.
    if names.len() > ALL.len() || !names.iter().zip(ALL).all(|((name, _), c)| *name == c.word) {
        let known: Vec<&str> = ALL.iter().map(|c| c.word).collect();
        return Some(Err(format!("expected the columns {}", known.join(" "))));
    }
    Some(Ok(names.iter().zip(ALL).map(|((_, end), c)| Column { end: *end, ..c }).collect()))
}

/// Assigns each number to its column. A full row is in column order. If there are blanks for tests that did not run,
/// the position in the line determines the column.
pub(super) fn place<'a, 'c>(
    values: &[(&'a str, usize)],
    columns: &'c [Column],
) -> Result<Vec<(&'c Column, &'a str)>, String> {
    if values.len() == columns.len() {
        return Ok(columns.iter().zip(values).map(|(c, (text, _))| (c, *text)).collect());
    }
    let mut found: Vec<(&Column, &str)> = Vec::new();
    for (text, end) in values {
        let mut near = columns.iter().filter(|c| c.end.abs_diff(*end) <= DRIFT);
        let (Some(column), None) = (near.next(), near.next()) else {
            return Err(format!("{text} is not under exactly one column of the header"));
        };
        if found.iter().any(|(c, _)| *c == column) {
            return Err(format!("two numbers stand under `{}`", column.operation));
        }
        found.push((column, *text));
    }
    Ok(found)
}
