//! `cargo xtask test`: installs packages, runs the tests and the tidiness checks, and lists the skipped tests.

mod flaky;
mod hurried;
mod junit;
pub mod libtest;
mod nextest;
mod skips;

use std::fs::{self, File};
use std::io::Write as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::ValueEnum;

use self::flaky::Flaky;
use self::junit::{Case, Result as Came};
use self::libtest::Counts;
use self::skips::Skips;
use crate::{arm, cross, guest_kernel, packages, tidy, tools};

/// The variable that tells tests how thorough to be.
const TIER: &str = "CRYPTBENCH_TEST_TIER";

/// Set to `true` if nobody reads the list of skipped tests. Each reason must then be listed in
/// `xtask/skips.toml`.
const CI: &str = "CI";

#[derive(clap::Args)]
pub struct Options {
    /// Install nothing
    #[arg(long)]
    offline: bool,
    /// How much to test
    #[arg(long, value_enum, default_value_t)]
    tier: Tier,
    /// Print the slowest tests, this many
    #[arg(long, default_value_t = 10)]
    slowest: usize,
    /// Only tests whose name contains this
    filter: Option<String>,
}

/// How much is tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Tier {
    /// What every change must pass
    #[default]
    Quick,
    /// All of that, and tests that take too long for every change (CONTRIBUTING.md)
    Nightly,
}

impl Tier {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Nightly => "nightly",
        }
    }
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let began = Instant::now();
    let (mut skips, named) = (Skips::read()?, Flaky::read()?);
    tidy::run()?;
    // Packages of other programs are fetched and unpacked while the compiler works.
    let (built, installed) = std::thread::scope(|scope| {
        let installing = scope.spawn(|| install(options));
        (build(), installing.join())
    });
    built?;
    let (missing, nextest) = installed.unwrap_or_else(|panic| resume_unwind(panic));
    missing.into_iter().for_each(|what| skips.not_installed(what));
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    fs::create_dir_all(&target)?;
    let built = began.elapsed();
    let log_path = Path::new(&target).join("test.log");
    let mut all = All {
        counts: Counts::default(),
        success: true,
        skips,
        flaky: Vec::new(),
        times: Vec::new(),
        log: libtest::log(&log_path)?,
    };
    let how = How {
        tier: options.tier,
        filter: options.filter.as_deref(),
        state: tempfile::tempdir()?,
        programs: match options.tier {
            Tier::Quick => hurried::programs(),
            Tier::Nightly => None,
        },
    };
    match nextest {
        Ok(nextest) => {
            nextest::run(&nextest, &how)?.into_iter().try_for_each(|case| all.take(case))?;
        }
        Err(why) => {
            println!("cargo test runs the tests, without limits of time: {why:#}");
            println!("their output: {}", log_path.display());
            all.cargo_test(&["--lib", "--bins", "--tests"], &how)?;
        }
    }
    // For all crates together, because cargo would build some crates with different features for a single one.
    all.cargo_test(&["--doc"], &how)?;
    let ran = began.elapsed();
    println!();
    let other_systems = match options.tier {
        Tier::Nightly if !options.offline && options.filter.is_none() => on_others(&mut all.skips),
        _ => Ok(()),
    };
    all.print(options.slowest);
    println!(
        "{:.0} s: {:.0} to install and build, {:.0} to test; complete output: {}",
        ran.as_secs_f64(),
        built.as_secs_f64(),
        (ran - built).as_secs_f64(),
        log_path.display()
    );
    let Counts { passed, failed, ignored } = all.counts;
    println!("{passed} passed, {failed} failed, {} skipped", ignored + all.skips.tests());
    if failed > 0 || !all.success {
        bail!("tests failed: see {}", log_path.display());
    }
    if passed == 0 {
        bail!("no test ran");
    }
    if std::env::var_os(CI).is_some_and(|ci| ci == "true") {
        all.skips.must_be_named()?;
        named.must_name(&all.flaky, jiff::Zoned::now().date())?;
    }
    other_systems
}

