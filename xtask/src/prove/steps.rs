//! Runs the tests of a row, one by one, and adds up their counts.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use super::binaries::{self, Binary};
use super::rows::{Row, Special, Tests};
use super::sanitized;
use super::tally::Tally;
use crate::{dist, fuzz};

/// The packages whose tests are counted, and this package, so that shared dependencies are built once.
const PACKAGES: &[&str] = &[
    "-pcryptbench-volume",
    "-pcryptbench-export",
    "-pcryptbench-fleet",
    "-pcryptbench-system",
    "-pcryptbench-load",
    "-pcryptbench-runner",
    "-pcryptbench-prove",
    "-pcryptbench",
    "-pxtask",
];

/// Prefix of a test's message about a skip.
const SKIPPED: &str = "SKIPPED: ";

/// Time by which a test may exceed its limit before it counts as hung.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// The test binaries.
pub struct Programs {
    binaries: BTreeMap<String, Binary>,
    images: Option<PathBuf>,
    state: tempfile::TempDir,
}

/// One test.
pub struct Test<'a> {
    pub binary: &'a Binary,
    pub name: String,
}

/// A finished test.
pub struct Ran {
    pub passed: bool,
    pub output: String,
    pub took: Duration,
}

impl Programs {
    pub fn build(rows: &[&Row], images: Option<&Path>) -> anyhow::Result<Self> {
        let needed = rows.iter().any(|row| !row.once.is_empty() || !row.again.is_empty());
        let built = if needed { binaries::build(PACKAGES)? } else { Vec::new() };
        Ok(Self {
            binaries: built.into_iter().map(|binary| (binary.name.clone(), binary)).collect(),
            images: images.map(std::path::absolute).transpose()?,
            state: tempfile::tempdir()?,
        })
    }

    /// The tests whose names contain the filter.
    pub fn tests(&self, tests: &Tests) -> anyhow::Result<Vec<Test<'_>>> {
        let binary = self.binaries.get(tests.binary).with_context(|| tests.binary.to_owned())?;
        let listed = Command::new(&binary.program).args(["--list", tests.filter]).output()?;
        let listed = String::from_utf8(listed.stdout)?;
        let found: Vec<_> = listed
            .lines()
            .filter_map(|line| line.strip_suffix(": test"))
            .map(|name| Test { binary, name: name.to_owned() })
            .collect();
        if found.is_empty() {
            bail!("{} has no test {}", tests.binary, tests.filter);
        }
        Ok(found)
    }

    /// Runs a test for this many seconds, starting with a seed, with or without a deliberate fault.
    pub fn run(
        &self,
        test: &Test<'_>,
        seconds: u64,
        seed: u64,
        broken: Option<&str>,
    ) -> anyhow::Result<Ran> {
        let began = Instant::now();
        let mut output = tempfile::tempfile()?;
        let root = std::env::current_dir()?;
        let mut command = Command::new(&test.binary.program);
        command
            // Some tests run only with this command.
            .args(["--exact", &test.name, "--include-ignored", "--nocapture", "--test-threads=1"])
            .current_dir(&test.binary.directory)
            .env("CARGO", env!("CARGO"))
            .env("CARGO_MANIFEST_DIR", root.join(&test.binary.directory))
            .env("INSTA_WORKSPACE_ROOT", &root)
            .env("XDG_STATE_HOME", self.state.path())
            .env(cryptbench_prove::SECONDS, seconds.to_string())
            .env(cryptbench_prove::SEED, seed.to_string())
            .envs(broken.map(|broken| (cryptbench_prove::BROKEN, broken)))
            .envs(self.images.as_ref().map(|images| (cryptbench_prove::IMAGES, images)))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?);
        let mut child = command.spawn().with_context(|| test.name.clone())?;
        let limit = Duration::from_secs(seconds) + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if began.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                break None;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        output.rewind()?;
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes)?;
        let mut output = String::from_utf8_lossy(&bytes).into_owned();
        if status.is_none() {
            output += &format!("\npanicked at {}: it hangs, after {limit:?}\n", test.name);
        }
        let passed = status.is_some_and(|status| status.success());
        Ok(Ran { passed, output, took: began.elapsed() })
    }
}

/// Runs the tests that run once and have not run for this commit yet.
pub fn once(row: &Row, programs: &Programs, tally: &mut Tally) -> anyhow::Result<()> {
    for tests in row.once {
        for test in programs.tests(tests)? {
            if tally.row(row.name).done.contains(&test.name) {
                continue;
            }
            step(row, programs, &test, 1, tally)?;
            tally.row(row.name).done.insert(test.name);
            tally.save()?;
        }
    }
    let Some(special @ (Special::Sanitized | Special::Reproducible)) = row.special else {
        return Ok(());
    };
    let began = Instant::now();
    if tally.row(row.name).done.insert(row.name.to_owned()) {
        let counted = tally.row(row.name);
        match special {
            Special::Sanitized => sanitized::run(counted)?,
            _ => match dist::two_builds() {
                Ok(hash) => {
                    counted.counts.insert(format!("builds with {hash}"), 2);
                }
                Err(e) => counted.failures.push(format!("{e:#}")),
            },
        }
        tally.took(row.name, began.elapsed());
        tally.save()?;
    }
    Ok(())
}

