//! Tables and paragraphs in a given number of columns.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table as Grid, TableStyle};
use cryptbench_view::wrap;

const LINES: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Columns between two columns of a table.
const GAP: u16 = 2;

/// A table in at most `width` columns; columns from `numbers` on stand to the right.
pub fn grid(headings: &[&str], rows: Vec<Vec<String>>, numbers: usize, width: usize) -> String {
    let mut grid = Grid::new();
    grid.load_style(LINES);
    let aligned = |row: Vec<String>| -> Vec<Cell> {
        let side = |i| if i < numbers { CellAlignment::Left } else { CellAlignment::Right };
        row.into_iter().enumerate().map(|(i, f)| Cell::new(f).set_alignment(side(i))).collect()
    };
    grid.set_header(aligned(headings.iter().map(|h| (*h).to_owned()).collect()));
    for row in rows {
        grid.add_row(aligned(row));
    }
    let columns = grid.column_count();
    for (i, column) in grid.column_iter_mut().enumerate() {
        column.set_padding((0, if i + 1 == columns { 0 } else { GAP }));
    }
    fitted(grid, width)
}

/// A table without rules; the first column and those from `words` on stand to the left.
pub fn bare(headings: Vec<String>, rows: Vec<Vec<String>>, words: usize, width: usize) -> String {
    let mut grid = Grid::new();
    grid.load_style(TableStyle::new());
    let aligned = |row: Vec<String>| -> Vec<Cell> {
        let left = |i| i == 0 || i >= words;
        let side = |i| if left(i) { CellAlignment::Left } else { CellAlignment::Right };
        row.into_iter().enumerate().map(|(i, f)| Cell::new(f).set_alignment(side(i))).collect()
    };
    grid.set_header(aligned(headings));
    for row in rows {
        grid.add_row(aligned(row));
    }
    let columns = grid.column_count();
    for (i, column) in grid.column_iter_mut().enumerate() {
        column.set_padding((0, if i + 1 == columns { 0 } else { GAP + 1 }));
    }
    fitted(grid, width)
}

/// At its natural width if that fits, otherwise with fields broken into lines.
fn fitted(mut grid: Grid, width: usize) -> String {
    grid.set_content_arrangement(ContentArrangement::Disabled);
    let wide = grid.trim_fmt();
    if wide.lines().all(|l| textwrap::core::display_width(l) <= width) {
        return wide;
    }
    grid.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    grid.set_content_arrangement(ContentArrangement::Dynamic);
    grid.trim_fmt()
}

/// A paragraph whose lines all have the same indent.
pub fn paragraph(text: &str, width: usize, indent: usize) -> String {
    hang(&" ".repeat(indent), text, width)
}

/// Text whose first line begins with `first`; the others are indented by its width.
pub fn hang(first: &str, text: &str, width: usize) -> String {
    wrap(text, first, &" ".repeat(textwrap::core::display_width(first)), width)
}
