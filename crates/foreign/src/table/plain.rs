//! cryptbench's own table format, for programs without a reader: one row for each run of each test.

use cryptbench_catalog::Pattern;

use super::Row;
use crate::cell::Key;
use crate::error::Fault;
use crate::number::{decimal, positive, size};
use crate::read::Found;

const COLUMNS: &str = "operation, pattern, block_size, file_size, queue_depth, threads, read_percent, name, mb_s, mib_s, iops, \
                       latency_us, latency_ms";

pub(super) fn parse(head: &Row, columns: &[String], body: &[Row]) -> Result<Found, Fault> {
    let known: Vec<&str> = COLUMNS.split(", ").map(str::trim).collect();
    if let Some(other) = columns.iter().find(|column| !known.contains(&column.as_str())) {
        return Err(head.fault(format!("there is no column {other:?}; the columns are {COLUMNS}")));
    }
    let mut found = Found::default();
    for row in body {
        found.observations.push(one(columns, row)?);
    }
    Ok(found)
}

fn one(columns: &[String], row: &Row) -> Result<crate::read::Observation, Fault> {
    if row.fields.len() > columns.len() {
        return Err(row.fault(format!(
            "has {} fields, and there are {} columns",
            row.fields.len(),
            columns.len()
        )));
    }
    let mut seen = row.observation();
    let mut key = Key { pattern: Pattern::Sequential.as_str().to_owned(), ..Key::default() };
    for (column, text) in columns.iter().zip(&row.fields).filter(|(_, text)| !text.is_empty()) {
        let wrong = || row.fault(format!("{column}: {text:?} is not valid in this column"));
        let whole = || text.parse::<u32>().ok().filter(|n| *n > 0).ok_or_else(wrong);
        let number = |scale: f64| {
            decimal(text).and_then(|v| positive(v * scale)).map(Some).ok_or_else(wrong)
        };
        match column.as_str() {
            "operation" => key.operation = text.to_lowercase(),
            "pattern" => key.pattern = text.to_lowercase(),
            "block_size" => key.block_size = Some(size(text).ok_or_else(wrong)?),
            "file_size" => key.file_size = Some(size(text).ok_or_else(wrong)?),
            "queue_depth" => key.queue_depth = Some(whole()?),
            "threads" => key.threads = Some(whole()?),
            "read_percent" => {
                key.read_percent = Some(text.parse().ok().filter(|p| *p <= 100).ok_or_else(wrong)?);
            }
            "name" => key.name = Some(text.clone()),
            "mb_s" => seen.bandwidth = number(1e6)?,
            "mib_s" => seen.bandwidth = number(1_048_576.0)?,
            "iops" => seen.iops = number(1.0)?,
            "latency_us" => seen.latency_us = number(1.0)?,
            "latency_ms" => seen.latency_us = number(1e3)?,
            _ => unreachable!("the columns were looked at"),
        }
    }
    if key.operation.is_empty() {
        return Err(row.fault("has no operation"));
    }
    if seen.bandwidth.is_none() && seen.iops.is_none() && seen.latency_us.is_none() {
        return Err(row.fault("has no figure"));
    }
    seen.key = key;
    Ok(seen)
}
