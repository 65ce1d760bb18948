//! `cargo xtask test`: installs packages, runs the tests and the tidiness checks, and lists what
//! was skipped.

mod again;
pub mod binaries;
pub mod counts;
mod hurried;
mod schedule;
mod skips;

use std::fs::{self, File};
use std::io::Write as _;
use std::panic::resume_unwind;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::ValueEnum;

use self::again::Failed;
use self::binaries::{Binary, build};
use self::counts::Counts;
use self::schedule::{Ended, How, run_all};
use self::skips::Skips;
use crate::{arm, cross, guest_kernel, packages, tidy, tools};

/// Tells tests how thorough to be.
const TIER: &str = "CRYPTBENCH_TEST_TIER";

/// Set to `true` where nobody sees the skipped tests: each reason must then be listed in
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
    let mut skips = Skips::read()?;
    tidy::run()?;
    // The packages of others are fetched and unpacked while the compiler works.
    let (binaries, missing) = std::thread::scope(|scope| {
        let installing = scope.spawn(|| match options.offline {
            true => Vec::new(),
            false => install(options.tier),
        });
        (build(), installing.join())
    });
    let binaries = binaries?;
    for missing in missing.unwrap_or_else(|panic| resume_unwind(panic)) {
        skips.not_installed(missing);
    }
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    fs::create_dir_all(&target)?;
    let built = began.elapsed();
    let log_path = Path::new(&target).join("test.log");
    let mut log = Log::create(&log_path)?;
    let mut all = Counts::default();
    let mut failed = Failed::default();
    let how = How {
        tier: options.tier.as_str(),
        filter: options.filter.as_deref(),
        state: tempfile::tempdir()?,
        programs: match options.tier {
            Tier::Quick => hurried::programs(),
            Tier::Nightly => None,
        },
    };
    run_all(&binaries, &how, |ended| {
        log.take(&ended)?;
        let counts = ended.counts();
        skips.take(&ended.output);
        tell(&ended, &counts);
        failed.take(ended.binary, &counts);
        all.add(counts);
        Ok(())
    })?;
    failed.again(&how, &mut all, |ended| {
        skips.take(&ended.output);
        log.take(ended)
    })?;
    let ran = began.elapsed();
    println!();
    let other_systems = match options.tier {
        Tier::Nightly if !options.offline && options.filter.is_none() => on_others(&mut skips),
        _ => Ok(()),
    };
    all.print_slowest(options.slowest);
    skips.print();
    println!(
        "{:.0} s: {:.0} to install and build, {:.0} to test; complete output: {}",
        ran.as_secs_f64(),
        built.as_secs_f64(),
        (ran - built).as_secs_f64(),
        log_path.display()
    );
    let flaky = match all.flaky {
        0 => String::new(),
        flaky => format!(" ({flaky} of them FLAKY)"),
    };
    println!(
        "{} passed{flaky}, {} failed, {} skipped",
        all.passed,
        all.failed,
        all.ignored + skips.tests()
    );
    if all.failed > 0 || all.broken > 0 {
        bail!("tests failed: see {}", log_path.display());
    }
    if all.passed == 0 {
        bail!("no test ran");
    }
    if std::env::var_os(CI).is_some_and(|ci| ci == "true") {
        skips.must_be_named()?;
    }
    other_systems
}

/// Checks for other systems, and tests on another processor and under Wine.
fn on_others(skips: &mut Skips) -> anyhow::Result<()> {
    let skipped = cross::check_all()?.into_iter().chain(arm::emulate(None)?);
    let skipped = skipped.chain(cross::windows::run(None)?);
    skipped.for_each(|why| skips.skipped(&why));
    Ok(())
}

/// Installs what the tests of `tier` need, and returns what could not be installed.
fn install(tier: Tier) -> Vec<String> {
    let mut missing = packages::ensure(packages::FOR_TESTS);
    if let Err(why) = guest_kernel::ensure() {
        missing.push(format!("a kernel of Debian's (disks of ublk): {why:#}"));
    }
    // It takes a minute of both cores to build.
    if tier == Tier::Nightly
        && let Err(why) = tools::CARGO_DEB.path()
    {
        missing.push(format!("cargo-deb (the Debian package): {why:#}"));
    }
    missing
}

/// Prints a line for each binary, and its failures.
fn tell(ended: &Ended<'_>, counts: &Counts) {
    let Binary { name, .. } = ended.binary;
    let seconds = ended.took.as_secs_f64();
    println!(
        "{seconds:7.1} s  {name}: {} passed, {} failed, {} ignored",
        counts.passed, counts.failed, counts.ignored
    );
    for line in &counts.failures {
        println!("           {line}");
    }
    if counts.broken > 0 {
        println!("           it ended without a result: {}", ended.status);
    }
}

/// The complete output of the tests.
struct Log(File);

impl Log {
    fn create(path: &Path) -> anyhow::Result<Self> {
        File::create(path).map(Self).with_context(|| format!("cannot write {}", path.display()))
    }

    fn take(&mut self, ended: &Ended<'_>) -> anyhow::Result<()> {
        writeln!(self.0, "==== {} ({})\n{}", ended.binary.name, ended.status, ended.output)?;
        Ok(())
    }
}
