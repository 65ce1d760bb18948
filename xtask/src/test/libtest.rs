//! Tests that `cargo test` runs: the examples in the documentation, tests under Wine, and all tests if
//! cargo-nextest is not available.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

/// How many tests passed, failed and were not run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub ignored: usize,
}

impl Counts {
    pub fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// The result of a cargo command.
pub struct Ended {
    pub counts: Counts,
    /// Standard output and standard error.
    pub output: String,
    /// Failed tests, panics and errors, each in a line.
    pub failures: Vec<String>,
    pub success: bool,
}

/// A new file for the output of tests.
///
/// # Errors
/// If it cannot be created.
pub fn log(path: &Path) -> anyhow::Result<File> {
    let log = File::options().read(true).write(true).create(true).truncate(true).open(path);
    log.with_context(|| format!("cannot write {}", path.display()))
}

/// Runs `cargo test` and appends its output to `log`.
///
/// # Errors
/// If it cannot be started, or the log cannot be written.
pub fn run(cargo: &mut Command, log: &mut File) -> anyhow::Result<Ended> {
    writeln!(log, "==== {cargo:?}")?;
    let start = log.seek(SeekFrom::End(0))?;
    // Not a pipe, because a process that a test leaves running would keep it open. A single file keeps the
    // order of both streams.
    cargo.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
    let status = cargo.status().with_context(|| format!("cannot start {cargo:?}"))?;
    log.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    log.read_to_end(&mut bytes)?;
    let output = String::from_utf8_lossy(&bytes).into_owned();
    let mut failures = Vec::new();
    if !status.success() {
        let is_failure = |line: &&str| {
            line.contains("panicked at")
                || line.starts_with("error")
                || line.starts_with("test ") && line.ends_with("FAILED")
        };
        failures.extend(output.lines().filter(is_failure).map(str::to_owned));
    }
    Ok(Ended { counts: count(&output), output, failures, success: status.success() })
}

/// Adds up the results of all binaries. Some tests start their own binary again; that result precedes the
/// result of all tests.
fn count(output: &str) -> Counts {
    let (mut counts, mut last) = (Counts::default(), None);
    for line in output.lines().chain(["   Running"]) {
        if let Some(result) = line.strip_prefix("test result: ") {
            last = Some(result);
        } else if ["Running", "Doc-tests"].iter().any(|word| line.trim_start().starts_with(word)) {
            let result = last.take().unwrap_or_default();
            counts.passed += number(result, "passed");
            counts.failed += number(result, "failed");
            counts.ignored += number(result, "ignored");
        }
    }
    counts
}

/// The number before `word` in `ok. 3 passed; 0 failed; ...`.
fn number(result: &str, word: &str) -> usize {
    let parts: Vec<_> = result.split_whitespace().collect();
    let found = parts.windows(2).find(|pair| pair[1].trim_end_matches(';') == word);
    found.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_binaries_are_added_up_and_those_within_a_test_are_not() {
        let output = "     Running unittests src/lib.rs (target/debug/deps/x)
running 3 tests
test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out
     Running tests/integration/main.rs (target/debug/deps/y)
running 1 test
---- outer stdout ----
running 1 test
test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
   Doc-tests x
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
";
        assert_eq!(count(output), Counts { passed: 4, failed: 1, ignored: 1 });
        assert_eq!(count(""), Counts::default());
    }

    #[test]
    fn what_fails_is_told() {
        let mut log = tempfile::tempfile().unwrap();
        let script = "echo 'test a ... FAILED'; echo 'test b ... ok'; exit 1";
        let ended = run(Command::new("sh").args(["-c", script]), &mut log).unwrap();
        assert!(!ended.success && ended.output.ends_with("test b ... ok\n"), "{}", ended.output);
        assert_eq!(ended.failures, ["test a ... FAILED"]);
    }
}
