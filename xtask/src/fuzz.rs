//! `cargo xtask fuzz`: runs every fuzz target for a while, with the stable compiler.
//!
//! cargo-fuzz requires a nightly compiler because of its sanitizers. The coverage information that guides
//! libFuzzer needs only flags that the stable compiler also accepts. AddressSanitizer is part of that compiler,
//! and needs a flag that is accepted if unstable options are enabled. Overflow checks and debug assertions are
//! enabled.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context as _, bail};

use crate::packages::{self, Need};

#[derive(clap::Args)]
pub struct Options {
    /// Seconds for each target
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Then keep the smallest inputs that reach as much as all, as seeds
    #[arg(long)]
    keep: bool,
    /// Only these targets
    target: Vec<String>,
}

/// The coverage that libFuzzer uses (LLVM, "SanitizerCoverage"), and AddressSanitizer.
const INSTRUMENTED: &str = "-Cpasses=sancov-module \
     -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
     -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares \
     -Zsanitizer=address \
     --cfg fuzzing";

/// The directory in which the targets are built.
const BUILT: &str = "fuzz/target";

/// The initial inputs of each target.
const SEEDS: &str = "fuzz/seeds";

/// Inputs stored elsewhere.
const FIXTURES: &[(&str, &str)] =
    &[("foreign", "crates/foreign/tests/fixtures"), ("profile", "crates/load/profiles")];

/// Maximum number of inputs kept for a target, small and large.
const KEPT: usize = 24;

/// The target that reads beyond the end of its input.
const PLANTED: &str = "planted";

/// libFuzzer is C++.
const COMPILER: &[Need] = &[Need { file: "/usr/bin/c++", package: "g++", reason: "libFuzzer" }];

pub fn run(options: &Options) -> anyhow::Result<()> {
    build()?;
    let mut wanted = targets()?;
    wanted.retain(|t| options.target.is_empty() || options.target.contains(t));
    let todo = Mutex::new(wanted.into_iter());
    let next = || todo.lock().expect("no thread panics with it").next();
    let failed = Mutex::new(Vec::new());
    let seconds = options.seconds;
    // Each target uses one thread, so one target per core runs at a time.
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(target) = next() {
                    match run_one(&target, seconds) {
                        Ok(inputs) => println!("fuzzed {target} for {seconds} s: {inputs} inputs"),
                        Err(e) => {
                            println!("{e:#}");
                            failed.lock().expect("no thread panics with it").push(target);
                        }
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no thread panicked with it");
    if !failed.is_empty() {
        bail!("inputs that break {}: see fuzz/artifacts", failed.join(", "));
    }
    if options.keep {
        for target in targets()? {
            keep(&target)?;
        }
    }
    Ok(())
}

/// Builds all targets.
pub fn build() -> anyhow::Result<()> {
    packages::ensure_or_tell(COMPILER);
    // A separate target directory, because builds with different flags would otherwise undo each other.
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml"])
        .args(["--target", &host()?, "--target-dir", BUILT])
        .env("RUSTFLAGS", INSTRUMENTED)
        // Every stable compiler contains the sanitizer, but rejects the option without this variable.
        .env("RUSTC_BOOTSTRAP", "1")
        .status()?;
    if !status.success() {
        bail!("the fuzz targets do not build");
    }
    Ok(())
}

/// Runs one built target, and returns how many inputs it processed.
///
/// # Errors
/// The message of the sanitizer, libFuzzer or the target itself about an input.
pub fn run_one(target: &str, seconds: u32) -> anyhow::Result<u64> {
    let corpus = Path::new("fuzz/corpus").join(target);
    let artifacts = Path::new("fuzz/artifacts").join(target);
    std::fs::create_dir_all(&corpus)?;
    std::fs::create_dir_all(&artifacts)?;
    let mut command = Command::new(binary(target)?);
    command.arg(&corpus);
    let seeds = Path::new(SEEDS).join(target);
    let fixtures = FIXTURES.iter().filter(|(name, _)| *name == target);
    command.args(fixtures.map(|(_, directory)| directory));
    if seeds.is_dir() {
        command.arg(seeds);
    }
    let output = command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        // An untrusted header must be processed in limited time and memory; the sanitizer needs additional
        // time.
        .args(["-timeout=20", "-rss_limit_mb=2048", "-max_len=65536", "-print_final_stats=1"])
        .output()
        .with_context(|| target.to_owned())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{said}");
    }
    let units = said.lines().find_map(|l| l.strip_prefix("stat::number_of_executed_units:"));
    units.and_then(|units| units.trim().parse().ok()).context("libFuzzer tells no number of inputs")
}

/// Checks that libFuzzer and the sanitizer find the deliberate fault of a target; returns their messages.
pub fn finds_what_is_planted() -> anyhow::Result<String> {
    build()?;
    match run_one(PLANTED, 60) {
        Ok(inputs) => bail!("{inputs} inputs, and nothing was found"),
        Err(e) => {
            let said = e.to_string();
            let line = said.lines().find(|line| line.contains("ERROR: AddressSanitizer"));
            let line = line.with_context(|| said.clone())?;
            let line = line.split("ERROR: ").nth(1).unwrap_or(line);
            Ok(line.split(" on ").next().unwrap_or(line).to_owned())
        }
    }
}

/// Keeps some of the smallest inputs that together reach the same code as a target's corpus.
fn keep(target: &str) -> anyhow::Result<()> {
    let least = tempfile::tempdir()?;
    let corpus = Path::new("fuzz/corpus").join(target);
    let seeds = Path::new(SEEDS).join(target);
    std::fs::create_dir_all(&seeds)?;
    let done = Command::new(binary(target)?)
        .args(["-merge=1", "-max_len=2048"])
        .args([least.path(), &corpus, &seeds])
        .output()?;
    if !done.status.success() {
        bail!("{target}: {}", String::from_utf8_lossy(&done.stderr));
    }
    let mut inputs: Vec<_> = std::fs::read_dir(least.path())?
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.len(), entry.path())))
        .collect();
    inputs.sort();
    let found = inputs.len();
    let every = inputs.len().div_ceil(KEPT).max(1);
    let inputs: Vec<_> = inputs.into_iter().rev().step_by(every).collect();
    for (_, input) in &inputs {
        let name = input.file_name().context("a file")?;
        std::fs::copy(input, seeds.join(name))?;
    }
    println!("{target}: {} of {found} inputs kept", inputs.len());
    Ok(())
}

fn binary(target: &str) -> anyhow::Result<std::path::PathBuf> {
    Ok(Path::new(BUILT).join(host()?).join("release").join(target))
}

/// All targets except the one with the deliberate fault.
pub fn targets() -> anyhow::Result<Vec<String>> {
    let mut names: Vec<_> = std::fs::read_dir("fuzz/fuzz_targets")?
        .flatten()
        .filter_map(|e| Some(e.path().file_stem()?.to_str()?.to_owned()))
        .filter(|name| name != PLANTED)
        .collect();
    names.sort();
    Ok(names)
}

pub fn host() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("rustc")?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not name its host")?.to_owned())
}
