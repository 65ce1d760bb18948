//! Limits for the amount of text, in words: the README, the pages for newcomers, and all of docs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::generated::{BEGIN, END};

const README: usize = 900;
/// README and docs/start.md.
const NEWCOMER: usize = 1_500;
/// README and all pages below docs/ but [`LATER`].
const ALL: usize = 27_000;

/// Newer pages, which have their own limits and are not counted in [`ALL`].
const LATER: &[(&str, usize)] = &[
    ("docs/fleet.md", 760),
    ("docs/formats/bitlocker.md", 245),
    ("docs/formats/filevault.md", 140),
    ("docs/formats/luks.md", 50),
    ("docs/formats/overwriting.md", 265),
    ("docs/reliability.md", 260),
    ("docs/systems/cryptomator.md", 190),
    ("docs/systems/rclone.md", 235),
    ("docs/systems/serial.md", 200),
    ("docs/validated.md", 320),
    ("docs/why.md", 1_020),
    ("docs/windows.md", 450),
];

/// The number of words counted for the README's transcript. It is generated, but a newcomer reads its 24 lines
/// of 80 columns.
const TRANSCRIPT: usize = 200;

/// Prints the numbers of words, and reports texts that are too long.
pub fn check(faults: &mut Vec<String>) -> anyhow::Result<()> {
    let readme = words_of(Path::new("README.md"), faults)? + TRANSCRIPT;
    let newcomer = readme + words_of(Path::new("docs/start.md"), faults)?;
    let mut pages = Vec::new();
    below(Path::new("docs"), &mut pages)?;
    let mut all = readme;
    for page in &pages {
        let words = words_of(page, faults)?;
        match LATER.iter().find(|(name, _)| page == Path::new(name)) {
            Some((name, limit)) if words > *limit => {
                faults.push(format!("{name}: {words} words, and at most {limit} are allowed"));
            }
            Some(_) => {}
            None => all += words,
        }
    }
    for (what, words, limit) in [
        ("README", readme, README),
        ("README and docs/start.md", newcomer, NEWCOMER),
        ("README and docs", all, ALL),
    ] {
        println!("{what}: {words} of {limit} words");
        if words > limit {
            faults.push(format!("{what}: {words} words, and at most {limit} are allowed"));
        }
    }
    Ok(())
}

fn below(directory: &Path, pages: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            below(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    Ok(())
}

fn words_of(page: &Path, faults: &mut Vec<String>) -> anyhow::Result<usize> {
    let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
    let (words, closed) = count(&text);
    if !closed {
        faults
            .push(format!("{}: a generated part has no {END:?}, or no beginning", page.display()));
    }
    Ok(words)
}

/// Number of words, as counted by `wc -w`, outside generated parts; and whether each generated part has an end.
fn count(text: &str) -> (usize, bool) {
    let (mut words, mut generated, mut closed) = (0, false, true);
    for line in text.lines() {
        if line.starts_with(BEGIN) {
            closed &= !generated;
            generated = true;
        } else if line == END {
            closed &= generated;
            generated = false;
        } else if !generated {
            words += line.split_whitespace().count();
        }
    }
    (words, closed && !generated)
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn generated_parts_are_not_counted() {
        let page = "a b\n<!-- generated: x -->\nc d e\n<!-- end of generated -->\n| f |\n";
        assert_eq!(count(page), (5, true));
    }

    #[test]
    fn a_part_without_an_end_hides_nothing_unseen() {
        assert!(!count("a\n<!-- generated: x -->\nb\n").1);
        assert!(!count("a\n<!-- end of generated -->\nb\n").1);
        let twice = "<!-- generated: x -->\n<!-- generated: y -->\n<!-- end of generated -->\n";
        assert!(!count(twice).1);
    }
}
