//! Reports that CrystalDiskMark (2 to 8) and KDiskMark save or copy to the clipboard as text.
//!
//! There are three forms, known from published reports of CrystalDiskMark 3.0.1, 5.1.0, 6.0.2, 7.0.0 and 8.0.4 and
//! from KDiskMark's README. Up to version 6 each line contains the operation (`Random Read 4KiB (Q= 32,T= 1) :
//! 281.610 MB/s [68752.4 IOPS]`). Since version 7, and in KDiskMark, the sections `[Read]`, `[Write]` and `[Mix]`
//! precede lines such as `SEQ 1MiB (Q= 8, T= 1): 543.188 MB/s [518.0 IOPS] < 15407.04 us>`. In all three forms, MB/s
//! means 10⁶ bytes per second. Each figure is the best or the median of several passes, which the program does not
//! print individually. One file is therefore one run, and a file with a second report is refused.

use cryptbench_catalog::Pattern;

use crate::cell::Key;
use crate::error::Fault;
use crate::number::{decimal, positive};
use crate::read::{Found, Observation};

/// Whether the text is such a report.
pub(crate) fn is_report(text: &str) -> bool {
    text.contains("DiskMark") && text.contains("MB/s")
        || text.lines().any(|l| result(l).is_some() && Form::of(l).is_some())
}

pub(crate) fn parse(text: &str) -> Result<Found, Fault> {
    let mut found = Found::default();
    let mut section: Option<Section> = None;
    let mut report = Report::default();
    for (index, raw) in text.lines().enumerate() {
        // Reports quoted in mails and forum posts have `>` before each line.
        let line = raw.trim().trim_start_matches('>').trim();
        let fault = |reason: &str| Fault::line(index + 1, reason, line);
        if let Some(name) = line.strip_prefix('[') {
            let known = Section::of(name);
            let begun = known.ok_or_else(|| fault("expected [Read], [Write] or [Mix]"))?;
            if report.has_section(begun) {
                return Err(fault(SECOND));
            }
            section = Some(begun);
            continue;
        }
        if report.begins_again(line, !found.observations.is_empty()) {
            return Err(fault(SECOND));
        }
        let Some((label, values)) = result(line) else {
            if is_aside(line) {
                continue;
            }
            return Err(fault(
                "expected a result (`... : 543.188 MB/s [518.0 IOPS] < 15407.04 us>`), a section, or the text around \
                them",
            ));
        };
        let form = Form::of(label)
            .ok_or_else(|| fault("expected Sequential, SEQ, Random or RND first"))?;
        let (operation, read_percent) = match (form.operation, section) {
            (Some(operation), _) => (operation, None),
            (None, Some(section)) => (section.operation, section.read_percent),
            (None, None) => {
                return Err(fault(
                    "is not in a section, so it is unknown whether it is a read or a write",
                ));
            }
        };
        let key = Key {
            pattern: form.pattern.as_str().into(),
            operation: operation.into(),
            block_size: Some(form.block_size),
            queue_depth: Some(form.queue_depth),
            threads: Some(form.threads),
            read_percent,
            ..Key::default()
        };
        // In forms without sections, each test occurs only once.
        if section.is_none() && found.observations.iter().any(|o| o.key == key) {
            return Err(fault(SECOND));
        }
        let values = values.map_err(|reason| fault(&reason))?;
        let Some(bandwidth) = positive(values.megabytes * 1e6) else {
            found
                .remarks
                .push(format!("line {}: 0 MB/s, a test that was not run, left out", index + 1));
            continue;
        };
        found.observations.push(Observation {
            key,
            bandwidth: Some(bandwidth),
            iops: values.iops.or(Some(bandwidth / form.block_size as f64)),
            latency_us: values.latency_us,
            line: Some(index + 1),
            ..Observation::default()
        });
    }
    if found.observations.is_empty() {
        return Err(Fault::file("a CrystalDiskMark or KDiskMark report without a result"));
    }
    Ok(found)
}

const SECOND: &str = "a second report begins here, but a file may contain only one: save each report in a separate file";

/// The lines that occur only once in a report.
#[derive(Default)]
struct Report {
    sections: Vec<&'static str>,
    dated: bool,
}

impl Report {
    fn has_section(&mut self, section: Section) -> bool {
        let known = self.sections.contains(&section.operation);
        self.sections.push(section.operation);
        known
    }

    /// Whether the line is a title after results, or a second date.
    fn begins_again(&mut self, line: &str, has_results: bool) -> bool {
        let name = line.split_once(':').map_or("", |(name, _)| name.trim());
        let dated = name == "Date" && std::mem::replace(&mut self.dated, true);
        let titles = ["CrystalDiskMark", "KDiskMark"];
        let title = titles.iter().any(|t| line.trim_start_matches(['*', '-', ' ']).starts_with(t));
        dated || has_results && title
    }
}

