//! Anvil's table: one row per test, with one half of the table for reads and the other for writes.

use cryptbench_catalog::Pattern;

use super::{Row, unit};
use crate::cell::Key;
use crate::error::Fault;
use crate::number::{decimal, positive, size};
use crate::read::Found;

pub(super) fn parse(
    head: &Row,
    columns: &[String],
    body: &[Row],
    before: &[Row],
) -> Result<Found, Fault> {
    let known = [
        "test",
        "resp. time",
        "response time",
        "resp. time (ms)",
        "response time (ms)",
        "iops",
        "mb/s",
        "mb",
    ];
    if let Some(other) = columns.iter().find(|column| !known.contains(&column.as_str())) {
        return Err(head.fault(format!(
            "{other:?} is not a column of Anvil's output: Test, Resp. time, IOPS, MB/s"
        )));
    }
    let mut half = before.iter().rev().find_map(|row| operation(&row.fields[0]));
    let mut found = Found::default();
    for row in body {
        if let (1, Some(operation)) = (row.fields.len(), operation(&row.fields[0])) {
            half = Some(operation);
            continue;
        }
        // Each half repeats the columns as its header.
        if row.fields.iter().map(|f| f.to_lowercase()).eq(columns.iter().cloned()) {
            continue;
        }
        let (of_name, name) = match row.fields[0].split_once(' ') {
            Some((first, rest)) if operation(first).is_some() => (operation(first), rest.trim()),
            _ => (None, row.fields[0].as_str()),
        };
        let operation = of_name.or(half).ok_or_else(|| {
            row.fault("is neither a read nor a write: a row `Read` or `Write` must precede it")
        })?;
        let mut key = test(name).ok_or_else(|| {
            row.fault("expected one of Anvil's tests: Seq 4MB, 4K, 4K QD4, 4K QD16, 32K or 128K")
        })?;
        operation.clone_into(&mut key.operation);
        let mut seen = row.observation();
        for (column, text) in
            columns.iter().zip(&row.fields).skip(1).filter(|(_, text)| !text.is_empty())
        {
            let bare = text.trim_end_matches(|c: char| c.is_alphabetic() || c == '/').trim();
            let value = decimal(bare)
                .ok_or_else(|| row.fault(format!("expected a number, not {text:?}")))?;
            match column.as_str() {
                "iops" => seen.iops = positive(value),
                "mb/s" => seen.bandwidth = positive(value * unit("mb/s", true).unwrap_or(1.0)),
                // The transferred amount.
                "mb" => {}
                _ => seen.latency_us = positive(value * 1e3),
            }
        }
        if seen.iops.is_none() && seen.bandwidth.is_none() && seen.latency_us.is_none() {
            return Err(row.fault("has no figure"));
        }
        seen.key = key;
        found.observations.push(seen);
    }
    Ok(found)
}

fn operation(text: &str) -> Option<&'static str> {
    match text.trim_end_matches(':').to_lowercase().as_str() {
        "read" => Some("read"),
        "write" => Some("write"),
        _ => None,
    }
}

/// `Seq 4MB`, `4K QD16`, `128K`.
fn test(name: &str) -> Option<Key> {
    let mut words = name.split_whitespace();
    let first = words.next()?;
    let (pattern, block) = match first.eq_ignore_ascii_case("seq") {
        true => (Pattern::Sequential, words.next()?),
        false => (Pattern::Random, first),
    };
    let depth = match words.next() {
        Some(word) => word.to_uppercase().strip_prefix("QD")?.parse().ok()?,
        None => 1,
    };
    words.next().is_none().then_some(())?;
    Some(Key {
        pattern: pattern.as_str().to_owned(),
        block_size: Some(size(block)?),
        queue_depth: Some(depth),
        ..Key::default()
    })
}
