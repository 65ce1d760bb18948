//! `cargo xtask cross windows`: builds the program for Windows, and runs it and tests under Wine.
//!
//! Under Wine, it can be checked that files are created, found and removed, that requests transfer the right
//! bytes, and that computations are right. Speed and Windows' drivers cannot be checked.

mod runs;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};

use super::{PORTABLE, STD, System, cargo, prepared};
use crate::audit::Step;
use crate::packages::{Need, ensure};
use crate::test::libtest::{self, Counts};

/// Tests of portable crates that do not run under Wine: the crate, the kind of tests, and the reason.
const LEFT_OUT: &[(&str, Kind, &str)] = &[
    ("fleet", Kind::Unit, "its plans are scripts of a shell, and bash reads them"),
    ("fleet", Kind::Integration, "its plans are scripts of a shell, and bash runs them"),
    ("serve", Kind::Integration, "a script of a shell stands in the program's place"),
];

/// The tests of a crate that are built together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unit,
    Integration,
}

const WINE: [Need; 2] = [
    Need { file: "/usr/bin/wine", package: "wine", reason: "runs programs for Windows" },
    Need { file: "/usr/lib/wine/wine64", package: "wine64", reason: "runs programs for Windows" },
];

const COMPILER: &str = "x86_64-w64-mingw32-gcc";

/// The part of Windows that Rust's standard library needs and Wine 8 lacks.
const RANDOM: &str = "xtask/src/cross/bcryptprimitives.c";

/// The directory of Wine's Windows installation.
const PREFIX: &str = "target/wine";

/// The complete output of the tests.
const LOG: &str = "target/wine/tests.log";

/// Prefix of a test's message about a skip.
const SKIPPED: &str = "SKIPPED: ";

/// The directory of programs built for Windows.
const BUILT: &str = "target/cross/x86_64-pc-windows-gnu/debug";

/// Builds, tests and runs the program, or returns why it cannot.
///
/// # Errors
/// If something cannot be built or fails.
pub fn run(filter: Option<&str>) -> anyhow::Result<Option<String>> {
    let triple = System::Windows.triple();
    let missing = ensure(&WINE);
    if !missing.is_empty() {
        return Ok(Some(format!("{triple}: {}", missing.join("; "))));
    }
    if let Step::Skip(why) = prepared(System::Windows)? {
        return Ok(Some(format!("{triple}: {why}")));
    }
    let wine = Wine::set_up()?;
    if filter.is_none() {
        let began = Instant::now();
        let mut build = cargo("build", System::Windows);
        // Built with the packages of the tests, because with other features their dependencies would be
        // compiled twice.
        build.args([STD, "--offline", "--package=cryptbench"]).args(PORTABLE.iter().map(package));
        passed(&mut build, "the program")?;
        println!("{triple}: built in {:.0} s", began.elapsed().as_secs_f64());
        runs::all(&wine)?;
        println!("{triple}: built, and all runs passed, in {:.0} s", began.elapsed().as_secs_f64());
    }
    let began = Instant::now();
    let mut log = libtest::log(Path::new(LOG))?;
    let (mut all, mut success) = (Counts::default(), true);
    for kind in [Kind::Unit, Kind::Integration] {
        let ended = libtest::run(&mut wine.tests(kind, filter), &mut log)?;
        let skips = ended.output.lines().filter_map(|line| line.trim_start().strip_prefix(SKIPPED));
        for why in BTreeSet::from_iter(skips) {
            println!("           {SKIPPED}{why}");
        }
        for failure in &ended.failures {
            println!("           {failure}");
        }
        success &= ended.success;
        all.add(&ended.counts);
    }
    for (name, kind, why) in LEFT_OUT {
        println!("SKIPPED: {kind:?} tests of {name}: {why}");
    }
    let took = began.elapsed().as_secs_f64();
    println!("{triple}: {} tests passed, {} failed in {took:.0} s: {LOG}", all.passed, all.failed);
    if !success || all.passed == 0 {
        bail!("tests for Windows failed: see {LOG}");
    }
    Ok(None)
}

/// The command that starts a program for Windows here.
///
/// # Errors
/// If Wine cannot be installed, or the part that it lacks cannot be built.
pub fn under_wine(program: &Path) -> anyhow::Result<Command> {
    let missing = ensure(&WINE);
    if !missing.is_empty() {
        bail!("nothing for Windows can be started here: {}", missing.join("; "));
    }
    Ok(Wine::set_up()?.starts(program))
}

fn package(name: &&str) -> String {
    format!("--package=cryptbench-{name}")
}

fn passed(command: &mut Command, what: &str) -> anyhow::Result<()> {
    match command.status().with_context(|| format!("cannot start {command:?}"))?.success() {
        true => Ok(()),
        false => bail!("{what} for Windows: {command:?} failed"),
    }
}

/// The text that a program wrote to a file, from its start.
fn read(file: &mut File) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Wine with a separate Windows installation.
struct Wine {
    /// Root of the repository.
    root: PathBuf,
    prefix: PathBuf,
    /// The directory with the library that Wine lacks.
    lacking: PathBuf,
}

impl Wine {
    fn set_up() -> anyhow::Result<Self> {
        let here = std::env::current_dir()?;
        let (prefix, lacking) = (here.join(PREFIX), here.join(PREFIX).join("lacking"));
        fs::create_dir_all(&lacking)?;
        let library = lacking.join("bcryptprimitives.dll");
        let mut compiler = Command::new(COMPILER);
        compiler.args(["-shared", "-Os", "-o"]).arg(&library).args([RANDOM, "-ladvapi32"]);
        passed(&mut compiler, "what Wine lacks")?;
        Ok(Self { root: here, prefix, lacking })
    }

    /// Sets the variables that Wine reads.
    fn runs(&self, command: &mut Command) {
        command.env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all");
        command.env("WINEPATH", &self.lacking).stdin(Stdio::null());
        // Otherwise insta would ask cargo for this, which Wine cannot start.
        command.env("INSTA_WORKSPACE_ROOT", &self.root).env("INSTA_UPDATE", "no");
    }

    fn program(&self) -> Command {
        self.starts(&Path::new(BUILT).join("cryptbench.exe"))
    }

    fn starts(&self, program: &Path) -> Command {
        let mut command = Command::new("wine");
        command.arg(program);
        self.runs(&mut command);
        command
    }

    /// Builds the tests of the portable crates, and runs them.
    fn tests(&self, kind: Kind, filter: Option<&str>) -> Command {
        let mut command = cargo("test", System::Windows);
        command.args([STD, "--offline", "--no-fail-fast"]).arg(match kind {
            Kind::Unit => "--lib",
            Kind::Integration => "--test=integration",
        });
        let is_left_out =
            |name: &str| LEFT_OUT.iter().any(|(left, of, _)| (*left, *of) == (name, kind));
        let tested = PORTABLE.iter().filter(|name| !is_left_out(name));
        command.args(tested.map(package)).args(["--", "--show-output"]).args(filter);
        command.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine");
        self.runs(&mut command);
        command
    }
}
