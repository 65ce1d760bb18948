//! Workloads in rows, choices in columns.

use comfy_table::Table;
use cryptbench_answer::figure::{Beside, Columns, Mark, Value};
use cryptbench_answer::kinds::sizes_explained;
use cryptbench_answer::quantity::{FINE_BELOW, NONE, fraction, kept_spread};
use cryptbench_record::Record;

use super::super::layout::{
    add, clean, fitted, heading_within, right, text as drawn, unruled, widest,
};
use super::{Detail, wrap};

/// Maximum length in columns of a choice's name on one line.
const HEADING: usize = 13;

/// The additional columns that fit.
#[derive(Clone, Copy)]
struct Shown<'c> {
    before: &'c [Beside],
    behind: &'c [Beside],
    /// Width of the gap between two columns.
    gap: u16,
}

/// The table with its legend, at most `width` columns wide.
pub(super) fn text(columns: &Columns, record: &Record, width: usize, detail: Detail) -> String {
    let Columns { before, behind, .. } = columns;
    let before = if detail.plain_speed { &before[..] } else { &[] };
    let gap = if detail.legend { GAP } else { NARROW_GAP };
    let bare = Shown { before: &[], behind: &[], gap };
    let fewer = (0..=behind.len()).rev().map(|n| Shown { before, behind: &behind[..n], gap });
    let first = (1..before.len()).rev().map(|n| Shown { before: &before[..n], behind: &[], gap });
    let whole = fewer
        .chain(first)
        .chain([bare])
        .map(|shown| titled(columns, shown))
        .find(|t| widest(t) <= width);
    let table = whole.unwrap_or_else(|| {
        let narrow = fitted(table(columns, bare), width);
        match title(columns) {
            Some(title) => format!("{}\n{narrow}", wrap(&title, "", "", width)),
            None => narrow,
        }
    });
    match detail.legend {
        true => format!("{table}\n{}", legend(columns, record, width)),
        false => table,
    }
}

/// The common title of the columns of figures, with their unit; `None` if each column has its own title.
fn title(columns: &Columns) -> Option<String> {
    columns.title.as_ref().map(|title| format!("{}, % of plain", clean(title)))
}

/// The table, below a title that is aligned with the right side of the last choice.
fn titled(columns: &Columns, shown: Shown<'_>) -> String {
    let table = table(columns, shown);
    let Some(title) = title(columns) else { return drawn(&table) };
    let widths = table.column_max_content_widths();
    let until = widths.len() - shown.behind.len();
    let gaps = usize::from(shown.gap) * until.saturating_sub(1);
    let end = widths[..until].iter().map(|w| usize::from(*w)).sum::<usize>() + gaps;
    format!("{}\n{}", right(&title, end), drawn(&table))
}

fn table(columns: &Columns, shown: Shown<'_>) -> Table {
    let corner = if columns.title.is_some() { "" } else { "% of plain speed" };
    let mut headings = vec![corner.to_owned()];
    headings.extend(shown.before.iter().map(|column| column.heading.clone()));
    headings.extend(columns.columns.iter().map(|column| {
        let name = clean(&column.name);
        match (&columns.title, column.is_engine && column.is_floor) {
            (Some(_), _) => format!("{name}*"),
            (None, true) if columns.columns.iter().any(|c| !c.is_engine) => {
                format!("floor:\n{}", column.cipher.as_deref().map_or(name, clean))
            }
            (None, _) => heading_within(&name, HEADING),
        }
    }));
    headings.extend(shown.behind.iter().map(|column| column.heading.clone()));
    let mut table = unruled(headings, shown.gap);
    let written: Vec<Vec<String>> = (0..columns.columns.len())
        .map(|i| aligned(&columns.rows.iter().map(|row| row.values[i]).collect::<Vec<_>>()))
        .collect();
    for (i, row) in columns.rows.iter().enumerate() {
        let mut fields = vec![clean(&row.name)];
        fields.extend(shown.before.iter().map(|column| column.fields[i].clone()));
        fields.extend(written.iter().map(|column| column[i].clone()));
        fields.extend(shown.behind.iter().map(|column| column.fields[i].clone()));
        add(&mut table, fields);
    }
    table
}

/// Widths of the gap between two columns: the usual one, and the width used if not even the legend would fit otherwise.
const GAP: u16 = 2;
const NARROW_GAP: u16 = 1;

/// `51 ±3 ▼`: the figures, spreads and marks of one column, aligned with each other.
fn aligned(values: &[Value]) -> Vec<String> {
    let parts: Vec<(String, String)> = values
        .iter()
        .map(|value| match (value.mark, value.kept) {
            (Mark::Cached, _) => ("cache".to_owned(), String::new()),
            (Mark::Compressed, _) => ("packed".to_owned(), String::new()),
            (_, Some(mean)) => kept_spread(mean.ratio, mean.low, mean.high, FINE_BELOW),
            (_, None) => (NONE.to_owned(), String::new()),
        })
        .collect();
    let widest = |of: fn(&(String, String)) -> &str| {
        parts.iter().map(|p| textwrap::core::display_width(of(p))).max().unwrap_or(0)
    };
    // `cache` does not have a spread and may use the space of that column.
    let figures = parts.iter().filter(|p| !p.1.is_empty());
    let figure = figures.map(|p| p.0.chars().count()).max().unwrap_or(1);
    let spread = widest(|p| &p.1);
    parts
        .iter()
        .zip(values)
        .map(|((value, by), of)| {
            let both = match by.is_empty() {
                true => format!("{value:>figure$}"),
                false => format!("{value:>figure$} {by}"),
            };
            let all = figure + 1 + spread;
            format!("{both:<all$} {}", of.mark.char())
        })
        .collect()
}

fn legend(columns: &Columns, record: &Record, width: usize) -> String {
    let values = || columns.rows.iter().flat_map(|row| &row.values);
    let margin = record.plan.margin();
    let mut parts: Vec<String> = [Mark::Slower, Mark::Faster, Mark::Same, Mark::Undecided]
        .into_iter()
        .filter(|mark| values().any(|v| v.mark == *mark))
        .map(|mark| format!("{} {}", mark.char(), mark.words(margin)))
        .collect();
    if values().any(|v| v.mark == Mark::NoLoss) {
        parts.push(format!("no mark: {}", Mark::NoLoss.words(margin)));
    }
    if values().any(|v| v.mark == Mark::Unmeasured) {
        parts.push(format!("{NONE} too few repeats"));
    }
    if values().any(|v| v.kept.is_some()) {
        parts.push(format!("± {} interval", fraction(record.plan.confidence)));
    }
    let mut notes = sizes_explained(&record.plan.workloads);
    if columns.title.is_some() {
        notes.push_str(" * sector size");
    } else if columns.columns.iter().any(|c| c.is_engine && c.is_floor) {
        notes.push_str(" Floor: the cipher alone.");
    }
    let ways = ["   ", "  ", ", "].map(|between| parts.join(between));
    let marks = ways.iter().find(|way| widest(way) <= width).unwrap_or(&ways[2]).clone();
    let lines = [marks, notes.trim().to_owned()];
    let lines = lines.iter().filter(|line| !line.is_empty());
    lines.map(|line| wrap(line, "", "", width)).collect::<Vec<_>>().join("\n")
}
