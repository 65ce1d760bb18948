//! The two figures displayed by Blackmagic Disk Speed Test and AJA System Test, as text.
//!
//! Neither program writes a file with a published layout: the input is the text of their windows, typed or obtained by
//! text recognition. The first line contains the name of the program. This line is followed by `WRITE 512.3 MB/s` and
//! `READ 498 MB/s`, in any order and with or without a colon, or AJA's `Disk Write: 512 MB/sec`. MB are 10⁶ bytes.
//! Several pairs count as several runs. The request size is unknown: AJA's is a video frame.

use cryptbench_catalog::Pattern;

use crate::cell::Key;
use crate::error::Fault;
use crate::number::{decimal, positive};
use crate::read::{Found, Observation};

/// Whether the text starts with the name of one of the two programs.
pub(crate) fn is_report(text: &str) -> bool {
    text.lines().map(str::trim).find(|l| !l.is_empty()).is_some_and(is_title)
}

fn is_title(line: &str) -> bool {
    line.contains("Blackmagic") || line.contains("AJA System Test")
}

pub(crate) fn parse(text: &str) -> Result<Found, Fault> {
    let mut found = Found::default();
    for (index, raw) in text.lines().enumerate() {
        let line = raw.trim();
        if line.is_empty() || line.starts_with('#') || is_title(line) {
            continue;
        }
        let fault = || {
            let reason = "expected `WRITE 512.3 MB/s` or `READ 498 MB/s`; a comment begins with #";
            Fault::line(index + 1, reason, line)
        };
        let (operation, bandwidth) = figure(line).ok_or_else(fault)?;
        found.observations.push(Observation {
            key: Key {
                pattern: Pattern::Sequential.as_str().to_owned(),
                operation: operation.to_owned(),
                ..Key::default()
            },
            bandwidth: Some(bandwidth),
            line: Some(index + 1),
            ..Observation::default()
        });
    }
    Ok(found)
}

fn figure(line: &str) -> Option<(&'static str, f64)> {
    let line = line.to_lowercase().replace(':', " ");
    let mut words = line.split_whitespace().skip_while(|w| *w == "disk").peekable();
    let operation = match words.next()? {
        "write" => "write",
        "read" => "read",
        _ => return None,
    };
    words.next_if_eq(&"speed");
    let value = decimal(words.next()?)?;
    let is_unit = matches!(words.next()?, "mb/s" | "mb/sec") && words.next().is_none();
    is_unit.then(|| positive(value * 1e6))?.map(|bandwidth| (operation, bandwidth))
}
