//! All files of a release in one directory. Each is built, started, and listed with its hash.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use super::{MUSL, Options, copy_sources, date_of_sources, run, sha256, tell};
use crate::cross::System;
use crate::cross::windows::under_wine;
use crate::{arm, tools};

/// The bill of materials, in CycloneDX's JSON.
const BILL: &str = "cryptbench.cdx.json";

/// The hashes, in the form that `sha256sum --check` reads.
const SUMS: &str = "SHA256SUMS";

/// Builds everything that RELEASING.md lists, in an empty directory.
///
/// # Errors
/// If the directory contains files, or a file cannot be built or started.
pub(super) fn all(options: &Options, out: &Path) -> anyhow::Result<()> {
    if let Some(first) = fs::read_dir(out)?.flatten().find(|entry| entry.path().is_file()) {
        bail!(
            "{} already exists; a release needs a directory without files (--out DIR)",
            first.path().display()
        );
    }
    let of = |change: fn(&mut Options)| {
        let mut one = Options { out: out.to_owned(), fast: options.fast, ..Options::single() };
        change(&mut one);
        one
    };
    run(&of(|_| ()))?;
    run(&of(|one| one.musl = true))?;
    run(&of(|one| one.arm64 = true))?;
    run(&of(|one| one.windows = true))?;
    bill_of_materials(out)?;
    started(&mut Command::new(out.join(format!("cryptbench-{MUSL}"))))?;
    let arm64 = out.join(format!("cryptbench-{}", System::Aarch64.triple()));
    started(Command::new(arm::QEMU).arg(arm64))?;
    started_from_zip(out)?;
    sums(out)
}

/// Checks that a program starts and prints this version.
fn started(program: &mut Command) -> anyhow::Result<()> {
    let done = program.arg("--version").output().with_context(|| format!("{program:?}"))?;
    let said = String::from_utf8_lossy(&done.stdout);
    let expected = format!("cryptbench {}", env!("CARGO_PKG_VERSION"));
    ensure!(
        said.trim() == expected,
        "{program:?} printed `{}` instead of `{expected}`",
        said.trim()
    );
    println!("{program:?}: {}", said.trim());
    Ok(())
}

/// Starts the program in the zip for Windows, under Wine.
fn started_from_zip(out: &Path) -> anyhow::Result<()> {
    let (version, triple) = (env!("CARGO_PKG_VERSION"), System::Windows.triple());
    let zip = out.join(format!("cryptbench-{version}-{triple}.zip"));
    let place = tempfile::tempdir()?;
    let unpacked = Command::new("python3")
        .args(["-m", "zipfile", "--extract"])
        .args([&zip, place.path()])
        .status()
        .context("cannot start python3")?;
    ensure!(unpacked.success(), "{} cannot be unpacked", zip.display());
    started(&mut under_wine(&place.path().join("cryptbench.exe"))?)
}

/// Lists every package that is linked into the program, with its licence, using cargo-cyclonedx.
fn bill_of_materials(out: &Path) -> anyhow::Result<()> {
    // cargo-cyclonedx writes its file next to the manifest, so it runs on a copy.
    let sources = tempfile::tempdir()?;
    copy_sources(sources.path())?;
    let status = Command::new(tools::CARGO_CYCLONEDX.path()?)
        .args(["cyclonedx", "--quiet", "--all-features", "--format", "json"])
        .args(["--override-filename", "bill", "--manifest-path", "crates/cli/Cargo.toml"])
        .current_dir(sources.path())
        .env("SOURCE_DATE_EPOCH", date_of_sources()?)
        .status()
        .context("cannot start cargo-cyclonedx")?;
    ensure!(status.success(), "cargo-cyclonedx failed");
    let to = out.join(BILL);
    fs::copy(sources.path().join("crates/cli/bill.json"), &to)?;
    let bill: serde_json::Value = serde_json::from_slice(&fs::read(&to)?)?;
    let packages = bill["components"].as_array().map_or(0, Vec::len);
    ensure!(packages > 0, "{} lists no packages", to.display());
    println!("{packages} packages in the bill of materials");
    tell(&to)
}

/// Writes the hashes of all files in `out`.
fn sums(out: &Path) -> anyhow::Result<()> {
    let mut names: Vec<String> = fs::read_dir(out)?
        .flatten()
        .filter(|entry| entry.path().is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut lines = String::new();
    for name in &names {
        lines += &format!("{}  {name}\n", sha256(&out.join(name))?);
    }
    fs::write(out.join(SUMS), &lines)?;
    print!("{lines}");
    Ok(())
}
