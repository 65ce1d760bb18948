//! Test binaries, built by cargo.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::Value;

/// A program that runs tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    /// Crate and target, such as `cli integration`; `cli unit` for unit tests.
    pub name: String,
    pub program: PathBuf,
    /// The program's working directory: the directory of its package.
    pub directory: PathBuf,
}

/// Builds the tests of the packages that these cargo arguments select.
pub fn build(packages: &[&str]) -> anyhow::Result<Vec<Binary>> {
    let mut cargo = Command::new(env!("CARGO"))
        .arg("test")
        .args(packages)
        .args(["--all-features", "--no-run"])
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let mut binaries = Vec::new();
    for line in BufReader::new(cargo.stdout.take().expect("piped")).lines() {
        binaries.extend(serde_json::from_str(&line?).ok().as_ref().and_then(artifact));
    }
    if !cargo.wait()?.success() {
        bail!("the tests do not build");
    }
    Ok(binaries)
}

/// Parses a message of cargo that reports a test binary (The Cargo Book, "External tools").
fn artifact(line: &Value) -> Option<Binary> {
    let program = line["executable"].as_str()?;
    if line["reason"] != "compiler-artifact" || line["profile"]["test"] != true {
        return None;
    }
    let directory = Path::new(line["manifest_path"].as_str()?).parent()?;
    let package = directory.file_name()?.to_str()?;
    let is_test = line["target"]["kind"].as_array()?.iter().any(|kind| kind == "test");
    let target = if is_test { line["target"]["name"].as_str()? } else { "unit" };
    Some(Binary {
        name: format!("{package} {target}"),
        program: program.into(),
        directory: directory.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn test_binaries_are_told_from_other_programs() {
        let line = |kind: &str, test: bool| {
            json!({
                "reason": "compiler-artifact", "executable": "/t/x", "profile": {"test": test},
                "manifest_path": "/w/crates/cli/Cargo.toml",
                "target": {"name": "integration", "kind": [kind]},
            })
        };
        assert_eq!(artifact(&line("test", true)).unwrap().name, "cli integration");
        assert_eq!(artifact(&line("bin", true)).unwrap().name, "cli unit");
        assert_eq!(artifact(&line("lib", true)).unwrap().directory, Path::new("/w/crates/cli"));
        assert_eq!(artifact(&line("bin", false)), None);
        assert_eq!(artifact(&json!({"reason": "build-finished"})), None);
    }
}
