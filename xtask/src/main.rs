//! `cargo xtask`: tests, tidiness and benchmarks, each with one command.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "printing is the purpose of these commands")]

mod afterwards;
mod arm;
mod audit;
mod bench;
mod budgets;
mod commits;
mod cross;
mod devices;
mod dist;
mod docs;
mod fuzz;
mod generated;
mod guest_kernel;
mod interrupted;
mod machines;
mod msrv;
mod newcomer;
mod package;
mod packages;
mod prose;
mod prove;
mod readme;
mod semver;
mod test;
mod tidy;
mod tools;
mod weight;

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
    /// Check every dependency against deny.toml and known vulnerabilities, with cargo-deny
    Audit,
    /// Show whether runs keep their budget, on disks that are held to a rate
    Budgets(budgets::Options),
    /// Check that the messages of new commits have the form of CONTRIBUTING.md
    Commits,
    /// Run every test; installs the Debian packages that tests need if it may
    Test(test::Options),
    /// Feed every parser of foreign bytes with mutated input for a while
    Fuzz(fuzz::Options),
    /// Check that the portable crates build for other systems, and test on ARM under QEMU
    #[command(subcommand)]
    Cross(cross::Cross),
    /// Print the device models with the published sweeps, as in docs/devices.md
    Devices,
    /// Build the documentation of all crates, every warning an error, and docs/ as a book, with mdBook
    Docs,
    /// Build the distributed files: the Debian package, a static binary; check that builds are reproducible
    Dist(dist::Options),
    /// Boot emulated machines with a whole Debian, and run there what a user runs
    Machines(machines::Options),
    /// Follow the README on a new Debian, and show how long each step takes
    Newcomer(newcomer::Options),
    /// Check spelling with typos (_typos.toml), and the links of the pages with lychee
    Prose,
    /// Count the failures that the program survives: kills, power cuts, damaged input, bad devices and more
    Prove(prove::Options),
    /// Regenerate the transcripts of README.md and docs/ from records that are kept as fixtures, and
    /// the tables of options
    Readme(readme::Options),
    /// Check that the oldest compiler named in the manifests can build everything
    Msrv,
    /// Check that the libraries are compatible with the last release
    Semver(semver::Options),
    /// Check the structure of the code against ARCHITECTURE.md
    Tidy,
    /// Count lines, packages, bytes and build time, compared with another commit
    Weight(weight::Options),
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
        Command::Budgets(options) => budgets::run(&options),
        Command::Commits => commits::run(),
        Command::Test(options) => test::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Cross(cross) => cross::run(&cross),
        Command::Devices => devices::run(),
        Command::Docs => docs::run(),
        Command::Dist(options) => dist::run(&options),
        Command::Machines(options) => machines::run(&options),
        Command::Newcomer(options) => newcomer::run(&options),
        Command::Prose => prose::run(),
        Command::Prove(options) => prove::run(&options),
        Command::Readme(options) => readme::run(&options),
        Command::Msrv => msrv::run(),
        Command::Semver(options) => semver::run(&options),
        Command::Tidy => tidy::run(),
        Command::Weight(options) => weight::run(&options),
        Command::Bench(bench) => bench::run(bench),
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}
