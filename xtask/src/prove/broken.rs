//! Shows that each check fails on a deliberate fault: a check that passes nevertheless proves nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use super::rows::{Broken, Row, Special};
use super::steps::{Programs, reason};
use super::tally::Tally;
use crate::{dist, fuzz};

/// Time in seconds in which a check must fail.
const TIME: u64 = 60;

/// Applies the row's deliberate faults, unless they were already detected for this commit.
pub fn see_it_fail(row: &Row, programs: &Programs, tally: &mut Tally) -> anyhow::Result<()> {
    for broken in row.broken {
        if tally.row(row.name).broken.contains_key(broken.what) {
            continue;
        }
        let said = match row.special {
            Some(Special::Fuzzing) => fuzz::finds_what_is_planted(),
            Some(Special::Reproducible) => dist::differs_by_its_path(),
            Some(Special::Sanitized) => miri_finds_a_short_buffer(),
            None => fails(broken, programs),
        };
        match said {
            Ok(said) => {
                println!("           broken ({}), and seen: {said}", broken.what);
                tally.row(row.name).broken.insert(broken.what.to_owned(), said);
            }
            Err(e) => println!("           broken ({}), and NOT SEEN: {e:#}", broken.what),
        }
        tally.save()?;
    }
    Ok(())
}

/// The output of the test that fails because of the fault.
fn fails(broken: &Broken, programs: &Programs) -> anyhow::Result<String> {
    let tests = programs.tests(&broken.test)?;
    for test in &tests {
        let ran = programs.run(test, TIME, 1, Some(broken.name))?;
        if !ran.passed {
            return Ok(reason(&ran.output));
        }
        if let Some(why) = ran.output.lines().find(|line| line.contains("SKIPPED: ")) {
            bail!("{why}");
        }
    }
    bail!("{} passed", broken.test.filter)
}

/// The deliberate fault for Miri, in a copy of the sources.
fn miri_finds_a_short_buffer() -> anyhow::Result<String> {
    let copy = tempfile::tempdir()?;
    dist::copy_sources(copy.path())?;
    patch(
        &copy.path().join("crates/blockdev/src/aligned.rs"),
        "Layout::from_size_align(len, Self::ALIGN)",
        "Layout::from_size_align(len.saturating_sub(1), Self::ALIGN)",
    )?;
    let done = Command::new("cargo")
        .args(["+nightly", "miri", "test", "-p", "cryptbench-blockdev", "--lib", "aligned"])
        // Otherwise cargo would reuse the build of an earlier copy that no longer exists.
        .env("CARGO_TARGET_DIR", copy.path().join("target"))
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
        .current_dir(copy.path())
        .output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    if done.status.success() {
        bail!("Miri says nothing");
    }
    let line = said.lines().find(|line| line.starts_with("error: Undefined Behavior"));
    Ok(line.with_context(|| said.to_string())?.to_owned())
}

fn patch(file: &Path, from: &str, to: &str) -> anyhow::Result<()> {
    let text = fs::read_to_string(file)?;
    if !text.contains(from) {
        bail!("{} has no {from:?} to break", file.display());
    }
    fs::write(file, text.replace(from, to))?;
    Ok(())
}
