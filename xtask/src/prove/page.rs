//! The table, on the terminal and in docs/reliability.md.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::rows::{ROWS, Row};
use super::tally::{Counted, Tally};
use crate::generated;

const PAGE: &str = "docs/reliability.md";

/// Prints the table, and puts it in the page.
pub fn write(tally: &Tally) -> anyhow::Result<()> {
    let text = text(tally);
    println!("{text}");
    generated::replace(Path::new(PAGE), "cargo xtask prove", &text)
}

fn text(tally: &Tally) -> String {
    let Tally { commit, date, machine, versions, .. } = tally;
    let minutes = (tally.seconds() / 60.0).round();
    let mut text = format!(
        "Commit {commit}, {date}, {minutes} minutes of tests. {}. {}.\n\n",
        machine.join(", "),
        versions.join(", ")
    );
    text.push_str("| row | what | survived | failures | broken on purpose, and what the check said |\n|---|---|---|---|---|\n");
    let none = Counted::default();
    for row in ROWS {
        let counted = tally.rows.get(row.name).unwrap_or(&none);
        let _ = writeln!(text, "{}", line(row, counted));
    }
    for row in ROWS {
        let Some(counted) = tally.rows.get(row.name) else { continue };
        let at =
            counted.earlier.as_ref().map_or_else(String::new, |at| format!(", at commit {at}"));
        let _ = writeln!(text, "\n**{}**, {:.0} s{at}\n", row.name, counted.seconds);
        for line in counts(counted).into_iter().chain(skipped(counted)) {
            let _ = writeln!(text, "- {}", cell(&line));
        }
        for failure in &counted.failures {
            let _ = writeln!(text, "- FAILED: {}", cell(failure));
        }
    }
    text
}

/// The counts, one line per unit.
fn counts(counted: &Counted) -> Vec<String> {
    let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (what, count) in &counted.counts {
        let (unit, of) = what.split_once([' ', ':']).unwrap_or((what, ""));
        lines.entry(unit).or_default().push(format!("{} {}", amount(what, *count), of.trim()));
    }
    lines.into_iter().map(|(unit, counts)| format!("{unit}: {}", counts.join("; "))).collect()
}

/// The reasons for skips, without duplicates: each with its number, and with its tests if there are few.
fn skipped(counted: &Counted) -> Vec<String> {
    let mut reasons: BTreeMap<&str, (usize, Vec<&str>)> = BTreeMap::new();
    for why in &counted.skipped {
        let is_command = why.contains("--");
        let halves = if is_command { why.rsplit_once(": ") } else { why.split_once(": ") };
        let (of, reason) = halves.unwrap_or(("", why));
        let (times, all) = reasons.entry(reason).or_default();
        *times += 1;
        all.extend((!is_command && !of.is_empty()).then_some(of));
    }
    let line = |(reason, (times, of)): (&str, (usize, Vec<&str>))| match of.is_empty() {
        true if times == 1 => format!("SKIPPED: {reason}"),
        true => format!("SKIPPED {times} times: {reason}"),
        false => format!("SKIPPED ({}): {reason}", of.join(", ")),
    };
    reasons.into_iter().map(line).collect()
}

fn line(row: &Row, counted: &Counted) -> String {
    let units = counted.units();
    let mut survived: Vec<_> =
        units.iter().map(|(unit, n)| format!("{} {unit}", amount(unit, *n))).collect();
    if survived.is_empty() {
        survived.push(match counted.skipped.first() {
            Some(why) => format!("SKIPPED: {why}"),
            None => "not run".to_owned(),
        });
    }
    let broken: Vec<_> = row
        .broken
        .iter()
        .map(|broken| match counted.broken.get(broken.what) {
            Some(said) => format!("{}: “{said}”", broken.what),
            None => format!("{}: not seen", broken.what),
        })
        .collect();
    format!(
        "| {} | {} | {} | {} | {} |",
        row.name,
        row.what,
        cell(&survived.join(", ")),
        counted.failures.len(),
        cell(&broken.join("; "))
    )
}

/// Bytes in GiB, and other numbers with thousands separators.
fn amount(what: &str, number: u64) -> String {
    if what.split(' ').next() == Some("bytes") {
        return format!("{:.2} Gi", number as f64 / f64::from(1 << 30));
    }
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats text for a table cell: one line, without bars and paths of temporary directories.
fn cell(text: &str) -> String {
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        let is_temporary = word.contains("/tmp/") || word.contains(".tmp");
        words.push(if is_temporary {
            "…".to_owned()
        } else {
            word.replace('|', "\\|").replace('<', "\\<")
        });
    }
    words.join(" ")
}

pub fn date() -> anyhow::Result<String> {
    let done = Command::new("date").args(["-u", "+%Y-%m-%d"]).output().context("date")?;
    Ok(String::from_utf8(done.stdout)?.trim().to_owned())
}

pub fn machine() -> Vec<String> {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpus.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let cores = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let model = field("model name").unwrap_or_else(|| "unknown processor".to_owned());
    let family = field("cpu family").map_or_else(String::new, |family| format!(" family {family}"));
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = memory.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok());
    let memory = kib.map(|kib| format!("{:.0} GiB", kib / f64::from(1 << 20)));
    [format!("{cores} × {model}{family}")].into_iter().chain(memory).collect()
}

/// The versions of the kernel, the distribution, the compiler, and the other programs.
pub fn versions() -> Vec<String> {
    let said = |program: &str, args: &[&str]| -> Option<String> {
        let done = Command::new(program).args(args).output().ok()?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        Some(text.lines().next()?.trim().to_owned())
    };
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let mut versions: Vec<String> = Vec::new();
    versions.extend(said("uname", &["-sr"]));
    versions.extend(name.map(|name| name.trim_matches('"').to_owned()));
    versions.extend(said("rustc", &["--version"]));
    for (program, args) in [
        ("cryptsetup", &["--version"][..]),
        ("qemu-img", &["--version"]),
        ("gocryptfs", &["--version"]),
        ("fio", &["--version"]),
    ] {
        versions.extend(said(program, args).map(|line| line.chars().take(60).collect()));
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_cells_are_readable() {
        assert_eq!(amount("kills of x", 1_234_567), "1,234,567");
        assert_eq!(amount("bytes through x", 3 << 29), "1.50 Gi");
        assert_eq!(cell("a | b\n/tmp/.tmpXy/z c"), "a \\| b … c");
    }

    #[test]
    fn a_reason_stands_once_and_a_unit_has_one_line() {
        let mut counted = Counted::default();
        for (what, count) in [("volumes of x", 3), ("volumes of y", 4), ("faults: Full", 1)] {
            counted.counts.insert(what.to_owned(), count);
        }
        assert_eq!(counts(&counted), ["faults: 1 Full", "volumes: 3 of x; 4 of y"]);
        for why in [
            "--cipher a-b: --batch-mode luksFormat: No mapper.",
            "--cipher c-d: --batch-mode luksFormat: No mapper.",
            "one: no driver (gone: all)",
            "two: no driver (gone: all)",
            "alone",
        ] {
            counted.skipped.insert(why.to_owned());
        }
        let expected = [
            "SKIPPED 2 times: No mapper.",
            "SKIPPED: alone",
            "SKIPPED (one, two): no driver (gone: all)",
        ];
        assert_eq!(skipped(&counted), expected);
    }

    #[test]
    fn a_row_that_never_ran_says_so() {
        let line = line(&ROWS[0], &Counted::default());
        assert!(line.contains("not run") && line.contains("not seen"), "{line}");
    }
}
