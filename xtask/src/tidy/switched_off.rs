//! No test is switched off: a manifest says `doctest = false` or `test = false`, which saves a build, only where the
//! library has none.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

pub fn check(files: &[PathBuf], faults: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in fs::read_dir("crates")? {
        let home = entry?.path();
        let manifest = home.join("Cargo.toml");
        let manifest_text =
            fs::read_to_string(&manifest).with_context(|| manifest.display().to_string())?;
        let source: String = files
            .iter()
            .filter(|file| file.starts_with(home.join("src")))
            .map(fs::read_to_string)
            .collect::<Result<_, _>>()?;
        faults.extend(forgotten(&manifest, &manifest_text, &source));
    }
    Ok(())
}

fn forgotten(manifest: &Path, text: &str, source: &str) -> Vec<String> {
    let comment = |line: &str| line.starts_with("///") || line.starts_with("//!");
    let example = |line: &str| comment(line) && line.contains("```");
    // A README that is included as documentation holds examples.
    let examples = source.lines().any(|line| example(line.trim_start()))
        || source.contains("include_str!(\"../README.md\")");
    let tests = source.contains("#[test]");
    [("doctest = false", examples), ("test = false", tests)]
        .into_iter()
        .filter(|(switch, has)| *has && text.lines().any(|line| line == *switch))
        .map(|(switch, _)| format!("{}: {switch}, but it has some", manifest.display()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_switched_off_must_not_exist() {
        let faults = |text, source| forgotten(Path::new("x"), text, source).len();
        let off = "[lib]\ndoctest = false\ntest = false\n";
        assert_eq!(faults(off, "//! Words.\nfn x() {}\n"), 0);
        assert_eq!(faults(off, "    /// ```\n    /// x();\n"), 1);
        assert_eq!(faults(off, "#![doc = include_str!(\"../README.md\")]"), 1);
        assert_eq!(faults(off, "#[test]\nfn x() {}\n"), 1);
        assert_eq!(faults("[lib]\n", "//! ```\n#[test]\n"), 0);
    }
}
