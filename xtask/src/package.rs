//! The Debian package: creates manual pages and completions with the binary, builds the archive
//! with cargo-deb, and checks it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::arm;
use crate::cross::System;
use crate::dist::{date_of_sources, tell};
use crate::tools;

/// Path fragments that the package must contain.
const CONTENTS: &[&str] = &[
    "./usr/bin/cryptbench",
    "./usr/share/man/man1/cryptbench.1.gz",
    "./usr/share/man/man1/cryptbench-run.1.gz",
    "./usr/share/man/man1/cryptbench-volume-key-change.1.gz",
    "./usr/share/bash-completion/completions/cryptbench",
    "./usr/share/zsh/vendor-completions/_cryptbench",
    "./usr/share/fish/vendor_completions.d/cryptbench.fish",
    "./usr/share/doc/cryptbench/README.md",
    "./usr/share/doc/cryptbench/docs/methodology.md",
    "./usr/share/doc/cryptbench/docs/benchmarks/ciphers.csv",
    "./usr/share/doc/cryptbench/docs/pictures/answer.png",
    "./usr/share/doc/cryptbench/docs/systems/dm-crypt.md",
    "./usr/share/doc/cryptbench/copyright",
    "./usr/share/doc/cryptbench/changelog.Debian.gz",
];

/// Creates the package of `binary` in `out`. The assets in crates/cli/Cargo.toml come from `stage`. `fast` uses
/// less compression. `arm64` means that the binary is for 64-bit ARM, and runs under QEMU here.
pub fn deb(binary: &Path, stage: &Path, out: &Path, fast: bool, arm64: bool) -> anyhow::Result<()> {
    staged(binary, stage, arm64)?;
    let status = Command::new(tools::CARGO_DEB.path()?)
        .args([
            "--quiet",
            "--no-build",
            "--no-strip",
            "--no-dbgsym",
            "--package",
            "cryptbench",
            "--output",
        ])
        .arg(out)
        .args(fast.then_some("--fast"))
        .args(arm64.then(|| format!("--target={}", System::Aarch64.triple())))
        .env("SOURCE_DATE_EPOCH", date_of_sources()?)
        .stdout(Stdio::null())
        .status()
        .context("cannot start cargo-deb")?;
    if !status.success() {
        bail!("cargo-deb failed");
    }
    let mut made: Vec<PathBuf> = fs::read_dir(out)?
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "deb"))
        .collect();
    made.sort_by_key(|p| fs::metadata(p).and_then(|m| m.modified()).ok());
    let package = made.pop().context("cargo-deb left no package")?;
    tell(&package)?;
    checked(&package, arm64)
}

/// Puts the binary, its manual pages and its completions in the directory of the assets.
fn staged(binary: &Path, stage: &Path, arm64: bool) -> anyhow::Result<()> {
    let _ = fs::remove_dir_all(stage);
    let completions = stage.join("completions");
    fs::create_dir_all(&completions)?;
    let binary =
        fs::canonicalize(binary).with_context(|| format!("there is no {}", binary.display()))?;
    let staged = stage.join("cryptbench");
    fs::copy(&binary, &staged)?;
    // A development binary consists mostly of symbols. A release build no longer contains any and does not
    // change.
    let strip = if arm64 { "aarch64-linux-gnu-strip" } else { "strip" };
    let _ = Command::new(strip).arg(&staged).status();
    let ask = |args: &[&str]| -> anyhow::Result<Vec<u8>> {
        let mut command = match arm64 {
            true => Command::new(arm::QEMU),
            false => Command::new(&binary),
        };
        let done = command.args(arm64.then_some(&binary)).args(args).output()?;
        if !done.status.success() {
            bail!("cryptbench {}: {}", args.join(" "), String::from_utf8_lossy(&done.stderr));
        }
        Ok(done.stdout)
    };
    ask(&["manual", &stage.join("man").display().to_string()])?;
    for (shell, file) in
        [("bash", "cryptbench"), ("zsh", "_cryptbench"), ("fish", "cryptbench.fish")]
    {
        fs::write(completions.join(file), ask(&["completions", shell])?)?;
    }
    Ok(())
}

/// Checks the package with Debian's own programs, if installed.
fn checked(package: &Path, arm64: bool) -> anyhow::Result<()> {
    let package = package.display().to_string();
    let Some(contents) = said("dpkg-deb", &["--contents", &package])? else {
        println!("SKIPPED: dpkg-deb is not installed, so the package was not inspected");
        return Ok(());
    };
    let inside =
        |path: &str| contents.lines().any(|l| l.split_whitespace().any(|field| field == path));
    let missing: Vec<_> = CONTENTS.iter().filter(|path| !inside(path)).collect();
    if !missing.is_empty() {
        bail!("the package lacks {missing:?}:\n{contents}");
    }
    let fields = said("dpkg-deb", &["--info", &package])?.unwrap_or_default();
    // A static binary does not depend on other packages.
    let needs = if arm64 { "Architecture: arm64" } else { "Depends: " };
    for field in ["Package: cryptbench", needs, "Description: ", "Section: utils"] {
        if !fields.contains(field) {
            bail!("the package has no field {field:?}:\n{fields}");
        }
    }
    println!("{} files, as they should be", contents.lines().count());
    let mut lintian = Command::new("lintian");
    lintian.args(["--fail-on", "error", "--allow-root"]);
    if arm64 {
        // The program is static on purpose, but lintian reports that as an error.
        lintian.args(["--suppress-tags", "statically-linked-binary"]);
    }
    match lintian.arg(&package).status() {
        Ok(status) if status.success() => println!("lintian finds no error"),
        Ok(_) => bail!("lintian finds errors"),
        Err(_) => println!("SKIPPED: lintian is not installed"),
    }
    Ok(())
}

/// The output of a program, or `None` if it is not installed.
fn said(program: &str, args: &[&str]) -> anyhow::Result<Option<String>> {
    let Ok(done) = Command::new(program).args(args).output() else { return Ok(None) };
    if !done.status.success() {
        bail!("{program}: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(Some(String::from_utf8_lossy(&done.stdout).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The version in the changelog is the version of manually installed packages.
    #[test]
    fn the_changelog_begins_with_this_version() {
        let root = crate::root();
        let changelog = fs::read_to_string(root.join("packaging/debian/changelog")).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        assert!(changelog.starts_with(&format!("cryptbench ({version}-1)")), "{changelog}");
    }

    #[test]
    fn every_asset_but_the_staged_ones_exists() {
        let root = crate::root();
        let manifest = fs::read_to_string(root.join("crates/cli/Cargo.toml")).unwrap();
        let (_, deb) = manifest.split_once("[package.metadata.deb]").expect("its metadata");
        let mut seen = 0;
        for line in deb.lines().filter_map(|l| l.trim().strip_prefix("[\"../../")) {
            let path = line.split('"').next().unwrap_or_default();
            seen += 1;
            if !path.starts_with("target/dist/stage/") {
                let fixed = path.split('*').next().unwrap_or(path);
                assert!(root.join(fixed).exists(), "{path}");
            }
        }
        assert!(seen >= 8, "{seen} assets");
    }
}
