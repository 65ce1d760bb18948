//! `cargo xtask`: tests, tidiness and benchmarks, each by one command.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "what these commands print is their result")]

mod audit;
mod bench;
mod cross;
mod devices;
mod dist;
mod docs;
mod fuzz;
mod msrv;
mod newcomer;
mod package;
mod packages;
mod readme;
mod semver;
mod test;
mod tidy;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores of the cryptbench repository.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Hold every dependency against deny.toml and the known vulnerabilities, by cargo-deny
    Audit,
    /// Run every test; installs the Debian packages that tests need when it may
    Test(test::Options),
    /// Feed every parser of strangers' bytes with mutated input for a while
    Fuzz(fuzz::Options),
    /// Check that what is of no system builds for others
    #[command(subcommand)]
    Cross(cross::Cross),
    /// Print the device models beside the published sweeps, as docs/devices.md has them
    Devices,
    /// Build the documentation of all crates, where each warning is a fault
    Docs,
    /// Build what is handed out: the Debian package, a static binary; show that builds repeat
    Dist(dist::Options),
    /// Follow the README in a new Debian, and tell how long each step takes
    Newcomer(newcomer::Options),
    /// Write the transcript of README.md anew, from a record that is kept as a fixture
    Readme(readme::Options),
    /// Check that the oldest compiler that the manifests name can build everything
    Msrv,
    /// Check that the libraries keep what they promised at the last release
    Semver,
    /// Check that the tree is where ARCHITECTURE.md says things live
    Tidy,
    /// Compare with other programs, side by side in one run
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let done = run(Args::parse().command);
    if let Err(error) = &done {
        eprintln!("xtask: {error:#}");
    }
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(command: Command) -> anyhow::Result<()> {
    std::env::set_current_dir(root())?;
    match command {
        Command::Audit => audit::run(),
        Command::Test(options) => test::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Cross(cross) => cross::run(&cross),
        Command::Devices => devices::run(),
        Command::Docs => docs::run(),
        Command::Dist(options) => dist::run(&options),
        Command::Newcomer(options) => newcomer::run(&options),
        Command::Readme(options) => readme::run(&options),
        Command::Msrv => msrv::run(),
        Command::Semver => semver::run(),
        Command::Tidy => tidy::run(),
        Command::Bench(bench) => bench::run(bench),
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}
