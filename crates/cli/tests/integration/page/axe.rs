//! axe-core (Deque Systems, MPL-2.0), which finds accessibility problems. npm downloads it; it is verified and
//! stored below the target directory, and is never part of the repository.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::devtools::Tab;

const PACKAGE: &str = "axe-core";
const VERSION: &str = "4.14.1";
/// SHA-512 of the published package; npm prints it in base64 as `dist.integrity`.
const SHA512: &str = "1477dafa598d8d065f273d6af302aa203c02e83131707b7fa648cd41bd3d6b734\
    f8c22a0dab86ee6a6f64b8afbe804b214d36db85a2826965edfb3a0b9d546b5";

/// The script, or the reason why it is missing.
pub fn script() -> Result<String, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Tests run concurrently in separate processes, and only one of them downloads it.
    let one = File::create(directory.join(format!("{PACKAGE}.lock"))).map_err(|e| e.to_string())?;
    one.lock().map_err(|e| e.to_string())?;
    let package = directory.join(format!("{PACKAGE}-{VERSION}.tgz"));
    if !is_ours(&package) {
        fetch(directory)?;
        if !is_ours(&package) {
            return Err(format!("{} is not the package that was published", package.display()));
        }
    }
    let out = Command::new("tar")
        .arg("xzOf")
        .arg(&package)
        .arg("package/axe.min.js")
        .output()
        .map_err(|e| e.to_string())?;
    String::from_utf8(out.stdout).map_err(|e| e.to_string())
}

fn fetch(directory: &Path) -> Result<(), String> {
    let why = |e: String| format!("no {PACKAGE} (npm pack {PACKAGE}@{VERSION}): {e}");
    let done = Command::new("npm")
        .args(["pack", "--silent", &format!("{PACKAGE}@{VERSION}")])
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| why(e.to_string()))?;
    let words = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() { Ok(()) } else { Err(why(words)) }
}

fn is_ours(package: &PathBuf) -> bool {
    let sum = Command::new("sha512sum").arg(package).stderr(Stdio::null()).output();
    package.exists() && sum.is_ok_and(|sum| sum.stdout.starts_with(SHA512.as_bytes()))
}

/// Describes the serious and critical problems of the page in its current state.
pub fn faults(tab: &mut Tab, script: &str) -> Vec<String> {
    tab.eval(&format!("{script}; typeof axe"));
    let found = tab.eval(
        "axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations.map((v) => ({
            id: v.id, impact: v.impact, help: v.help,
            nodes: v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + ' ' + (n.failureSummary ?? '')),
        })))",
    );
    let found = found.as_array().expect("axe-core answers").iter();
    let bad = |v: &&Value| matches!(v["impact"].as_str(), Some("serious" | "critical"));
    found.filter(bad).map(Value::to_string).collect()
}
