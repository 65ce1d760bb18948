//! dd's closing lines, from GNU coreutils of all versions and languages, BusyBox, the BSDs and
//! macOS.
//!
//! GNU and BusyBox print `BYTES bytes (...) copied, TIME s, RATE`. A comma and a space separate the
//! fields (`，` or `、` in Chinese and Japanese), and the locale determines the decimal mark. The
//! BSDs print `BYTES bytes transferred in TIME secs (RATE bytes/sec)`. This module computes the
//! speed as bytes divided by time; the printed rate has only two or three digits and serves as a
//! check.
//!
//! Study B's script writes a banner of `=` such as `===== bench start =====` before each series. A series is of the data that
//! its banner or its commands name (`if=/dev/zero`, `test_rand1`); where nothing names them, the first is of zeros and the
//! next of random data, in turn, as the script has them.

use cryptbench_catalog::Pattern;

use crate::cell::Key;
use crate::error::Fault;
use crate::number::{decimal, positive};
use crate::read::{Found, Observation};

/// The printed rate has two digits, and BusyBox uses powers of 1024. A larger deviation means that
/// a number was misread.
const AGREES_WITHIN: f64 = 1.2;

/// Whether any line comes from dd.
pub(crate) fn is_log(text: &str) -> bool {
    let is_dd = |l: &str| is_report(l) || records(l).is_some() || l.starts_with("dd: ");
    text.split(['\n', '\r']).any(is_dd)
}

pub(crate) fn parse(text: &str) -> Result<Found, Fault> {
    let mut found = Found::default();
    let text = strip_escapes(text);
    // If the log contains dd's counts of records, a report without such counts before it comes from
    // status=progress.
    let counted = text.split(['\n', '\r']).any(|l| records(l).is_some());
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    let mut series = Series::default();
    for (index, physical) in text.split('\n').enumerate() {
        let line = index + 1;
        if let Some(words) = banner(physical) {
            series.begin(words);
            continue;
        }
        series.hear(physical);
        // A carriage return goes back to the start of the line: later text overwrote what precedes
        // it.
        let parts: Vec<&str> = physical.split('\r').filter(|p| !p.trim().is_empty()).collect();
        for (i, part) in parts.iter().enumerate() {
            if let Some(count) = records(part) {
                blocks.push(count);
            } else if is_report(part) {
                let progress = if counted { blocks.is_empty() } else { i + 1 < parts.len() };
                if !progress {
                    let mut observation = report(part, line, blocks.last())?;
                    observation.key.name = series.data(&mut found.remarks);
                    found.observations.push(observation);
                    blocks.clear();
                }
            } else if !is_aside(part) {
                let reason = if part.contains("dd: ") {
                    "dd failed; its copy is not a result"
                } else {
                    "expected what dd prints (records in and out, then bytes, time and rate), or a line that begins with #"
                };
                return Err(Fault::line(line, reason, part));
            }
        }
    }
    match blocks.is_empty() {
        true => Ok(found),
        false => Err(Fault::file(
            "ends after dd's counts of records, before the line with bytes and time",
        )),
    }
}

/// What is copied, as far as banners keep series apart.
#[derive(Default)]
struct Series {
    /// Number of the series that began last; none before the first banner.
    number: u32,
    named: Option<&'static str>,
}

impl Series {
    fn begin(&mut self, words: &str) {
        if !["end", "finish", "done"].iter().any(|end| words.contains(end)) {
            (self.number, self.named) = (self.number + 1, data(words));
        }
    }

    /// A line that may name the data.
    fn hear(&mut self, line: &str) {
        if self.number > 0 && !is_report(line) {
            self.named = data(line).or(self.named);
        }
    }

    /// The data of a copy, `None` without banners; a remark says so where nothing names them.
    fn data(&self, remarks: &mut Vec<String>) -> Option<String> {
        if self.number == 0 {
            return None;
        }
        let name = self.named.unwrap_or_else(|| {
            let remark = "nothing names the data of its series: the first is taken as zeros and the next as random, in turn";
            if !remarks.iter().any(|known| known == remark) {
                remarks.push(remark.to_owned());
            }
            if self.number % 2 == 1 { "zeros" } else { "random" }
        });
        Some(name.to_owned())
    }
}

