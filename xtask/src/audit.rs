//! `cargo xtask audit`: every dependency held against deny.toml and the known vulnerabilities, by cargo-deny.
//!
//! What needs only the dependencies themselves must always pass. Advisories need a database from GitHub: without it they
//! are skipped, so that the check of a change does not depend on somebody else's server.

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
    // cargo-deny reads the manifests of all dependencies, of those for other systems too.
    let sources = said(Command::new(env!("CARGO")).args(["fetch", "--locked", "--quiet"]))?;
    if let Step::Skip(why) = fetched(&sources)? {
        println!("SKIPPED: the dependencies cannot be fetched: {why}");
        return Ok(());
    }
    check(&deny, &["bans", "licenses", "sources"])?;
    // deny.toml was read without a fault by now, so that only the database itself can fail.
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

/// Lets cargo-deny say what it finds. All that it needs was fetched before, so what fails here is no network.
fn check(deny: &Path, which: &[&str]) -> anyhow::Result<()> {
    // Without who depends on what: of the few crates that come in two versions that is hundreds of lines.
    let more = ["--offline", "check", "--hide-inclusion-graph"];
    let status = of(deny).args(more).args(which).status();
    let status = status.context("cannot start cargo-deny")?;
    if !status.success() {
        bail!("cargo-deny finds faults (check {})", which.join(" "));
    }
    Ok(())
}

/// What a command said.
///
/// # Errors
/// If it cannot be started.
pub fn said(command: &mut Command) -> anyhow::Result<Output> {
    command.output().with_context(|| format!("cannot start {}", command.get_program().display()))
}

/// What comes after something was fetched.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Go,
    /// It cannot be had, for this reason.
    Skip(String),
}

/// Whether something was fetched.
///
/// # Errors
/// What is wrong here, and not with the network.
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
    // git says more than whoever called it.
    let told = lines().find(|line| line.starts_with("fatal: ")).or_else(|| lines().next());
    let told = told.unwrap_or("nothing was said");
    // cargo-deny puts the time and the level before its words.
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
        assert_eq!(skipped(""), "nothing was said");
    }

    #[test]
    fn a_lock_file_that_does_not_fit_is_a_fault() {
        let said = "error: cannot update the lock file Cargo.lock because --locked was passed to prevent this";
        assert!(decide(false, said).is_err());
    }
}
