//! `cargo xtask audit`: checks every dependency against deny.toml and known vulnerabilities with cargo-deny.
//!
//! Checks that need only the dependencies must always pass. Advisories need a database from GitHub. If it is
//! not available they are skipped, so that checking a change does not depend on another server.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context as _, bail};

use crate::tools;

pub fn run() -> anyhow::Result<()> {
    let deny = match tools::CARGO_DENY.path() {
        Ok(deny) => deny,
        Err(why) => {
            println!("SKIPPED: {why:#}");
            return Ok(());
        }
    };
    // cargo-deny reads the manifests of all dependencies, including those for other systems.
    let sources = said(Command::new(env!("CARGO")).args(["fetch", "--locked", "--quiet"]))?;
    if let Step::Skip(why) = fetched(&sources)? {
        println!("SKIPPED: the dependencies cannot be fetched: {why}");
        return Ok(());
    }
    check(&deny, &["bans", "licenses", "sources"])?;
    // deny.toml has been read without errors, so only the database itself can fail.
    let database = said(of(&deny).args(["fetch", "db"]))?;
    match fetched(&database)? {
        Step::Go => check(&deny, &["advisories"]),
        Step::Skip(why) => {
            println!("SKIPPED: advisories: the database cannot be fetched: {why}");
            Ok(())
        }
    }
}

fn of(deny: &Path) -> Command {
    let mut command = Command::new(deny);
    command.args(["--locked", "--color", "never"]);
    command
}

/// Runs cargo-deny. Everything it needs has been fetched, so a failure is not due to the network.
fn check(deny: &Path, which: &[&str]) -> anyhow::Result<()> {
    // Without the dependency graph, which has hundreds of lines for the few crates that occur in two versions.
    let more = ["--offline", "check", "--hide-inclusion-graph"];
    let status = of(deny).args(more).args(which).status();
    let status = status.context("cannot start cargo-deny")?;
    if !status.success() {
        bail!("cargo-deny finds faults (check {})", which.join(" "));
    }
    Ok(())
}

/// Runs a command and captures its output.
///
/// # Errors
/// If it cannot be started.
pub fn said(command: &mut Command) -> anyhow::Result<Output> {
    command.output().with_context(|| format!("cannot start {}", command.get_program().display()))
}

/// The next step after fetching something.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Go,
    /// Skip, for this reason.
    Skip(String),
}

/// Decides how to continue after fetching something.
///
/// # Errors
/// If the repository is at fault, not the network.
pub fn fetched(done: &Output) -> anyhow::Result<Step> {
    decide(done.status.success(), &String::from_utf8_lossy(&done.stderr))
}

fn decide(success: bool, said: &str) -> anyhow::Result<Step> {
    if success {
        return Ok(Step::Go);
    }
    if said.contains("--locked was passed") {
        bail!("Cargo.lock does not fit the manifests:\n{}", said.trim());
    }
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    // git's message is more specific than the message of the program that called git.
    let told = lines().find(|line| line.starts_with("fatal: ")).or_else(|| lines().next());
    let told = told.unwrap_or("no output");
    // cargo-deny prefixes its messages with a time and a level.
    let told = told.split_once("[ERROR] ").map_or(told, |(_, words)| words);
    Ok(Step::Skip(told.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(said: &str) -> String {
        match decide(false, said).unwrap() {
            Step::Skip(why) => why,
            Step::Go => panic!("went on after {said:?}"),
        }
    }

    #[test]
    fn what_was_fetched_is_checked() {
        assert_eq!(decide(true, "").unwrap(), Step::Go);
        assert_eq!(decide(true, "2026-11-23 05:12:58 [WARN] slow").unwrap(), Step::Go);
    }

    #[test]
    fn what_cannot_be_fetched_is_skipped_with_its_reason() {
        let without_network = "2026-11-23 05:12:58 [ERROR] failed to fetch database: failed to clone: [\"clone\"]\n\
            Cloning into '/root/.cargo/advisory-dbs/advisory-db-3157b0e258782691'...\n\
            fatal: unable to access 'https://github.com/RustSec/advisory-db/': Could not resolve host: github.com\n";
        assert_eq!(
            skipped(without_network),
            "fatal: unable to access 'https://github.com/RustSec/advisory-db/': Could not resolve host: github.com"
        );
        assert_eq!(
            skipped("2026-11-23 05:12:58 [ERROR] failed to fetch database: no space left\nmore\n"),
            "failed to fetch database: no space left"
        );
        assert_eq!(skipped("\nerror: failed to download `a`\n"), "error: failed to download `a`");
        assert_eq!(skipped(""), "no output");
    }

    #[test]
    fn a_lock_file_that_does_not_fit_is_a_fault() {
        let said = "error: cannot update the lock file Cargo.lock because --locked was passed to prevent this";
        assert!(decide(false, said).is_err());
    }
}
