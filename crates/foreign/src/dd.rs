//! dd's closing lines, from GNU coreutils of all versions and languages, uutils, BusyBox, toybox,
//! the BSDs and macOS. `closing` reads the line with bytes, time and rate.
//!
//! `series` parses the lines that study B's script prints between the closing lines.

mod closing;
mod series;

use cryptbench_catalog::Pattern;

use crate::cell::Key;
use crate::error::Fault;
use crate::number::positive;
use crate::read::{Found, Half, Halves, Observation};
use closing::is_report;
use series::{Series, Storage};

/// Whether any line comes from dd.
pub(crate) fn is_log(text: &str) -> bool {
    let is_dd = |l: &str| is_report(l) || records(l).is_some() || l.starts_with("dd: ");
    text.split(['\n', '\r']).any(is_dd)
}

pub(crate) fn parse(text: &str) -> Result<Found, Fault> {
    let mut found = Found::default();
    let text = strip_escapes(text);
    // If the log contains dd's record counts, a report without preceding counts comes from status=progress.
    let counted = text.split(['\n', '\r']).any(|l| records(l).is_some());
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    let mut series = Series::default();
    let mut storages = Vec::new();
    for (index, physical) in text.split('\n').enumerate() {
        let line = index + 1;
        if series.take(physical) {
            continue;
        }
        if !is_report(physical) {
            series.hear(physical);
        }
        // A carriage return moves the cursor to the start of the line, so later text overwrites earlier text.
        let parts: Vec<&str> = physical.split('\r').filter(|p| !p.trim().is_empty()).collect();
        for (i, part) in parts.iter().enumerate() {
            if let Some(count) = records(part) {
                blocks.push(count);
            } else if is_report(part) {
                let progress = if counted { blocks.is_empty() } else { i + 1 < parts.len() };
                if !progress {
                    let mut observation = report(part, line, blocks.last())?;
                    let (data, storage) = series.copy(&mut found.remarks);
                    observation.key.name = data;
                    found.observations.push(observation);
                    storages.push(storage);
                    blocks.clear();
                }
            } else if !(is_aside(part) || !blocks.is_empty() && is_count(part)) {
                let reason = if part.contains("dd: ") {
                    "dd failed; its copy is not a result"
                } else {
                    "expected the output of dd (records in and out, then bytes, time and rate), or a line that begins \
                    with #"
                };
                return Err(Fault::line(line, reason, part));
            }
        }
    }
    halve(&mut found, &storages);
    match blocks.is_empty() {
        true => Ok(found),
        false => Err(Fault::file(
            "ends after dd's counts of records, before the line with bytes and time",
        )),
    }
}

/// Separates copies to plain and to encrypted storage in a log that contains both: by their names, or as the first
/// and the second pass of study B's script.
fn halve(found: &mut Found, storages: &[Storage]) {
    let named = |half| storages.contains(&Storage::Named(half));
    let passes = |s: &Storage| if let Storage::Pass(n) = s { *n } else { 0 };
    found.halves = if named(Half::Plain) && named(Half::Encrypted) {
        Halves::Named
    } else if storages.iter().map(passes).max() == Some(2) {
        Halves::Passes
    } else {
        return;
    };
    for (observation, storage) in found.observations.iter_mut().zip(storages) {
        observation.half = match (storage, found.halves) {
            (Storage::Named(half), Halves::Named) => Some(*half),
            (Storage::Pass(1), Halves::Passes) => Some(Half::Plain),
            (Storage::Pass(_), Halves::Passes) => Some(Half::Encrypted),
            _ => None,
        };
    }
}

/// Lines between dd's own lines: comments, commands that the shell echoes, output of `time`.
fn is_aside(whole: &str) -> bool {
    let line = whole.trim().trim_start_matches(['+', '$', '#']).trim_start();
    let first = line.split_whitespace().next().unwrap_or("");
    is_comment(whole)
        || line.is_empty()
        || ["real", "user", "sys"].contains(&first)
        || is_command(line)
}