#[derive(Clone, Copy)]
struct Section {
    operation: &'static str,
    read_percent: Option<u8>,
}

impl Section {
    /// Parses the text after the opening bracket: `Read]`, `Mix] Read 70%/Write 30%`.
    fn of(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once(']')?;
        let section = |operation, read_percent| Some(Self { operation, read_percent });
        match name.trim() {
            "Read" => section("read", None),
            "Write" => section("write", None),
            "Mix" | "Mixed" => {
                let digits = rest.trim_start().strip_prefix("Read")?.trim_start();
                let end = digits.find(|c: char| !c.is_ascii_digit())?;
                section("mixed", Some(digits[..end].parse().ok()?))
            }
            _ => None,
        }
    }
}

/// The part of a line before its colon.
struct Form {
    pattern: Pattern,
    /// The operation, in the older forms.
    operation: Option<&'static str>,
    block_size: u64,
    queue_depth: u32,
    threads: u32,
}

impl Form {
    fn of(label: &str) -> Option<Self> {
        let (what, parameters) = label.split_once('(').unwrap_or((label, ""));
        let mut words = what.split_whitespace();
        let pattern = match words.next()? {
            "Sequential" | "SEQ" => Pattern::Sequential,
            "Random" | "RND" => Pattern::Random,
            _ => return None,
        };
        let rest: Vec<&str> = words.collect();
        let operation = rest.iter().find_map(|w| match *w {
            "Read" => Some("read"),
            "Write" => Some("write"),
            _ => None,
        });
        let size: String =
            rest.iter().filter(|w| !["Read", "Write"].contains(w)).copied().collect();
        let value = |name: &str| -> Option<u32> {
            let at = parameters.find(name)? + name.len();
            let digits = parameters[at..].trim_start();
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            digits[..end].parse().ok()
        };
        let queue_depth = value("QD=").or_else(|| value("Q="));
        let block_size = match (size.is_empty(), pattern, queue_depth) {
            (false, ..) => bytes(&size)?,
            // The sequential test of CrystalDiskMark 4 to 6 used 128 KiB with a queue and 1 MiB without a queue;
            // earlier versions used 1 MiB (according to its manual).
            (true, Pattern::Sequential, Some(_)) => 128 << 10,
            (true, Pattern::Sequential, None) => 1 << 20,
            _ => return None,
        };
        Some(Self {
            pattern,
            operation,
            block_size,
            queue_depth: queue_depth.unwrap_or(1),
            threads: value("T=").unwrap_or(1),
        })
    }
}

/// Parses sizes such as `4KiB` and `1MiB`. In the older forms, `512KB` and `4KB` also mean KiB.
fn bytes(text: &str) -> Option<u64> {
    crate::number::size(text)
}

struct Values {
    megabytes: f64,
    iops: Option<f64>,
    latency_us: Option<f64>,
}

/// Splits a line with a result into its two halves.
fn result(line: &str) -> Option<(&str, Result<Values, String>)> {
    let (label, rest) = line.rsplit_once(':')?;
    let (speed, more) = rest.split_once("MB/s")?;
    Some((label.trim(), values(speed, more)))
}

fn values(speed: &str, more: &str) -> Result<Values, String> {
    let number = |text: &str| {
        decimal(text).ok_or_else(|| format!("expected a number, not {:?}", text.trim()))
    };
    let between = |open: char, unit: &str| -> Result<Option<f64>, String> {
        let Some((_, rest)) = more.split_once(open) else { return Ok(None) };
        let (value, _) =
            rest.split_once(unit).ok_or_else(|| format!("expected {unit} after {open}"))?;
        number(value).map(positive)
    };
    Ok(Values {
        megabytes: number(speed)?,
        iops: between('[', "IOPS")?,
        latency_us: between('<', "us")?,
    })
}

/// Lines around the results: titles, rules, units, and descriptions of the test.
fn is_aside(line: &str) -> bool {
    const NAMES: [&str; 12] = [
        "Test",
        "Date",
        "OS",
        "Mode",
        "Profile",
        "Time",
        "Comment",
        "Test Size",
        "Test Data",
        "Tested",
        "Latency",
        "Drive",
    ];
    let named = line.split_once(':').is_some_and(|(name, _)| NAMES.contains(&name.trim()));
    line.is_empty()
        || line.starts_with("--")
        || line.starts_with('*')
        || line.starts_with("```")
        || line.contains("DiskMark")
        || line.contains("Crystal Dew World")
        || line.contains("Flexible I/O Tester")
        || named
}
