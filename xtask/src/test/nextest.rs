//! Runs the tests with cargo-nextest: each in a separate process, with a time limit and a second attempt
//! (`.config/nextest.toml`).

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use super::junit::{self, Case};
use super::{How, Tier};
use crate::fuzz;

/// Tests that only compute use a whole core, which is several slots of the scheduler. Tests that wait for disks
/// and other programs use one slot each (`threads-required`).
const SLOTS_PER_CORE: usize = 4;

/// Protects what one test leaves behind deliberately from the cleanup of another test.
const RUNNER: &str = "#!/bin/sh
export XDG_STATE_HOME=\"$CRYPTBENCH_TEST_STATE/$$\"
exec \"$@\"
";

/// Runs all tests except the examples in the documentation.
///
/// # Errors
/// If the program cannot be started, or ends without a report.
pub fn run(nextest: &Path, how: &How<'_>) -> anyhow::Result<Vec<Case>> {
    let report = report(how.tier);
    let _ = fs::remove_file(&report);
    let runner = how.state.path().join("runner");
    fs::write(&runner, RUNNER)?;
    fs::set_permissions(&runner, Permissions::from_mode(0o755))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut command = Command::new(nextest);
    command
        .args(["nextest", "run", "--workspace", "--all-features", "--no-fail-fast"])
        .args(["--no-tests=pass", "--no-pager", "--profile", profile(how.tier)])
        // cargo itself prints nothing, because everything was built before.
        .args(["--cargo-quiet", "--cargo-quiet"])
        .arg(format!("--test-threads={}", SLOTS_PER_CORE * cores))
        .args(how.filter)
        .env(runner_variable()?, &runner)
        .env("CRYPTBENCH_TEST_STATE", how.state.path())
        .stdin(Stdio::null());
    how.set(&mut command)?;
    let status = command.status().context("cannot start cargo-nextest")?;
    let cases = junit::read(&report).with_context(|| format!("cargo-nextest: {status}"))?;
    let has_failed = cases.iter().any(|case| case.result == junit::Result::Failed);
    ensure!(status.success() || has_failed, "cargo-nextest: {status}");
    Ok(cases)
}

fn profile(tier: Tier) -> &'static str {
    match tier {
        Tier::Quick => "default",
        Tier::Nightly => "nightly",
    }
}

/// The location of the report (`path` in the section `junit` of `.config/nextest.toml`).
fn report(tier: Tier) -> PathBuf {
    Path::new("target/nextest").join(profile(tier)).join("junit.xml")
}

/// The variable that contains the runner for this machine's programs (The Cargo Book, "Configuration").
fn runner_variable() -> anyhow::Result<String> {
    let host = fuzz::host()?.to_uppercase().replace('-', "_");
    Ok(format!("CARGO_TARGET_{host}_RUNNER"))
}