/// A command that the shell echoed.
fn is_command(line: &str) -> bool {
    let operand = line.split_whitespace().any(|w| w.starts_with("if=") || w.starts_with("of="));
    operand && line.split_whitespace().any(|w| w == "dd" || w.ends_with("/dd"))
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// `5+2 records in`: whole and partial blocks; in some languages, there are no spaces around the numbers.
fn records(line: &str) -> Option<(u64, u64)> {
    if is_comment(line) || is_report(line) || is_command(line) {
        return None;
    }
    let plus = line.find('+')?;
    let digits = |c: char| c.is_ascii_digit();
    let (before, after) = (&line[..plus], &line[plus + 1..]);
    let whole = &before[before.trim_end_matches(digits).len()..];
    let rest = after.trim_start_matches(digits);
    let partial = &after[..after.len() - rest.len()];
    // A time such as 10:00:00+02:00.
    let start = &before[..before.len() - whole.len()];
    if start.ends_with([':', '.', 'T']) || rest.starts_with(':') {
        return None;
    }
    Some((whole.parse().ok()?, partial.parse().ok()?))
}

/// `3 truncated records`, which dd prints after the record counts: a number and words.
fn is_count(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let has = |test: fn(char) -> bool| words.iter().any(|w| w.chars().all(test));
    let plain = |w: &&str| w.chars().all(char::is_alphanumeric);
    (2..=5).contains(&words.len()) && words.iter().all(plain) && has(|c| c.is_ascii_digit())
}

fn report(text: &str, line: usize, out: Option<&(u64, u64)>) -> Result<Observation, Fault> {
    let closing = closing::parse(text).map_err(|reason| Fault::line(line, reason, text))?;
    let (bytes, speed) = (closing.bytes, closing.speed);
    // If there are no partial blocks, all blocks have the same size.
    let block_size = out
        .filter(|(whole, partial)| *whole > 0 && *partial == 0 && bytes.is_multiple_of(*whole))
        .map(|(whole, _)| bytes / whole);
    Ok(Observation {
        key: Key {
            pattern: Pattern::Sequential.as_str().to_owned(),
            operation: "copy".into(),
            file_size: Some(bytes),
            block_size,
            ..Key::default()
        },
        bandwidth: positive(speed),
        iops: block_size.and_then(|b| positive(speed / b as f64)),
        line: Some(line),
        ..Observation::default()
    })
}

/// Removes terminal escape sequences (ECMA-48: `ESC [`, parameters, a final byte from `@` to `~`).
fn strip_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if rest.next() == Some('[') {
            // Skips to the final byte.
            let _ = rest.by_ref().find(|c| ('@'..='~').contains(c));
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speeds(text: &str) -> Vec<f64> {
        let found = parse(text).unwrap();
        found.observations.iter().map(|o| o.bandwidth.unwrap()).collect()
    }

    fn refused(text: &str) -> String {
        let Err(fault) = parse(text) else { panic!("{text} was taken") };
        format!("{fault:?}")
    }

    #[test]
    fn progress_is_not_a_result() {
        let log = "\r284164096 bytes (284 MB, 271 MiB) copied, 1 s, 284 MB/s\u{1b}[K\r552599552 bytes (553 MB, 527 MiB) \
                   copied, 2 s, 276 MB/s\n600+0 records in\n600+0 records out\n629145600 bytes (629 MB, 600 MiB) copied, \
                   2.27693 s, 276 MB/s\n";
        let found = parse(log).unwrap().observations;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].key.block_size, found[0].line), (Some(1 << 20), Some(4)));
        // The last line, as printed by `tail -n 1`, over the previous content of the terminal.
        assert_eq!(
            speeds("100 bytes copied, 1 s, 100 B/s\r200 bytes copied, 1 s, 200 B/s"),
            [200.0]
        );
    }

    #[test]
    fn what_is_no_result_is_refused_with_its_line() {
        let said = [
            "1+0 records in\n1+0 records out\n",
            "dd: error writing 'x': No space left on device\n1+0 records in",
            "0+0 records in\n0+0 records out\n0 bytes copied, 3e-05 s, 0.0 kB/s",
            "512 bytes copied, 0 s, Infinity B/s",
            "512 bytes copied, 1 s, 512 B/s\nhello\n",
            // A comma that was mistaken for a decimal mark.
            "1048576 bytes copied, 1,234 s, 1 MB/s\n1048576 bytes copied, 1.234 s, 10 MB/s",
        ]
        .map(refused);
        insta::assert_snapshot!(said.join("\n"), @r#"
            File("ends after dd's counts of records, before the line with bytes and time")
            Line { line: 1, reason: "dd failed; its copy is not a result", text: "dd: error writing 'x': No space left on device" }
            Line { line: 3, reason: "copied nothing", text: "0 bytes copied, 3e-05 s, 0.0 kB/s" }
            Line { line: 1, reason: "took less time than dd can measure; copy more data", text: "512 bytes copied, 0 s, Infinity B/s" }
            Line { line: 2, reason: "expected the output of dd (records in and out, then bytes, time and rate), or a line that begins with #", text: "hello" }
            Line { line: 2, reason: "the printed rate is not bytes divided by time, so a number was misread", text: "1048576 bytes copied, 1.234 s, 10 MB/s" }
            "#);
    }

    #[test]
    fn what_stands_around_is_not_in_the_way() {
        let log = "# encrypted\n+ dd if=/dev/zero of=x bs=1M count=50\n50+0 records in\n50+0 records out\n52428800 bytes \
                   (52 MB, 50 MiB) copied, 0.028829 s, 1.8 GB/s\n\nreal\t0m0.061s\nuser\t0m0.000s\nsys\t0m0.019s\n";
        assert_eq!(speeds(log).len(), 1);
        // Partial blocks have no one size.
        let partial = "1+1 records in\n1+1 records out\n600 bytes copied, 1 s, 600 B/s";
        assert_eq!(parse(partial).unwrap().observations[0].key.block_size, None);
    }
}
