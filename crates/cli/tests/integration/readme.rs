//! All links in README.md and docs/ have existing targets.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::transcripts::root;

/// README.md, the other documents in the root directory, and all of docs/.
pub fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root()).unwrap().flatten().map(|e| e.path()) {
        if entry.extension().is_some_and(|e| e == "md") {
            found.push(entry);
        }
    }
    below(&root().join("docs"), &mut found);
    assert!(found.len() > 5, "{found:?}");
    found
}

fn below(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().flatten().map(|e| e.path()) {
        if entry.is_dir() {
            below(&entry, found);
        } else if entry.extension().is_some_and(|e| e == "md") {
            found.push(entry);
        }
    }
}

/// Targets of `[words](target)` outside code.
fn links(markdown: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut fenced = false;
    // There may be a line break in the text of a link, but not in its target.
    let mut prose = String::new();
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            for (i, part) in line.split('`').enumerate() {
                prose.push_str(if i % 2 == 0 { part } else { "code" });
            }
            prose.push('\n');
        }
    }
    let mut rest = prose.as_str();
    while let Some((_, after)) = rest.split_once("](") {
        let Some((target, then)) = after.split_once(')') else { break };
        links.push(target.to_owned());
        rest = then;
    }
    links
}

/// The name of a heading in a link: lower case, words joined by hyphens, other characters removed.
fn anchor(heading: &str) -> String {
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn anchors(markdown: &str) -> BTreeSet<String> {
    markdown.lines().filter(|l| l.starts_with('#')).map(anchor).collect()
}

#[test]
fn every_relative_link_leads_somewhere() {
    let mut faults = Vec::new();
    let mut seen = 0;
    for document in documents() {
        let markdown = fs::read_to_string(&document).unwrap();
        for link in links(&markdown) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let (path, fragment) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => document.clone(),
                path => document.parent().unwrap().join(path),
            };
            let name = document.strip_prefix(root()).unwrap_or(&document).display().to_string();
            if !target.exists() {
                faults.push(format!("{name}: {link}"));
            } else if !fragment.is_empty()
                && !anchors(&fs::read_to_string(&target).unwrap()).contains(fragment)
            {
                faults.push(format!("{name}: {link}: no such heading"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(seen > 20, "only {seen} links were found");
}

#[test]
fn the_summary_lists_every_page_once() {
    let docs = root().join("docs");
    let mut pages = Vec::new();
    below(&docs, &mut pages);
    let mut pages: Vec<String> = pages
        .iter()
        .map(|page| page.strip_prefix(&docs).unwrap().display().to_string())
        .filter(|page| page != "SUMMARY.md")
        .collect();
    let mut listed = links(&fs::read_to_string(docs.join("SUMMARY.md")).unwrap());
    pages.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, pages);
}

#[test]
fn links_are_found_outside_of_code_alone() {
    let markdown = "a [b\nc](d.md#e) `[f](g)`\n```\n[h](i)\n```\n![j](k.png)\n";
    assert_eq!(links(markdown), ["d.md#e", "k.png"]);
    assert_eq!(anchor("## What `x` is: a (b)"), "what-x-is-a-b");
}
