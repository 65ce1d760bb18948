//! Volumes and directories of users who try to gain root privileges: the program mounts for them, but gives them no
//! other privileges.

mod inherited;
mod lies;
mod swapped;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::{skipped, text};

/// A user that exists on no machine.
const SOMEBODY: u32 = 4711;

fn mounts() -> String {
    String::from_utf8_lossy(&fs::read("/proc/self/mountinfo").unwrap()).into_owned()
}

/// Compiles a program or library that consists of one file, in `place`.
pub fn compiled(place: &Path, source: &str, name: &str, options: &[&str]) -> Option<PathBuf> {
    let file = place.join(format!("{name}.rs"));
    fs::write(&file, source).unwrap();
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let built = Command::new(compiler)
        .args(["--edition=2024", "-Cpanic=abort", "-o", name])
        .args(options)
        .arg(&file)
        .current_dir(place)
        .output();
    match built {
        Ok(done) if done.status.success() => Some(place.join(name)),
        Ok(done) => panic!("{name}: {}", text(&done.stderr)),
        Err(e) => {
            skipped(&format!("rustc cannot be started: {e}"));
            None
        }
    }
}