/// Builds every test of the workspace.
fn build() -> anyhow::Result<()> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--quiet", "--workspace", "--all-features", "--no-run"]);
    if !cargo.status().context("cannot start cargo")?.success() {
        bail!("the tests do not build");
    }
    Ok(())
}

/// The settings for all tests.
struct How<'a> {
    tier: Tier,
    filter: Option<&'a str>,
    /// A directory in which programs store their state.
    state: tempfile::TempDir,
    /// Programs that come before those in the search path.
    programs: Option<tempfile::TempDir>,
}

impl How<'_> {
    /// Sets the variables that the tests read.
    fn set(&self, command: &mut Command) -> anyhow::Result<()> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = self.programs.iter().map(|programs| programs.path().to_owned());
        let path = std::env::join_paths(own.chain(std::env::split_paths(&path)))?;
        command
            .env("PATH", path)
            .env("CARGO", env!("CARGO"))
            // Otherwise insta would ask cargo for this in each test.
            .env("INSTA_WORKSPACE_ROOT", std::env::current_dir()?)
            .env(TIER, self.tier.as_str());
        Ok(())
    }
}

/// The results of all tests.
struct All {
    counts: Counts,
    success: bool,
    skips: Skips,
    /// Tests that passed when they were repeated.
    flaky: Vec<String>,
    /// Seconds and names of tests.
    times: Vec<(f64, String)>,
    log: File,
}

impl All {
    /// Adds a finished test.
    fn take(&mut self, case: Case) -> anyhow::Result<()> {
        let Case { name, seconds, result, output } = case;
        writeln!(self.log, "==== {name} ({result:?})\n{output}")?;
        self.skips.take(&output);
        match result {
            Came::Passed => self.counts.passed += 1,
            Came::Failed => self.counts.failed += 1,
            Came::Ignored => self.counts.ignored += 1,
            Came::Flaky => {
                self.counts.passed += 1;
                self.flaky.push(name.clone());
            }
        }
        self.times.push((seconds, name));
        Ok(())
    }

    /// Runs the tests of these targets with cargo itself.
    fn cargo_test(&mut self, targets: &[&str], how: &How<'_>) -> anyhow::Result<()> {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["test", "--workspace", "--all-features", "--no-fail-fast"]).args(targets);
        // Passing tests also report what they skipped.
        cargo.args(["--", "--show-output"]).args(how.filter);
        cargo.env("XDG_STATE_HOME", how.state.path());
        how.set(&mut cargo)?;
        let ended = libtest::run(&mut cargo, &mut self.log)?;
        self.skips.take(&ended.output);
        ended.failures.iter().for_each(|failure| println!("{failure}"));
        self.success &= ended.success;
        self.counts.add(&ended.counts);
        Ok(())
    }

    fn print(&mut self, slowest: usize) {
        self.times.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (seconds, test) in self.times.iter().take(slowest) {
            println!("slowest: {seconds:6.1} s  {test}");
        }
        for test in &self.flaky {
            println!("FLAKY, passed when it was repeated: {test}");
        }
        self.skips.print();
    }
}

/// Checks the code for other systems, and runs tests on another architecture and under Wine.
fn on_others(skips: &mut Skips) -> anyhow::Result<()> {
    let skipped = cross::check_all()?.into_iter().chain(arm::emulate(None)?);
    let skipped = skipped.chain(cross::windows::run(None)?);
    skipped.for_each(|why| skips.skipped(&why));
    Ok(())
}

/// Installs what the tests require, if permitted. Returns what could not be installed, and the program that
/// runs the tests.
fn install(options: &Options) -> (Vec<String>, anyhow::Result<PathBuf>) {
    if options.offline {
        return (Vec::new(), tools::cargo_nextest(false));
    }
    let mut missing = packages::ensure(packages::FOR_TESTS);
    if let Err(why) = guest_kernel::ensure() {
        missing.push(format!("a kernel of Debian's (disks of ublk): {why:#}"));
    }
    // Building it occupies both cores for a minute.
    if options.tier == Tier::Nightly
        && let Err(why) = tools::CARGO_DEB.path()
    {
        missing.push(format!("cargo-deb (the Debian package): {why:#}"));
    }
    (missing, tools::cargo_nextest(true))
}
