//! `cargo xtask prose`: checks spelling with typos, and the links of the pages with lychee.
//!
//! Links to other sites are not followed, so that checking a change does not depend on these sites. A program
//! that cannot be installed is skipped for the same reason.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::tools;

/// Versions of both programs, with the hashes of the accepted files.
const PACKAGES: &str = "xtask/prose.txt";

/// The pages whose links are checked. lychee expands the pattern.
const PAGES: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "docs/**/*.md",
];

pub fn run() -> anyhow::Result<()> {
    let spelling = check("typos", &[])?;
    let links = [&["--offline", "--no-progress", "--include-fragments"], PAGES].concat();
    let links = check("lychee", &links)?;
    match (spelling, links) {
        (true, true) => Ok(()),
        (false, true) => bail!("typos finds faults: correct them, or add the word to _typos.toml"),
        (true, false) => bail!("lychee finds broken links"),
        (false, false) => bail!("typos and lychee find faults"),
    }
}

/// Whether the program `name` finds no faults, or cannot be installed.
fn check(name: &str, arguments: &[&str]) -> anyhow::Result<bool> {
    let program = match tools::from_pypi(name, Path::new(PACKAGES)) {
        Ok(program) => program,
        Err(why) => {
            println!("SKIPPED: {name}: {why:#}");
            return Ok(true);
        }
    };
    let status = Command::new(program).args(arguments).status();
    Ok(status.with_context(|| format!("cannot start {name}"))?.success())
}
