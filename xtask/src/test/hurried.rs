//! Makes other programs, whose key derivation takes seconds on purpose, fast enough for testing every change.
//! Scripts at the start of the search path preload a library (`hurried/preload.rs`).
//!
//! The tests check how these programs are used and what they store, which does not depend on the cost of the
//! key derivation. The nightly tier uses the unmodified programs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

const PROGRAMS: &[&str] = &["cryfs", "qemu-img"];

/// A directory with the scripts. If the library cannot be built, the tests only take longer.
pub fn programs() -> Option<tempfile::TempDir> {
    let made = tempfile::tempdir().map_err(Into::into).and_then(|place| {
        make(place.path())?;
        anyhow::Ok(place)
    });
    made.inspect_err(|why| println!("key derivation of others is not hurried: {why:#}")).ok()
}

/// Makes the scripts in `place`.
fn make(place: &Path) -> anyhow::Result<()> {
    let (source, library) = (place.join("preload.rs"), place.join("preload.so"));
    fs::write(&source, include_str!("hurried/preload.rs"))?;
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let done = Command::new(compiler)
        .args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort", "-Cstrip=symbols", "-O"])
        .arg("-o")
        .args([&library, &source])
        .output()
        .context("cannot start rustc")?;
    if !done.status.success() {
        bail!("{}: {}", source.display(), String::from_utf8_lossy(&done.stderr));
    }
    for name in PROGRAMS {
        let Some(real) = find(name) else { continue };
        let script = place.join(name);
        fs::write(&script, text(&library, &real))?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// A script that replaces itself with the real program.
fn text(library: &Path, real: &Path) -> String {
    let (library, real) = (library.display(), real.display());
    format!("#!/bin/sh\nLD_PRELOAD='{library}' exec '{real}' \"$@\"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_compiles_and_is_in_what_a_script_starts() {
        let place = tempfile::tempdir().unwrap();
        make(place.path()).unwrap();
        let script = place.path().join("script");
        let cat = find("cat").unwrap();
        fs::write(&script, text(&place.path().join("preload.so"), &cat)).unwrap();
        let done = Command::new("sh").arg(&script).arg("/proc/self/maps").output().unwrap();
        let maps = String::from_utf8(done.stdout).unwrap();
        assert!(maps.contains("preload.so"), "{maps}");
    }
}
