//! ATTO's table: one row per request size, with write and read speeds.
//!
//! In ATTO, 1 MB is 2^20 bytes: study A's figures show 7.31 MB/s at 14,960 IO/s of 512 bytes.

use cryptbench_catalog::Pattern;

use super::{Row, unit};
use crate::cell::Key;
use crate::error::Fault;
use crate::number::{decimal, positive, size};
use crate::read::{Found, Observation};

/// Whether a column contains request sizes.
pub(super) fn is_size(column: &str) -> bool {
    ["i/o size", "io size", "transfer size", "block size"].contains(&column)
}

/// The content of a column.
struct Column {
    operation: &'static str,
    /// Bytes per second of the column's unit, `None` for IO/s; absent if each value has its own unit.
    unit: Option<Option<f64>>,
}

impl Column {
    fn of(name: &str) -> Option<Self> {
        let (what, unit_of) = match name.split_once('(') {
            Some((what, unit)) => (what.trim(), Some(unit.trim_end_matches(')').trim())),
            None => (name, None),
        };
        let operation = match what {
            "write" => "write",
            "read" => "read",
            _ => return None,
        };
        let unit = match unit_of {
            None => None,
            Some("io/s" | "iops") => Some(None),
            Some(text) => Some(Some(unit(text, true)?)),
        };
        Some(Self { operation, unit })
    }
}

pub(super) fn parse(head: &Row, columns: &[String], body: &[Row]) -> Result<Found, Fault> {
    let mut kinds = Vec::new();
    for name in &columns[1..] {
        kinds.push(Column::of(name).ok_or_else(|| {
            head.fault(format!(
                "{name:?} is not a column of ATTO's output: write or read, with MB/s or IO/s in brackets"
            ))
        })?);
    }
    let mut found = Found::default();
    for row in body {
        let block = size(&row.fields[0])
            .ok_or_else(|| row.fault("expected a size such as 512 B or 64 KB first"))?;
        let mut of_row: Vec<Observation> = Vec::new();
        for (column, text) in
            kinds.iter().zip(&row.fields[1..]).filter(|(_, text)| !text.is_empty())
        {
            let (value, unit) = value(text, column.unit).ok_or_else(|| {
                row.fault(format!("expected a speed such as 188.32 MB/s or 375 IO/s, not {text:?}"))
            })?;
            let key = Key {
                pattern: Pattern::Sequential.as_str().to_owned(),
                operation: column.operation.to_owned(),
                block_size: Some(block),
                ..Key::default()
            };
            let at = of_row.iter().position(|o| o.key == key).unwrap_or_else(|| {
                of_row.push(Observation { key, ..row.observation() });
                of_row.len() - 1
            });
            match unit {
                Some(bytes) => of_row[at].bandwidth = positive(value * bytes),
                None => of_row[at].iops = positive(value),
            }
        }
        of_row.retain(|o| o.bandwidth.is_some() || o.iops.is_some());
        found.observations.extend(of_row);
    }
    Ok(found)
}

/// A value and the bytes per second of its unit, `None` for IO/s. Without any unit, the value is in MB/s.
fn value(text: &str, of_column: Option<Option<f64>>) -> Option<(f64, Option<f64>)> {
    let at = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let (number, own) = text.split_at(at);
    let unit = match (own.trim().to_lowercase().as_str(), of_column) {
        ("", Some(unit)) => unit,
        ("", None) => Some(1_048_576.0),
        ("io/s" | "iops", _) => None,
        (own, _) => Some(unit(own, true)?),
    };
    Some((decimal(number)?, unit))
}
