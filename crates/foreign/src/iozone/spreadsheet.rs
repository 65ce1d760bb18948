//! The tables of `-R`: one per operation, with a row per file size and a column per record size,
//! both in KB.

use super::column::ALL;
use super::{Unit, observation};
use crate::error::Fault;
use crate::number::positive;
use crate::read::Observation;

const TOO_LARGE: &str = "a size that is too large";

pub(super) fn parse(text: &str, unit: Unit) -> Result<Vec<Observation>, Fault> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate().skip_while(|(_, l)| !is_title(l)).peekable();
    while let Some((index, title)) = lines.next() {
        if !is_title(title) {
            continue;
        }
        let name = title.trim().trim_matches('"').trim_end_matches(" report");
        let Some(column) = ALL.iter().find(|c| c.report.eq_ignore_ascii_case(name)) else {
            return Err(Fault::line(index + 1, "a table of an unknown operation", title));
        };
        let Some((below, heads)) = lines.next() else { break };
        let records = quoted(heads).ok_or_else(|| Fault::line(below + 1, TOO_LARGE, heads))?;
        while let Some((index, line)) = lines.next_if(|(_, l)| !l.trim().is_empty() && !is_title(l))
        {
            let fault = |reason: &str| Fault::line(index + 1, reason, line);
            let sizes = quoted(line).ok_or_else(|| fault(TOO_LARGE))?;
            let Some(&file) = sizes.first() else {
                return Err(fault("expected a file size in quotation marks"));
            };
            let values = line.rsplit('"').next().unwrap_or("").split_whitespace();
            for (i, value) in values.enumerate() {
                let value: f64 = value.parse().map_err(|_| fault("expected numbers"))?;
                let record =
                    *records.get(i).ok_or_else(|| fault("more numbers than record sizes"))?;
                // Combinations that were not run contain 0.
                if let Some(value) = positive(value) {
                    let cell = observation(column, file, record, value, unit);
                    found.push(Observation { line: Some(index + 1), ..cell });
                }
            }
        }
    }
    Ok(found)
}

fn is_title(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('"') && line.ends_with(" report\"")
}

/// The sizes in quotation marks, in bytes. `None` if a size exceeds 64 bits.
fn quoted(line: &str) -> Option<Vec<u64>> {
    let kib = line.split('"').skip(1).step_by(2).filter_map(|n| n.parse::<u64>().ok());
    kib.filter(|n| *n > 0).map(|n| n.checked_mul(1024)).collect()
}
