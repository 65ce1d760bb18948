//! Tables of comma-, semicolon- or tab-separated values: cryptbench's own documented format, and the formats of ATTO
//! and Anvil.
//!
//! The first row that is not a comment contains the column names, and determines the kind of table:
//!
//! | table | columns |
//! |---|---|
//! | ours (docs/compare.md) | `operation`, one of `mb_s`, `mib_s`, `iops`, `latency_us`, `latency_ms`, and any of `pattern`, `block_size`, `file_size`, `queue_depth`, `threads`, `read_percent`, `name` |
//! | ATTO Disk Benchmark | `I/O Size`, then `Write` and `Read`, as shown in its window, with `MB/s` or `IO/s` in brackets or with each value |
//! | Anvil's Storage Utilities | `Test`, then any of `Resp. time`, `IOPS` and `MB/s`, as shown in its window; a row `Read` or `Write` starts each half of the table |
//!
//! ATTO and Anvil save screenshots and proprietary files without a published layout. The columns in their windows are
//! known from the figures of studies A and D and from the programs' manuals. Any other column is refused.

mod anvil;
mod atto;
mod plain;

use csv::{ReaderBuilder, Trim};

use crate::cell::Format;
use crate::error::Fault;
use crate::read::{Found, Observation};

/// A row and its line number, counted from 1.
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) fields: Vec<String>,
}

impl Row {
    fn text(&self) -> String {
        self.fields.join(",")
    }

    pub(super) fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault::line(self.line, reason, &self.text())
    }

    pub(super) fn observation(&self) -> Observation {
        Observation { line: Some(self.line), ..Observation::default() }
    }
}

/// The kind of table, determined by its columns.
pub(crate) fn kind(text: &str) -> Option<Format> {
    let rows = rows(text).ok()?;
    let columns = columns(rows.iter().find(|row| row.fields.len() > 1)?);
    let first = columns.first()?.as_str();
    let has = |name: &str| columns.iter().any(|column| column.contains(name));
    if columns.iter().any(|column| column == "operation") {
        Some(Format::Table)
    } else if atto::is_size(first) && has("write") && has("read") {
        Some(Format::Atto)
    } else if first == "test" && (has("iops") || has("mb/s")) {
        Some(Format::Anvil)
    } else {
        None
    }
}

pub(crate) fn parse(text: &str, format: Format) -> Result<Found, Fault> {
    let rows = rows(text)?;
    // Titles precede the column names; each has only a single field.
    let at = rows.iter().position(|row| row.fields.len() > 1);
    let Some((head, body)) = at.and_then(|at| rows[at..].split_first()) else {
        return Err(Fault::file("has no columns"));
    };
    let named = columns(head);
    match format {
        Format::Atto => atto::parse(head, &named, body),
        Format::Anvil => anvil::parse(head, &named, body, &rows[..at.unwrap_or(0)]),
        _ => plain::parse(head, &named, body),
    }
}

/// The column names in lower case.
fn columns(row: &Row) -> Vec<String> {
    row.fields.iter().map(|field| field.to_lowercase()).collect()
}

fn rows(text: &str) -> Result<Vec<Row>, Fault> {
    let first = text.lines().find(|l| !l.trim().is_empty() && !l.starts_with('#'));
    let most = |c: &char| text.lines().map(|l| l.matches(*c).count()).max().unwrap_or(0);
    // If there are tabs or semicolons, a comma is a decimal mark and not a separator.
    let separators = ['\t', ';', ','];
    let separator = separators.into_iter().find(|c| most(c) > 0);
    let (Some(_), Some(separator)) = (first, separator) else {
        return Err(Fault::file("is not a table: its rows have one field each"));
    };
    let mut reader = ReaderBuilder::new()
        .delimiter(separator as u8)
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| Fault::file(format!("is no table: {error}")))?;
        let line = record.position().map_or(0, |p| p.line() as usize);
        let mut fields: Vec<String> = record.iter().map(str::to_owned).collect();
        while fields.last().is_some_and(String::is_empty) {
            fields.pop();
        }
        if !fields.is_empty() {
            rows.push(Row { line, fields });
        }
    }
    Ok(rows)
}

/// Bytes per second of `MB/s` and similar units. If `binary` is set, the program's MB means 2^20 bytes.
pub(super) fn unit(text: &str, binary: bool) -> Option<f64> {
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    let power = match text.trim().to_lowercase().as_str() {
        "b/s" => 0,
        "kb/s" => 1,
        "mb/s" => 2,
        "gb/s" => 3,
        "kib/s" => return Some(1024.0),
        "mib/s" => return Some(1_048_576.0),
        "gib/s" => return Some(1_073_741_824.0),
        _ => return None,
    };
    Some(base.powi(power))
}