/// Runs the repeated tests of a row, each for its share of `time`.
pub fn again(
    row: &Row,
    programs: &Programs,
    time: Duration,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let mut all = Vec::new();
    for tests in row.again {
        all.extend(programs.tests(tests)?);
    }
    if row.special == Some(Special::Fuzzing) {
        fuzz::build()?;
        let began = Instant::now();
        let targets = fuzz::targets()?;
        let seconds = (time.as_secs() / targets.len().max(1) as u64).max(1);
        for target in &targets {
            let counted = tally.row(row.name);
            match fuzz::run_one(target, seconds as u32) {
                Ok(executions) => {
                    *counted.counts.entry(format!("executions of {target}")).or_default() +=
                        executions;
                }
                Err(e) => counted.failures.push(format!("{target}: {e:#}")),
            }
            tally.save()?;
        }
        tally.took(row.name, began.elapsed());
        return tally.save();
    }
    // While a test on a slow system is below its minimum count, tests that have reached theirs give it their
    // time.
    let lacks = |test: &Test<'_>| tally.lacks(row, &test.name);
    if all.iter().any(|test| lacks(test) == Some(true)) {
        all.retain(|test| lacks(test) != Some(false));
    }
    let until = Instant::now() + time;
    for (i, test) in all.iter().enumerate() {
        // Time that a test does not use, because it has no work on this machine, is given to the next one.
        let left = until.saturating_duration_since(Instant::now()).as_secs();
        step(row, programs, test, (left / (all.len() - i) as u64).max(1), tally)?;
        tally.save()?;
    }
    Ok(())
}

fn step(
    row: &Row,
    programs: &Programs,
    test: &Test<'_>,
    seconds: u64,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let seed = tally.seed();
    let ran = programs.run(test, seconds, seed, None)?;
    tally.log(&format!("==== {} {} seed {seed}\n{}", row.name, test.name, ran.output))?;
    for line in ran.output.lines().map(said) {
        if let Some((number, what)) = count(line) {
            tally.count(row.name, &test.name, number, what);
        } else if let Some(why) = line.strip_prefix(SKIPPED) {
            tally.row(row.name).skipped.insert(why.trim().to_owned());
        }
    }
    let seconds = ran.took.as_secs_f64();
    let result = if ran.passed { "passed" } else { "FAILED" };
    println!("{seconds:7.1} s  {}: {} {result}", row.name, test.name);
    if !ran.passed {
        let failure = format!("{}, seed {seed}: {}", test.name, reason(&ran.output));
        println!("           {failure}");
        tally.row(row.name).failures.push(failure);
    }
    tally.took(row.name, ran.took);
    Ok(())
}

/// A line without the name of the test, which the test runner prints before the first line.
fn said(line: &str) -> &str {
    let said = line.strip_prefix("test ").and_then(|line| line.split_once(" ... "));
    said.map_or(line, |(_, said)| said).trim_start()
}

/// The number, and what was counted.
fn count(line: &str) -> Option<(u64, &str)> {
    let (number, what) = line.strip_prefix(cryptbench_prove::COUNTED)?.split_once(' ')?;
    Some((number.parse().ok()?, what.trim()))
}

/// The first message of a failed test: its location, and the line after it.
pub fn reason(output: &str) -> String {
    let mut lines = output.lines().skip_while(|line| !line.contains("panicked at"));
    let Some(place) = lines.next() else {
        return output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("").to_owned();
    };
    let place = place.split("panicked at ").nth(1).unwrap_or(place).trim_end_matches(':');
    let said = lines.next().unwrap_or_default();
    let said: String = format!("{said} ({place})").chars().take(300).collect();
    said.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_reasons_are_read() {
        assert_eq!(count("COUNTED 12 kills of gocryptfs"), Some((12, "kills of gocryptfs")));
        assert_eq!(count("COUNTED many"), None);
        assert_eq!(count(said("test a::b ... COUNTED 3 kills")), Some((3, "kills")));
        let output = "x\nthread 'a' (7) panicked at src/lib.rs:1:1:\nseed 5: lost\nnote: run\n";
        assert_eq!(reason(output), "seed 5: lost (src/lib.rs:1:1)");
        assert_eq!(reason("signal: 6\n\n"), "signal: 6");
    }
}
