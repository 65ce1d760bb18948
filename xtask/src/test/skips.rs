//! Lists what tests skipped: the reasons without duplicates, grouped by possible remedy, and whether
//! `xtask/skips.toml` lists them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

/// The prefix with which tests report that they skipped something.
const SAID: &str = "SKIPPED: ";

/// The prefixes of reasons that name an instruction set that this CPU lacks.
const LACKS: &[&str] = &["this CPU has no ", "this CPU has not all of "];

/// The file with the reasons that cannot be remedied.
const NAMED: &str = "xtask/skips.toml";

/// Reasons with their number of occurrences.
#[derive(Default)]
pub struct Skips {
    named: Named,
    /// Instruction sets that this CPU lacks.
    processor: BTreeMap<String, usize>,
    /// What this machine lacks: a program, a kernel feature, a permission.
    machine: BTreeMap<String, usize>,
    /// Packages that could not be installed.
    not_installed: Vec<String>,
}

/// The contents of `skips.toml`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    #[serde(default)]
    skip: Vec<Pattern>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pattern {
    /// A whole reason; `*` matches anything.
    reason: String,
    /// Why it cannot be remedied where the tests must pass.
    why: String,
}

impl Skips {
    /// Reads the reasons that the repository lists.
    pub fn read() -> anyhow::Result<Self> {
        let text = fs::read_to_string(Path::new(NAMED)).with_context(|| NAMED.to_owned())?;
        let named = parse(&text).with_context(|| NAMED.to_owned())?;
        Ok(Self { named, ..Self::default() })
    }

    pub fn not_installed(&mut self, what: String) {
        self.not_installed.push(what);
    }

    /// Extracts the reasons from the output of a binary.
    pub fn take(&mut self, output: &str) {
        let said = output.lines().filter_map(|line| line.trim_start().strip_prefix(SAID));
        said.for_each(|why| self.skipped(why));
    }

    /// Counts a skip by its reason.
    pub fn skipped(&mut self, why: &str) {
        let (by, what) = match lacks(why) {
            Some(instructions) => (&mut self.processor, instructions),
            None => (&mut self.machine, why),
        };
        *by.entry(what.to_owned()).or_default() += 1;
    }

    /// Total number of skips.
    pub fn tests(&self) -> usize {
        self.processor.values().chain(self.machine.values()).sum()
    }

    pub fn print(&self) {
        let counted = |why: &str, times: usize| match times {
            1 => why.to_owned(),
            _ => format!("{why} ({times} times)"),
        };
        for (instructions, times) in &self.processor {
            println!("SKIPPED, not in this processor: {}", counted(instructions, *times));
        }
        for (why, times) in &self.machine {
            println!("SKIPPED, not on this machine: {}", counted(why, *times));
        }
        for what in &self.not_installed {
            println!("FAILED TO INSTALL: {what}");
        }
    }

    /// Reasons that are not in `skips.toml`.
    fn unnamed(&self) -> Vec<String> {
        let processor =
            self.processor.keys().map(|instructions| format!("{}{instructions}", LACKS[0]));
        let others = self.machine.keys().chain(&self.not_installed).cloned();
        let is_named = |why: &String| self.named.skip.iter().any(|p| fits(&p.reason, why));
        processor.chain(others).filter(|why| !is_named(why)).collect()
    }

    /// Fails if a reason is not listed, and explains how to list it.
    ///
    /// # Errors
    /// A list of these reasons.
    pub fn must_be_named(&self) -> anyhow::Result<()> {
        let unnamed = self.unnamed();
        anyhow::ensure!(
            unnamed.is_empty(),
            "these skips hide tests; make the tests run, or list the reason in {NAMED}:\n  {}",
            unnamed.join("\n  ")
        );
        Ok(())
    }
}

fn parse(text: &str) -> anyhow::Result<Named> {
    let named: Named = toml::from_str(text)?;
    for Pattern { reason, why } in &named.skip {
        let says = reason.chars().filter(|c| c.is_alphanumeric()).count();
        anyhow::ensure!(says >= 4, "{reason:?} fits nearly everything");
        anyhow::ensure!(!why.trim().is_empty(), "{reason:?} has no why");
    }
    Ok(named)
}

/// The instruction set that this CPU lacks according to a reason.
fn lacks(why: &str) -> Option<&str> {
    LACKS.iter().find_map(|words| why.strip_prefix(words))
}

/// Whether `text` matches `pattern`, in which `*` matches anything.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    (0..=rest.len()).any(|at| rest.is_char_boundary(at) && fits(after, &rest[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_told_once_and_by_its_kind() {
        let mut skips = Skips::default();
        skips.take("test a ... ok\n  SKIPPED: this CPU has no GFNI\nSKIPPED: no fio\n");
        skips.take("SKIPPED: this CPU has not all of GFNI\nnot SKIPPED: at all\n");
        assert_eq!(skips.processor.iter().collect::<Vec<_>>(), [(&"GFNI".to_owned(), &2)]);
        assert_eq!(skips.machine.iter().collect::<Vec<_>>(), [(&"no fio".to_owned(), &1)]);
        assert_eq!(skips.tests(), 3);
    }

    #[test]
    fn a_skip_without_a_name_is_a_fault() {
        let named = parse(
            "[[skip]]\nreason = \"no fio*\"\nwhy = \"it is not for this system\"\n\
             [[skip]]\nreason = \"this CPU has no G*\"\nwhy = \"old\"\n",
        );
        let mut skips = Skips { named: named.unwrap(), ..Skips::default() };
        skips.take("SKIPPED: no fio here\nSKIPPED: this CPU has not all of GFNI\n");
        skips.must_be_named().unwrap();
        skips.take("SKIPPED: there is no fio\nSKIPPED: this CPU has no AES-NI\n");
        skips.not_installed("chromium".to_owned());
        assert_eq!(skips.unnamed(), ["this CPU has no AES-NI", "there is no fio", "chromium"]);
        assert!(skips.must_be_named().unwrap_err().to_string().contains("there is no fio"));
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b*", "abc", true),
            ("a*c*e", "abcdé", false),
            ("a*c*é", "abcdé", true),
            ("", "a", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn the_file_is_whole_and_no_pattern_fits_everything() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("skips.toml");
        parse(&fs::read_to_string(file).unwrap()).unwrap();
        assert!(parse("[[skip]]\nreason = \"*: *\"\nwhy = \"x\"").is_err());
        assert!(parse("[[skip]]\nreason = \"no fio\"\nwhy = \"\"").is_err());
    }
}
