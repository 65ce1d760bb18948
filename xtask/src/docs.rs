//! `cargo xtask docs`: builds the documentation of all crates without warnings, in particular
//! without broken links, and docs/ as a book.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::tools::MDBOOK;

/// The pages, and the directory into which docs/book.toml puts them.
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

/// Builds the book. The book must then contain every page of the summary, and no broken links.
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
    let broken: Vec<String> = pages
        .iter()
        .map(|page| broken(Path::new(BOOK), page))
        .collect::<anyhow::Result<Vec<_>>>()?
        .concat();
    if !broken.is_empty() {
        bail!("links of the book lead nowhere:\n{}", broken.join("\n"));
    }
    println!("{} pages in {BOOK}", pages.len());
    Ok(())
}

/// Links of a page within the book whose target page or heading does not exist, in the form `page: link`.
fn broken(book: &Path, page: &Path) -> anyhow::Result<Vec<String>> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let html = read(&book.join(page))?;
    let values = |name: &str| {
        let start = format!(" {name}=\"");
        let all: Vec<String> = html
            .split(&start)
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .map(str::to_owned)
            .collect();
        all
    };
    let mut broken = Vec::new();
    for link in [values("href"), values("src")].concat() {
        if link.contains(':') {
            continue;
        }
        let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
        let mut target = match path {
            "" => book.join(page),
            path => book.join(page).with_file_name(path),
        };
        if target.is_dir() {
            target.push("index.html");
        }
        let leads = target.is_file()
            && (heading.is_empty() || read(&target)?.contains(&format!("id=\"{heading}\"")));
        if !leads {
            broken.push(format!("{}: {link}", page.display()));
        }
    }
    Ok(broken)
}

/// The output files of the pages in a summary, relative to the book's directory.
fn chapters(summary: &str) -> Vec<PathBuf> {
    let links = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links
        .filter(|link| link.ends_with(".md"))
        .map(|link| Path::new(link).with_extension("html"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chapter_becomes_a_page() {
        let summary = "# Summary\n\n- [a](a.md)\n- [all](b/README.md)\n  - [c](b/c.md)\n";
        let pages = ["a.html", "b/README.html", "b/c.html"].map(PathBuf::from);
        assert_eq!(chapters(summary), pages);
        let ours = std::fs::read_to_string(crate::root().join("docs/SUMMARY.md")).unwrap();
        assert!(chapters(&ours).len() > 30);
    }

    #[test]
    fn links_to_no_page_and_to_no_heading_are_found() {
        let book = tempfile::tempdir().unwrap();
        std::fs::create_dir(book.path().join("b")).unwrap();
        let write = |name: &str, html: &str| std::fs::write(book.path().join(name), html).unwrap();
        write("a.html", r#"<h2 id="here">x</h2>"#);
        write(
            "b/c.html",
            r##"<i id="own"></i> <a href="../a.html#here">1</a> <a href="#own">2</a> <a href="https://a.b/c">3</a>
                <a href="../a.html#gone">4</a> <a href="../../README.html">5</a> <img src="d.png">"##,
        );
        let found = broken(book.path(), Path::new("b/c.html")).unwrap();
        let lost = ["../a.html#gone", "../../README.html", "d.png"];
        assert_eq!(found, lost.map(|link| format!("b/c.html: {link}")));
    }
}
