//! `cargo xtask fuzz`: runs every fuzz target for a while, with the stable compiler.
//!
//! cargo-fuzz requires a nightly compiler because of its sanitizers. The coverage information that
//! guides libFuzzer needs only flags that the stable compiler also accepts. Overflow checks and
//! debug assertions are enabled, and safe Rust needs no address sanitizer.

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
    /// Only these targets
    target: Vec<String>,
}

/// The coverage that libFuzzer uses (LLVM, "SanitizerCoverage").
const COVERAGE: &str = "-Cpasses=sancov-module \
     -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
     -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares \
     --cfg fuzzing";

/// libFuzzer is C++.
const COMPILER: &[Need] = &[Need { file: "/usr/bin/c++", package: "g++", reason: "libFuzzer" }];

pub fn run(options: &Options) -> anyhow::Result<()> {
    packages::ensure_or_tell(COMPILER);
    // A separate target directory; otherwise every build would undo the flags of the other.
    let built = Path::new("fuzz/target");
    let triple = host()?;
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", &triple])
        .arg("--target-dir")
        .arg(built)
        .env("RUSTFLAGS", COVERAGE)
        .status()?;
    if !status.success() {
        bail!("the fuzz targets do not build");
    }
    let mut wanted = targets()?;
    wanted.retain(|t| options.target.is_empty() || options.target.contains(t));
    let runs = built.join(&triple).join("release");
    let todo = Mutex::new(wanted.into_iter());
    let next = || todo.lock().expect("no thread panics with it").next();
    let failed = Mutex::new(Vec::new());
    // Each target uses one thread: runs one per core at a time.
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(target) = next() {
                    match fuzz(&runs.join(&target), &target, options.seconds) {
                        Ok(said) => println!("{said}"),
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
    Ok(())
}

/// Runs one target and returns a summary line.
fn fuzz(binary: &Path, target: &str, seconds: u32) -> anyhow::Result<String> {
    let corpus = Path::new("fuzz/corpus").join(target);
    let artifacts = Path::new("fuzz/artifacts").join(target);
    std::fs::create_dir_all(&corpus)?;
    std::fs::create_dir_all(&artifacts)?;
    let mut command = Command::new(binary);
    command.arg(&corpus);
    let seeds = Path::new("fuzz/seeds").join(target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    let output = command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        // A foreign header must be judged in bounded time and memory.
        .args(["-timeout=10", "-rss_limit_mb=1024", "-max_len=65536", "-print_final_stats=1"])
        .output()
        .with_context(|| target.to_owned())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{said}");
    }
    let units = said.lines().find_map(|l| l.strip_prefix("stat::number_of_executed_units:"));
    Ok(format!("fuzzed {target} for {seconds} s: {} inputs", units.map_or("unknown", str::trim)))
}

fn targets() -> anyhow::Result<Vec<String>> {
    let mut names: Vec<_> = std::fs::read_dir("fuzz/fuzz_targets")?
        .flatten()
        .filter_map(|e| Some(e.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

fn host() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("rustc")?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not name its host")?.to_owned())
}
