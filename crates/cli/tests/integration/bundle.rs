//! `cryptbench report --bundle`: the archive can be unpacked, its checksums are right, and its tables match its
//! record.

use std::collections::BTreeMap;
use std::fs;

use sha2::{Digest as _, Sha256};

use crate::sandbox::{Sandbox, text};

/// The files of an archive without compression.
fn unpacked(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let number = |at: usize, length: usize| {
        archive[at..at + length].iter().rev().fold(0_usize, |n, byte| n << 8 | usize::from(*byte))
    };
    let end = archive.len() - 22;
    let (mut at, mut files) = (number(end + 16, 4), BTreeMap::new());
    for _ in 0..number(end + 10, 2) {
        assert_eq!(archive[at..at + 4], *b"PK\x01\x02");
        let (size, name_length, local) =
            (number(at + 24, 4), number(at + 28, 2), number(at + 42, 4));
        let name = text(&archive[at + 46..at + 46 + name_length]);
        let data = local + 30 + number(local + 26, 2) + number(local + 28, 2);
        files.insert(name, archive[data..data + size].to_vec());
        at += 46 + name_length;
    }
    files
}

#[test]
fn a_bundle_is_checked_and_its_tables_are_made_again() {
    let s = Sandbox::new();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/readme.json");
    let file = s.out().join("result.zip");
    let done = s.run(&["report", fixture, "--bundle", file.to_str().unwrap()]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let files = unpacked(&fs::read(&file).unwrap());
    let sums = text(&files["SHA256SUMS"]);
    assert_eq!(sums.lines().count(), files.len() - 1);
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        let own: String = Sha256::digest(&files[name]).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(sum, own, "{name}");
    }
    let record = s.out().join("record.json");
    fs::write(&record, &files["record.json"]).unwrap();
    for (name, format) in [
        ("tables.md", &["markdown"][..]),
        ("tables.tex", &["latex"]),
        ("cells.csv", &["csv", "--table", "cells"]),
        ("trials.csv", &["csv", "--table", "trials"]),
        ("record.json", &["json"]),
    ] {
        let again = s.run(&[&["report", record.to_str().unwrap(), "--format"], format].concat());
        assert_eq!(text(&again.stdout), text(&files[name]), "{name}");
    }
    let charts = s.out().join("charts");
    let drawn = s.run(&[
        "report",
        record.to_str().unwrap(),
        "--format",
        "json",
        "--charts",
        charts.to_str().unwrap(),
    ]);
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    let of_bundle: Vec<&String> = files.keys().filter(|name| name.ends_with(".svg")).collect();
    assert!(of_bundle.len() > 3, "{:?}", files.keys());
    for name in of_bundle {
        assert_eq!(fs::read(s.out().join(name)).unwrap(), files[name], "{name}");
    }
    for name in ["CITATION.cff", "references.bib", "methods.md", "README.md", "report.html"] {
        assert!(!files[name].is_empty(), "{name}");
    }
    // A record is not overwritten.
    assert_eq!(
        s.run(&["report", record.to_str().unwrap(), "--bundle", record.to_str().unwrap()])
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn the_citation_names_this_version() {
    let citation = include_str!("../../../../CITATION.cff");
    let version = format!("\nversion: {}\n", env!("CARGO_PKG_VERSION"));
    assert!(citation.contains(&version), "{citation}");
}
