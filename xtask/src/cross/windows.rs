//! `cargo xtask cross windows`: builds the program for Windows, and runs it and tests under Wine.
//!
//! Wine shows that files are made, found and removed, that requests move the bytes that they should,
//! and that what is computed is right. It says nothing of speed and nothing of Windows' drivers.

mod runs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};

use super::{STD, System, cargo, prepared};
use crate::audit::Step;
use crate::packages::{Need, ensure};

/// The crates whose unit tests run under Wine: those with a side of Windows, and what is quickly built.
const TESTED: &[&str] = &["blockdev", "cpu", "load", "os", "stats", "text"];

/// Those whose integration tests do, too.
const INTEGRATED: &[&str] = &["load", "stats"];

const WINE: [Need; 2] = [
    Need { file: "/usr/bin/wine", package: "wine", reason: "runs programs for Windows" },
    Need { file: "/usr/lib/wine/wine64", package: "wine64", reason: "runs programs for Windows" },
];

const COMPILER: &str = "x86_64-w64-mingw32-gcc";

/// The part of Windows that Wine 8 lacks and Rust's standard library needs.
const RANDOM: &str = "xtask/src/cross/bcryptprimitives.c";

/// Where Wine keeps its own Windows.
const PREFIX: &str = "target/wine";

/// Where programs for Windows are built.
const BUILT: &str = "target/cross/x86_64-pc-windows-gnu/debug";

/// Builds, tests and runs, or returns why it cannot.
pub(super) fn run(filter: Option<&str>) -> anyhow::Result<Option<String>> {
    let triple = System::Windows.triple();
    let missing = ensure(&WINE);
    if !missing.is_empty() {
        return Ok(Some(format!("{triple}: {}", missing.join("; "))));
    }
    if let Step::Skip(why) = prepared(System::Windows)? {
        return Ok(Some(format!("{triple}: {why}")));
    }
    let wine = Wine::set_up()?;
    let began = Instant::now();
    for (tested, kind) in [(TESTED, "--lib"), (INTEGRATED, "--test=integration")] {
        let mut command = cargo("test", System::Windows);
        command.args([STD, "--offline", "--no-fail-fast", kind]);
        command.args(tested.iter().map(|name| format!("--package=cryptbench-{name}")));
        command.arg("--").args(filter);
        wine.runs(&mut command);
        command.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine");
        passed(&mut command, "tests")?;
    }
    println!("{triple}: tests passed in {:.0} s", began.elapsed().as_secs_f64());
    if filter.is_none() {
        let began = Instant::now();
        let mut build = cargo("build", System::Windows);
        build.args([STD, "--offline", "--package=cryptbench"]);
        passed(&mut build, "the program")?;
        runs::all(&wine)?;
        println!("{triple}: runs in {:.0} s", began.elapsed().as_secs_f64());
    }
    Ok(None)
}

fn passed(command: &mut Command, what: &str) -> anyhow::Result<()> {
    match command.status().with_context(|| format!("cannot start {command:?}"))?.success() {
        true => Ok(()),
        false => bail!("{what} for Windows: {command:?} failed"),
    }
}

/// Wine with a Windows of its own.
struct Wine {
    prefix: PathBuf,
    /// The directory with what Wine lacks.
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
        Ok(Self { prefix, lacking })
    }

    /// Sets what Wine reads.
    fn runs(&self, command: &mut Command) {
        command.env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all");
        command.env("WINEPATH", &self.lacking).stdin(Stdio::null());
    }

    fn program(&self) -> Command {
        let mut command = Command::new("wine");
        command.arg(Path::new(BUILT).join("cryptbench.exe"));
        self.runs(&mut command);
        command
    }
}
