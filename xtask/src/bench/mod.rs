//! Benchmarks against other programs and against our own claims.

mod aa;
mod arm;
mod ciphers;
mod delay;
mod engine;
mod fleet;
mod guest;
mod kdf;
mod memory;
mod precision;
mod scaling;
mod serve;
mod sharpness;
mod startup;
mod volume;
mod why;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

/// The median of measured values; NaN if there are none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    cryptbench_stats::median(&values.into_iter().collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

#[derive(clap::Subcommand)]
pub enum Bench {
    /// Compare the load engine with fio's io_uring engine, on the disk and on a loop device over RAM
    Engine(engine::Options),
    /// Many runs of plain against plain: how often do they claim a difference that does not exist?
    Aa(aa::Options),
    /// Compare the widths of intervals of runs with slices and with whole trials
    Sharpness(sharpness::Options),
    /// Measure how long runs take to reach the requested precision
    Precision(precision::Options),
    /// Check whether runs find the known cost of a layer
    Delay(delay::Options),
    /// Compare our cipher kernels with those of other libraries
    Ciphers(ciphers::Options),
    /// Instructions and estimated cycles of our ciphers and of other libraries' on 64-bit ARM
    Arm(arm::Options),
    /// Compare our key derivation with that of other libraries
    Kdf(kdf::Options),
    /// Measure the start-up time and the size of the program
    Startup(startup::Options),
    /// The memory of a default run and of a mount
    Memory(memory::Options),
    /// Ciphers, key derivation and a mount with one processor and with several
    Scaling(scaling::Options),
    /// Compare a file served by us with other ways to serve it and other programs that encrypt it
    Volume(volume::Options),
    /// A fleet's records pooled and collected: time and memory by their number
    Fleet(fleet::Options),
    /// Compare runs watched by pages with unwatched runs
    Serve(serve::Options),
    /// Check whether known causes of losses on emulated devices are identified
    Why(why::Options),
}

pub fn run(bench: Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Engine(options) => engine::run(&options),
        Bench::Aa(options) => aa::run(&options),
        Bench::Sharpness(options) => sharpness::run(&options),
        Bench::Precision(options) => precision::run(&options),
        Bench::Delay(options) => delay::run(&options),
        Bench::Ciphers(options) => ciphers::run(&options),
        Bench::Arm(options) => arm::run(&options),
        Bench::Kdf(options) => kdf::run(&options),
        Bench::Startup(options) => startup::run(&options),
        Bench::Memory(options) => memory::run(&options),
        Bench::Scaling(options) => scaling::run(&options),
        Bench::Volume(options) => volume::run(&options),
        Bench::Fleet(options) => fleet::run(&options),
        Bench::Serve(options) => serve::run(&options),
        Bench::Why(options) => why::run(&options),
    }
}

/// Builds with the release profile and returns the directory of the binaries.
pub(crate) fn build_release(arguments: &[&str]) -> anyhow::Result<PathBuf> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet"])
        .args(arguments)
        .status()?;
    if !status.success() {
        bail!("the build failed");
    }
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    std::path::absolute(Path::new(&target).join("release")).context("no such directory")
}

/// The information that must accompany a figure: the machine and the versions of programs.
pub(crate) fn machine() -> String {
    let read = |p: &str| std::fs::read_to_string(p).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": "));
    let cpus = cpuinfo.lines().filter(|l| l.starts_with("processor")).count();
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{} x {}, Linux {}", cpus, model.map_or("unknown CPU", |m| m.1), kernel.trim())
}

/// First line of a program's output for `--version`.
fn version(program: &str) -> Option<String> {
    let out = Command::new(program).arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&out.stdout).lines().next()?.to_owned())
}
