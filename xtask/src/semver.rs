//! `cargo xtask semver`: checks with cargo-semver-checks that the libraries are compatible with the
//! last release.

use std::process::Command;

use anyhow::{Context as _, bail};

use crate::tools;

/// The crates that other programs can use.
const LIBRARIES: &[&str] =
    &["cryptbench-cipher", "cryptbench-kdf", "cryptbench-stats", "cryptbench-volume"];

#[derive(clap::Args)]
pub struct Options {
    /// Compare with this commit instead of the last tag v*
    #[arg(long, value_name = "COMMIT")]
    base: Option<String>,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let last = || tools::said("git", &["describe", "--tags", "--abbrev=0", "--match", "v*"]).ok();
    let Some(tag) = options.base.clone().or_else(last) else {
        println!("SKIPPED: semver: there is no release to compare with (a tag v*, or --base)");
        return Ok(());
    };
    let checks = match tools::CARGO_SEMVER_CHECKS.path() {
        Ok(checks) => checks,
        Err(why) => {
            println!("SKIPPED: semver: {why:#}");
            return Ok(());
        }
    };
    let packages = LIBRARIES.iter().flat_map(|name| ["--package", name]);
    let status = Command::new(checks)
        .args(["semver-checks", "check-release", "--baseline-rev", &tag])
        .args(packages)
        .status()
        .context("cannot start cargo-semver-checks")?;
    if !status.success() {
        bail!("a library is incompatible with {tag}; increase its version accordingly");
    }
    Ok(())
}
