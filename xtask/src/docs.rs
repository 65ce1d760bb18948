//! `cargo xtask docs`: builds the documentation of all crates without warnings, in particular
//! without broken links.

use std::process::Command;

use anyhow::{Context as _, bail};

pub fn run() -> anyhow::Result<()> {
    let status = Command::new(env!("CARGO"))
        .args(["doc", "--workspace", "--no-deps", "--all-features", "--locked", "--quiet"])
        .env("RUSTDOCFLAGS", "-D warnings")
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("the documentation has faults");
    }
    Ok(())
}
