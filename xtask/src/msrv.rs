//! `cargo xtask msrv`: checks that the oldest compiler named in the manifests builds the workspace.
//!
//! `cargo xtask tidy` checks without another compiler that no dependency requires a newer one. Clippy's
//! `incompatible_msrv` checks calls to the standard library. Only the language itself must be checked with the
//! oldest compiler.

use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::tools;

/// Checks the workspace with the oldest compiler, which rustup downloads. If that is not possible, prints
/// SKIPPED and the reason.
pub fn run() -> anyhow::Result<()> {
    let metadata = metadata()?;
    let oldest = oldest(&metadata)?;
    let toolchain = ["toolchain", "install", &oldest, "--profile", "minimal", "--no-self-update"];
    let installed = Command::new("rustup").args(toolchain).stdout(Stdio::null()).output();
    match installed {
        Err(e) => {
            println!("SKIPPED: there is no rustup, and so no Rust {oldest}: {e}");
            return Ok(());
        }
        Ok(done) if !done.status.success() => {
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            println!("SKIPPED: no Rust {oldest}: {}", tools::reason(&said));
            return Ok(());
        }
        Ok(_) => {}
    }
    let status = Command::new("rustup")
        .args(["run", &oldest, "cargo", "check", "--workspace", "--all-features", "--locked"])
        // The cargo that runs this command sets it for another compiler.
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
        .env_remove("RUSTC")
        .args(["--target-dir", "target/msrv"])
        .status()
        .context("cannot start rustup")?;
    if !status.success() {
        bail!("Rust {oldest}, which the manifests name, does not build this");
    }
    Ok(())
}

/// Reports dependencies that require a newer compiler than the manifests name.
pub fn dependencies(metadata: &Value, faults: &mut Vec<String>) -> anyhow::Result<()> {
    let oldest = oldest(metadata)?;
    for package in packages(metadata)? {
        let Some(asks) = package["rust_version"].as_str() else { continue };
        if version(asks)? > version(&oldest)? {
            let name = package["name"].as_str().unwrap_or_default();
            faults.push(format!(
                "Cargo.lock: {name} requires Rust {asks}, but our manifests name {oldest}"
            ));
        }
    }
    Ok(())
}

/// The `rust-version` of our crates, which must be the same for all.
fn oldest(metadata: &Value) -> anyhow::Result<String> {
    let mut said_by_all = None;
    for package in ours(metadata)? {
        let name = package["name"].as_str().unwrap_or_default();
        let said = package["rust_version"].as_str();
        let said = said.with_context(|| format!("{name} names no rust-version"))?.to_owned();
        if said_by_all.get_or_insert_with(|| said.clone()) != &said {
            bail!("{name} names a different rust-version");
        }
    }
    said_by_all.context("none of the packages is ours")
}

/// Our packages, which are the only ones without a registry.
pub fn ours(metadata: &Value) -> anyhow::Result<impl Iterator<Item = &Value>> {
    Ok(packages(metadata)?.iter().filter(|p| p["source"].is_null()))
}

fn packages(metadata: &Value) -> anyhow::Result<&Vec<Value>> {
    metadata["packages"].as_array().context("cargo metadata lists no packages")
}

fn version(text: &str) -> anyhow::Result<Vec<u32>> {
    let mut parts = text.split('.').map(str::parse).collect::<Result<Vec<u32>, _>>()?;
    parts.resize(3, 0);
    Ok(parts)
}

/// The output of `cargo metadata` for our packages and their dependencies.
pub fn metadata() -> anyhow::Result<Value> {
    let done = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--all-features", "--locked"])
        // Dependencies for other systems need not be fetched.
        .arg(format!("--filter-platform={}-unknown-linux-gnu", std::env::consts::ARCH))
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !done.status.success() {
        bail!("cargo metadata: {}", done.status);
    }
    Ok(serde_json::from_slice(&done.stdout)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dependency_that_asks_for_a_newer_compiler_is_named() {
        let package = |name: &str, source: Option<&str>, asks: Option<&str>| json!({ "name": name, "source": source, "rust_version": asks });
        let metadata = json!({ "packages": [
            package("ours", None, Some("1.89")),
            package("old", Some("registry"), Some("1.9.1")),
            package("same", Some("registry"), Some("1.89.0")),
            package("silent", Some("registry"), None),
            package("new", Some("registry"), Some("1.90")),
        ]});
        let mut faults = Vec::new();
        dependencies(&metadata, &mut faults).unwrap();
        assert_eq!(faults, ["Cargo.lock: new requires Rust 1.90, but our manifests name 1.89"]);
        let without = json!({ "packages": [package("ours", None, None)] });
        assert!(oldest(&without).is_err());
    }
}
