//! iozone's text report: the table of `iozone -a` and of single tests, the throughput mode (`-t`),
//! and the spreadsheet tables (`-R`).
//!
//! Speeds are in KB/s (1024 bytes) unless the report states operations per second (`-O`) or microseconds per
//! operation (`-N`). Operations and patterns have the names of the profile `iozone`, so that results can be compared
//! with its records.

mod column;
mod spreadsheet;
mod throughput;

use crate::cell::Key;
use crate::error::Fault;
use crate::number::positive;
use crate::read::{Found, Observation};
use column::Column;

/// Whether the text is an iozone report or only the table from such a report.
pub(crate) fn is_report(text: &str) -> bool {
    text.contains("Iozone: Performance Test of File I/O")
        || text.lines().any(|l| column::header(l).is_some())
}

/// Whether these bytes are an Excel file written with `-b` (a BIFF stream or a compound document).
pub(crate) fn is_binary_table(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x09, 0x00]) && bytes.get(4..6).is_some()
        || bytes.starts_with(&[0xd0, 0xcf, 0x11, 0xe0])
}

/// The unit of a report's numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    KibPerSecond,
    Iops,
    Microseconds,
}

pub(crate) fn parse(text: &str) -> Result<Found, Fault> {
    let mut found = Found::default();
    let unit = unit(text)?;
    let mut columns: Option<Vec<Column>> = None;
    let mut skipped = 0;
    for (index, line) in text.lines().enumerate() {
        let fault = |reason: String| Fault::line(index + 1, reason, line);
        if line.starts_with("Excel output is below") {
            break;
        }
        if let Some(header) = column::header(line) {
            columns = Some(header.map_err(fault)?);
            continue;
        }
        let Some(columns) = &columns else { continue };
        if line.trim().is_empty() {
            continue;
        }
        if !line.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            if is_aside(line) {
                continue;
            }
            return Err(fault("expected a row of numbers: file size, record size, speeds".into()));
        }
        let (row, zeros) = row(line, columns, unit).map_err(fault)?;
        skipped += zeros;
        let at = |o| Observation { line: Some(index + 1), ..o };
        found.observations.extend(row.into_iter().map(at));
    }
    found.observations.extend(throughput::parse(text)?);
    let sheet = spreadsheet::parse(text, unit)?;
    match found.observations.is_empty() {
        true => found.observations = sheet,
        false => agree(&found.observations, &sheet)?,
    }
    if skipped > 0 {
        let remark = format!(
            "{skipped} cells that contain 0 were left out: iozone did not run them, or they were too fast for \
            it to measure"
        );
        found.remarks.push(remark);
    }
    if !text.contains("iozone test complete") {
        found.remarks.push(
            "the end (`iozone test complete`) is missing, so rows may also be missing".into(),
        );
    }
    if found.observations.is_empty() {
        return Err(Fault::file("an iozone report without a row of results"));
    }
    Ok(found)
}

fn unit(text: &str) -> Result<Unit, Fault> {
    let lower = text.to_ascii_lowercase();
    if lower.contains("output is in operations per second") {
        Ok(Unit::Iops)
    } else if lower.contains("output is in microseconds per operation") {
        Ok(Unit::Microseconds)
    } else if ["kbytes/sec", "kb/sec", "kilobytes/sec"]
        .iter()
        .any(|u| lower.contains(&format!("output is in {u}")))
        || !lower.contains("output is in")
    {
        // An excerpt from a report that contains only the table: KB/s, iozone's default.
        Ok(Unit::KibPerSecond)
    } else {
        let (i, line) = (lower.lines().enumerate())
            .find(|(_, l)| l.contains("output is in"))
            .unwrap_or_default();
        Err(Fault::line(
            i + 1,
            "expected kBytes/sec, operations per second, or microseconds per operation",
            line,
        ))
    }
}

/// Lines after a table that are not rows.
fn is_aside(line: &str) -> bool {
    let line = line.trim();
    [
        "iozone test complete",
        "Timer resolution is poor",
        "reported inaccurate",
        "random",
        "Test complete",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

/// The cells of one row, and the number of zeros in the row.
fn row(line: &str, columns: &[Column], unit: Unit) -> Result<(Vec<Observation>, u32), String> {
    let words = column::words(line);
    let number =
        |text: &str| text.parse::<f64>().map_err(|_| format!("expected a number, not {text:?}"));
    let [(file, _), (record, _), values @ ..] = words.as_slice() else {
        return Err("expected a file size, a record size and speeds".into());
    };
    let bytes = |text: &str| -> Result<u64, String> {
        let kib: u64 = text.parse().map_err(|_| format!("expected a size in KB, not {text:?}"))?;
        kib.checked_mul(1024).filter(|b| *b > 0).ok_or_else(|| format!("a size of {text} KB"))
    };
    let (file, record) = (bytes(file)?, bytes(record)?);
    if values.is_empty() {
        return Err("a row without speeds: the run ended before it was complete".into());
    }
    let placed = column::place(values, columns)?;
    let mut found = Vec::new();
    let mut zeros = 0;
    for (column, text) in placed {
        match positive(number(text)?) {
            Some(value) => found.push(observation(column, file, record, value, unit)),
            None => zeros += 1,
        }
    }
    Ok((found, zeros))
}

fn observation(column: &Column, file: u64, record: u64, value: f64, unit: Unit) -> Observation {
    let key = Key {
        pattern: column.pattern.as_str().into(),
        operation: column.operation.into(),
        file_size: Some(file),
        block_size: Some(record),
        queue_depth: Some(1),
        threads: Some(1),
        ..Key::default()
    };
    let of = |u: Unit, value: f64| (unit == u).then_some(value);
    Observation {
        key,
        bandwidth: of(Unit::KibPerSecond, value * 1024.0),
        iops: of(Unit::Iops, value).or(of(Unit::KibPerSecond, value * 1024.0 / record as f64)),
        latency_us: of(Unit::Microseconds, value),
        ..Observation::default()
    }
}

/// Checks that the spreadsheet tables have the same values as the rows. Different values mean that the tables come from
/// another report.
fn agree(rows: &[Observation], sheet: &[Observation]) -> Result<(), Fault> {
    for cell in sheet {
        let Some(row) = rows.iter().find(|r| r.key == cell.key) else {
            return Err(Fault::line(
                cell.line.unwrap_or(0),
                "the table for a spreadsheet has a cell that the report above lacks",
                &cell.key.to_string(),
            ));
        };
        if (row.bandwidth, row.iops) != (cell.bandwidth, cell.iops) {
            return Err(Fault::line(
                cell.line.unwrap_or(0),
                "the table for a spreadsheet and the report above differ",
                &cell.key.to_string(),
            ));
        }
    }
    Ok(())
}
