//! Checks that no test is disabled: a manifest may contain `doctest = false` or `test = false`, which saves a
//! build, only if there is nothing to test.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use crate::msrv;

/// Kinds of targets that can contain tests by default.
const TESTED: &[&str] = &["lib", "bin", "test"];

pub fn check(metadata: &Value, files: &[PathBuf], faults: &mut Vec<String>) -> anyhow::Result<()> {
    let root = env::current_dir()?;
    for package in msrv::ours(metadata)? {
        for target in package["targets"].as_array().context("a package without targets")? {
            let main = target["src_path"].as_str().context("a target without a source")?;
            let home = Path::new(main).parent().context("a source in no directory")?;
            if target["doctest"] == true && target["test"] == true {
                continue;
            }
            let source: String = files
                .iter()
                .filter(|file| root.join(file).starts_with(home))
                .map(fs::read_to_string)
                .collect::<Result<_, _>>()?;
            for what in forgotten(target, &source) {
                let manifest = package["manifest_path"].as_str().unwrap_or_default();
                faults.push(format!(
                    "{manifest}: there are {what}: remove the line that switches them off"
                ));
            }
        }
    }
    Ok(())
}

/// Tests that `source` contains but that are not built, according to `target`, the description of the target by
/// `cargo metadata`.
fn forgotten(target: &Value, source: &str) -> Vec<&'static str> {
    let is = |kinds: &[&str]| {
        let kind = target["kind"].as_array().into_iter().flatten();
        kind.filter_map(Value::as_str).any(|kind| kinds.contains(&kind))
    };
    let comment = |line: &str| line.starts_with("///") || line.starts_with("//!");
    // A page that is included as documentation contains examples.
    let example =
        |line: &str| comment(line) && line.contains("```") || line.contains("doc = include_str!(");
    let mut found = Vec::new();
    if is(&["lib"]) && target["doctest"] == false && source.lines().any(|l| example(l.trim_start()))
    {
        found.push("examples in the documentation");
    }
    if is(TESTED) && target["test"] == false && source.contains("#[test]") {
        found.push("tests");
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_switched_off_must_not_exist() {
        let of = |kind: &str, on: bool, source| {
            forgotten(&json!({ "kind": [kind], "doctest": on, "test": on }), source).len()
        };
        let off = |source| of("lib", false, source);
        assert_eq!(off("//! Words.\nfn x() {}\n"), 0);
        assert_eq!(off("    /// ```\n    /// x();\n"), 1);
        assert_eq!(off("#![doc = include_str!(\"../README.md\")]"), 1);
        assert_eq!(off("#[test]\nfn x() {}\n"), 1);
        assert_eq!(of("lib", true, "//! ```\n#[test]\n"), 0);
        assert_eq!(
            of("bin", false, "//! ```\n#[test]\n"),
            1,
            "programs have no documentation tests"
        );
        assert_eq!(
            of("example", false, "#[test]\n"),
            0,
            "examples are not tested unless asked for"
        );
    }
}