/// The data that a line names.
fn data(line: &str) -> Option<&'static str> {
    let line = line.to_lowercase();
    match (line.contains("zero"), line.contains("rand")) {
        (true, false) => Some("zeros"),
        (false, true) => Some("random"),
        _ => None,
    }
}

/// The words of a line such as `===== bench start =====`.
fn banner(line: &str) -> Option<&str> {
    let line = line.trim();
    let is_banner = line.starts_with("===") && line.ends_with("===");
    is_banner.then(|| line.trim_matches('=').trim())
}

/// Lines between those of dd: comments, commands that the shell echoes, output of `time`.
fn is_aside(whole: &str) -> bool {
    let line = whole.trim().trim_start_matches(['+', '$', '#']).trim_start();
    let first = line.split_whitespace().next().unwrap_or("");
    let command = line.split_whitespace().any(|w| w.starts_with("if=") || w.starts_with("of="));
    is_comment(whole)
        || line.is_empty()
        || ["real", "user", "sys"].contains(&first)
        || command && line.split_whitespace().any(|w| w == "dd" || w.ends_with("/dd"))
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// `5+2 records in`: whole and partial blocks.
fn records(line: &str) -> Option<(u64, u64)> {
    if is_comment(line) || is_report(line) {
        return None;
    }
    let count = |word: &str| {
        let (whole, partial) = word.split_once('+')?;
        Some((whole.parse().ok()?, partial.parse().ok()?))
    };
    line.split_whitespace().find_map(count)
}

fn is_report(line: &str) -> bool {
    let line = line.trim();
    let bytes = line.split(|c: char| !c.is_ascii_digit()).any(|w| !w.is_empty());
    !is_comment(line) && bytes && (line.ends_with("/s") || line.ends_with("/sec)"))
}

fn report(text: &str, line: usize, out: Option<&(u64, u64)>) -> Result<Observation, Fault> {
    let fault = |reason: &str| Fault::line(line, reason, text);
    let plain = text.replace(['，', '、'], ", ");
    let bytes: u64 = plain
        .split_whitespace()
        .find_map(|w| w.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok())
        .ok_or_else(|| fault("expected the number of bytes first"))?;
    let (time, rate) = times(&plain)
        .ok_or_else(|| fault("expected `BYTES ... copied, TIME s, RATE` or `BYTES bytes transferred in TIME secs (RATE bytes/sec)`"))?;
    let seconds =
        positive(time).ok_or_else(|| fault("took no time that dd could tell; copy more"))?;
    if bytes == 0 {
        return Err(fault("copied nothing"));
    }
    let speed = bytes as f64 / seconds;
    // Below 1 kB/s a rate of two digits may have lost both.
    let factor = rate / speed;
    if rate > 1000.0 && !(1.0 / AGREES_WITHIN..AGREES_WITHIN).contains(&factor) {
        return Err(fault(
            "the printed rate is not bytes divided by time, so a number was misread",
        ));
    }
    // Without partial blocks all blocks have the same size.
    let block_size = out
        .filter(|(whole, partial)| *whole > 0 && *partial == 0 && bytes.is_multiple_of(*whole))
        .map(|(whole, _)| bytes / whole);
    Ok(Observation {
        key: Key {
            pattern: Pattern::Sequential.name().to_owned(),
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

/// Seconds, and bytes per second as printed.
fn times(text: &str) -> Option<(f64, f64)> {
    if let Some((_, rest)) = text.split_once(" transferred in ") {
        let mut words = rest.split_whitespace();
        let seconds = decimal(words.next()?)?;
        let unit = words.next()?;
        let rate = words.next()?.trim_start_matches('(');
        return unit.starts_with("sec").then_some((seconds, decimal(rate).unwrap_or(f64::NAN)));
    }
    let mut fields = text.trim().rsplit(", ");
    let rate = printed_rate(fields.next()?)?;
    let time = fields.next()?.trim();
    let digits = time.find(|c: char| c.is_whitespace() || c == 's')?;
    // In `5e-06 s` the exponent's letter is not a unit.
    let (number, unit) = time.split_at(digits);
    let seconds = decimal(number)?;
    ["s", "sec", "secs", "second", "seconds"].contains(&unit.trim()).then_some((seconds, rate))
}

/// The rate in bytes per second of text such as `419 MB/s` or `2.0GB/s`; infinite for `Infinity
/// B/s`.
fn printed_rate(text: &str) -> Option<f64> {
    let text = text.trim().strip_suffix("/s")?;
    let unit_at = text.find(|c: char| c.is_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    if unit.starts_with("Infinity") {
        return Some(f64::INFINITY);
    }
    let power = match unit.trim() {
        "B" | "bytes" => 0,
        "kB" | "KB" => 1,
        "MB" => 2,
        "GB" => 3,
        "TB" => 4,
        _ => return None,
    };
    Some(decimal(number)? * 1000_f64.powi(power))
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

    fn refused(text: &str, part: &str) {
        let Err(fault) = parse(text) else { panic!("{text} was taken") };
        assert!(format!("{fault:?}").contains(part), "{fault:?}");
    }

    #[test]
    fn every_form_of_the_last_line() {
        for (text, expected) in [
            ("1048576000 bytes (1.0 GB, 1000 MiB) copied, 2.5 s, 419 MB/s\n", 419_430_400.0),
            // coreutils 5 and 6.
            ("1048576000 bytes (1.0 GB) copied, 2.5 seconds, 419 MB/s", 419_430_400.0),
            ("1 byte copied, 0.000128686 s, 7.8 kB/s", 7770.8531),
            ("5242880 Bytes (5,2 MB, 5,0 MiB) kopiert, 0,00893239 s, 587 MB/s", 586_951_532.6),
            ("5242880 字节 (5.2 MB, 5.0 MiB) 已复制，0.013674 s，383 MB/s", 383_419_628.0),
            ("5242880 bytes (5.0MB) copied, 0.002500 seconds, 2.0GB/s", 2_097_152_000.0),
            // NetBSD's and older macOS's; newer macOS prints fewer digits.
            ("1048576000 bytes transferred in 5.2 secs (201649230 bytes/sec)", 201_649_230.77),
            ("104857600 bytes transferred in 0.021 secs (4993219048 bytes/sec)", 4_993_219_047.6),
        ] {
            let found = speeds(text);
            assert_eq!(found.len(), 1, "{text}");
            assert!((found[0] / expected - 1.0).abs() < 1e-6, "{text}: {}", found[0]);
        }
    }

    #[test]
    fn progress_is_not_a_result() {
        let log = "\r284164096 bytes (284 MB, 271 MiB) copied, 1 s, 284 MB/s\u{1b}[K\r552599552 bytes (553 MB, 527 MiB) \
                   copied, 2 s, 276 MB/s\n600+0 records in\n600+0 records out\n629145600 bytes (629 MB, 600 MiB) copied, \
                   2.27693 s, 276 MB/s\n";
        let found = parse(log).unwrap().observations;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].key.block_size, found[0].line), (Some(1 << 20), Some(4)));
        // The last line alone, as `tail -n 1` leaves it, and over it what the terminal had.
        assert_eq!(
            speeds("100 bytes copied, 1 s, 100 B/s\r200 bytes copied, 1 s, 200 B/s"),
            [200.0]
        );
    }

    #[test]
    fn what_is_no_result_is_refused_with_its_line() {
        refused("1+0 records in\n1+0 records out\n", "ends after");
        refused("dd: error writing 'x': No space left on device\n1+0 records in", "dd failed");
        refused(
            "0+0 records in\n0+0 records out\n0 bytes copied, 3e-05 s, 0.0 kB/s",
            "copied nothing",
        );
        refused("512 bytes copied, 0 s, Infinity B/s", "no time");
        refused("512 bytes copied, 1 s, 512 B/s\nhello\n", "expected what dd prints");
        // A comma that was taken for a decimal mark and is none.
        refused(
            "1048576 bytes copied, 1,234 s, 1 MB/s\n1048576 bytes copied, 1.234 s, 10 MB/s",
            "line: 2",
        );
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
