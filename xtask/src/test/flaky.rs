//! Tests that passed only when they were repeated, and whether `xtask/flaky.toml` lists them.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use jiff::civil::Date;
use serde::Deserialize;

use super::skips::fits;

/// The file with the tests that may be repeated until a date.
const NAMED: &str = "xtask/flaky.toml";

/// The contents of the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flaky {
    #[serde(default)]
    flaky: Vec<Pattern>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pattern {
    /// Binary and name of the test; `*` matches anything.
    test: String,
    /// Why it sometimes fails.
    why: String,
    /// The day by which it will be fixed, as in `2027-01-31`.
    until: String,
}

impl Flaky {
    /// Reads the tests that the repository names.
    pub fn read() -> anyhow::Result<Self> {
        let text = fs::read_to_string(Path::new(NAMED)).with_context(|| NAMED.to_owned())?;
        parse(&text).with_context(|| NAMED.to_owned())
    }

    /// Fails if one of `tests` is not listed, or if a listed one should have been fixed before `today`.
    ///
    /// # Errors
    /// A list of these tests.
    pub fn must_name(&self, tests: &[String], today: Date) -> anyhow::Result<()> {
        let is_named = |test: &String| self.flaky.iter().any(|named| fits(&named.test, test));
        let unnamed: Vec<_> = tests.iter().filter(|test| !is_named(test)).cloned().collect();
        anyhow::ensure!(
            unnamed.is_empty(),
            "these tests passed only when they were repeated; mend them, or name them in {NAMED}:\n  {}",
            unnamed.join("\n  ")
        );
        // Dates in this form sort alphabetically.
        let today = today.to_string();
        let late = self.flaky.iter().filter(|named| named.until < today);
        let late: Vec<_> = late.map(|named| format!("{} ({})", named.test, named.until)).collect();
        anyhow::ensure!(
            late.is_empty(),
            "these tests of {NAMED} are not mended in time:\n  {}",
            late.join("\n  ")
        );
        Ok(())
    }
}

fn parse(text: &str) -> anyhow::Result<Flaky> {
    let flaky: Flaky = toml::from_str(text)?;
    for Pattern { test, why, until } in &flaky.flaky {
        anyhow::ensure!(test.contains(' '), "{test:?} names no binary and test");
        anyhow::ensure!(!why.trim().is_empty(), "{test:?} has no why");
        until.parse::<Date>().with_context(|| format!("{test:?} is mended until {until:?}"))?;
    }
    Ok(flaky)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[[flaky]]\ntest = \"x::y a::*\"\nwhy = \"slow\"\nuntil = \"2026-12-24\"\n";

    #[test]
    fn a_repeated_test_is_named_with_a_day_that_has_not_passed() {
        let flaky = parse(ONE).unwrap();
        let (day, next) = ("2026-12-24".parse().unwrap(), "2026-12-25".parse().unwrap());
        let said = |tests: &[&str], today| {
            let tests: Vec<_> = tests.iter().map(|&test| test.to_owned()).collect();
            flaky.must_name(&tests, today).map_err(|e| e.to_string())
        };
        assert_eq!(said(&["x::y a::b"], day), Ok(()));
        assert!(said(&["x::y a::b", "x::y c"], day).unwrap_err().ends_with("\n  x::y c"));
        assert!(said(&[], next).unwrap_err().contains("x::y a::* (2026-12-24)"));
    }

    #[test]
    fn the_file_is_whole() {
        parse(&fs::read_to_string(crate::root().join(NAMED)).unwrap()).unwrap();
        assert!(parse(&ONE.replace("slow", " ")).is_err());
        assert!(parse(&ONE.replace("x::y a::*", "*")).is_err());
        assert!(parse(&ONE.replace("12-24", "13-24")).is_err());
    }
}
