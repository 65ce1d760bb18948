//! `cargo xtask docs`: builds the documentation of all crates without warnings, in particular
//! without broken links, and docs/ as a book.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::tools::MDBOOK;

/// The pages and where docs/book.toml puts them.
const PAGES: &str = "docs";
const BOOK: &str = "target/book";

pub fn run() -> anyhow::Result<()> {
    let status = Command::new(env!("CARGO"))
        .args(["doc", "--workspace", "--no-deps", "--all-features", "--locked", "--quiet"])
        .env("RUSTDOCFLAGS", "-D warnings")
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("the documentation has faults");
    }
    match MDBOOK.path() {
        Ok(mdbook) => book(&mdbook),
        Err(why) => {
            println!("SKIPPED: docs as a book: {why:#}");
            Ok(())
        }
    }
}

/// Builds the book, in which every page of the summary must then be.
fn book(mdbook: &Path) -> anyhow::Result<()> {
    let done =
        Command::new(mdbook).args(["build", PAGES]).output().context("cannot start mdbook")?;
    let said = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        bail!("mdbook: {}", said.trim());
    }
    let summary = std::fs::read_to_string(Path::new(PAGES).join("SUMMARY.md"))?;
    let pages = chapters(&summary);
    let missing: Vec<&PathBuf> =
        pages.iter().filter(|page| !Path::new(BOOK).join(page).is_file()).collect();
    if pages.is_empty() || !missing.is_empty() {
        bail!("of {} pages the book lacks {missing:?}; mdbook said: {}", pages.len(), said.trim());
    }
    println!("{} pages in {BOOK}", pages.len());
    Ok(())
}

/// What becomes of the pages of a summary, below the book's directory.
fn chapters(summary: &str) -> Vec<PathBuf> {
    let links = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links
        .filter(|link| link.ends_with(".md"))
        .map(|link| match link.strip_suffix("README.md") {
            Some(directory) => Path::new(directory).join("index.html"),
            None => Path::new(link).with_extension("html"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chapter_becomes_a_page() {
        let summary = "# Summary\n\n- [a](a.md)\n- [all](b/README.md)\n  - [c](b/c.md)\n";
        let pages = ["a.html", "b/index.html", "b/c.html"].map(PathBuf::from);
        assert_eq!(chapters(summary), pages);
        let ours = std::fs::read_to_string(crate::root().join("docs/SUMMARY.md")).unwrap();
        assert!(chapters(&ours).len() > 30);
    }
}
