//! Lays out tables and paragraphs in a given number of columns.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use textwrap::core::display_width;

use crate::prose::wrap;

/// A single rule, below the headings.
pub(crate) const RULED: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Width of the gap between two columns of a table.
pub(crate) const GAP: u16 = 2;

/// A table that is at most `width` columns wide. Fields from the column `numbers` on are right-aligned.
pub fn grid(headings: &[&str], rows: Vec<Vec<String>>, numbers: usize, width: usize) -> String {
    let headings = headings.iter().map(|h| (*h).to_owned()).collect();
    fitted(filled(headings, rows, |i| i < numbers, (RULED, GAP)), width)
}

/// A table without rules. The first column and those from `words` on are left-aligned.
pub fn bare(headings: Vec<String>, rows: Vec<Vec<String>>, words: usize, width: usize) -> String {
    let is_left = |i| i == 0 || i >= words;
    fitted(filled(headings, rows, is_left, (TableStyle::new(), GAP + 1)), width)
}

/// A table without rules, with two blanks between columns if there is room, otherwise one blank.
pub fn compact(
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
    is_left: impl Fn(usize) -> bool,
    width: usize,
) -> String {
    let roomy = filled(headings.clone(), rows.clone(), &is_left, (TableStyle::new(), GAP));
    match roomy.trim_fmt() {
        text if widest(&text) <= width => text,
        _ => fitted(filled(headings, rows, is_left, (TableStyle::new(), 1)), width),
    }
}

fn filled(
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
    is_left: impl Fn(usize) -> bool,
    (style, gap): (TableStyle, u16),
) -> Table {
    let mut table = begun(aligned(headings, &is_left), style, gap);
    for row in rows {
        table.add_row(aligned(row, &is_left));
    }
    table
}

/// A table with these headings and no rows, with `gap` columns between two table columns.
pub(crate) fn begun(headings: Vec<Cell>, style: TableStyle, gap: u16) -> Table {
    let mut table = Table::new();
    table.load_style(style);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headings);
    let columns = table.column_count();
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if i + 1 == columns { 0 } else { gap }));
    }
    table
}

/// The fields of a row, aligned to the left or to the right.
pub(crate) fn aligned(row: Vec<String>, is_left: impl Fn(usize) -> bool) -> Vec<Cell> {
    let side = |i| if is_left(i) { CellAlignment::Left } else { CellAlignment::Right };
    row.into_iter().enumerate().map(|(i, f)| Cell::new(f).set_alignment(side(i))).collect()
}

/// The table, at most `width` columns wide; fields are broken into lines where necessary.
pub(crate) fn fitted(mut table: Table, width: usize) -> String {
    let wide = table.trim_fmt();
    if widest(&wide) <= width {
        return wide;
    }
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.trim_fmt()
}

/// Width of the widest line in columns.
pub(crate) fn widest(text: &str) -> usize {
    text.lines().map(display_width).max().unwrap_or(0)
}

/// A paragraph in which all lines have the same indent.
pub fn paragraph(text: &str, width: usize, indent: usize) -> String {
    hang(&" ".repeat(indent), text, width)
}

/// Text whose first line starts with `first`; the other lines are indented by the width of `first`.
pub fn hang(first: &str, text: &str, width: usize) -> String {
    wrap(text, first, &" ".repeat(display_width(first)), width)
}
