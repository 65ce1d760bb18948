//! `cryptbench studies` through the binary: the list, each study in 80 columns, JSON, and a record next to a
//! device.

use crate::sandbox::{Sandbox, text};
use serde_json::Value;

fn studies(s: &Sandbox, args: &[&str]) -> String {
    let done = s.run(&[&["studies"], args].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    let out = text(&done.stdout);
    for line in out.lines().filter(|_| !args.contains(&"--json")) {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
    out
}

#[test]
fn the_list_counts_what_each_study_shows() {
    let s = Sandbox::new();
    let list = studies(&s, &[]);
    let of = |line: &str| -> Vec<usize> {
        line.split_whitespace().rev().take(3).filter_map(|w| w.parse().ok()).collect()
    };
    let json: Value = serde_json::from_str(&studies(&s, &["--json"])).unwrap();
    for study in json["studies"].as_array().unwrap() {
        let letter = study["about"]["letter"].as_str().unwrap();
        let row = list.lines().find(|l| l.starts_with(&format!("{letter}  "))).expect(letter);
        let count = |v: &str| {
            study["conclusions"].as_array().unwrap().iter().filter(|c| c["verdict"] == v).count()
        };
        let expected = [count("cannot-be-checked"), count("disagrees"), count("agrees")];
        assert_eq!(of(row), expected, "{row}");
    }
}

#[test]
fn a_study_in_full_has_its_tables_conclusions_and_errors() {
    let s = Sandbox::new();
    for (letter, expected) in [
        ("a", ["512 B           0.18        0.18    -3.8 %", "40 %", "E17 "]),
        ("B", ["53.929   53.9288", "8.73 times", "E26 "]),
        ("C", ["iozone", "largest difference of identical trials 3.2", "E35 "]),
        ("D", ["53.03", "10.624 % follows", "E44 "]),
    ] {
        let out = studies(&s, &[letter]);
        for part in expected {
            // Line breaks may be in different places.
            let flat = |t: &str| t.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat(&out).contains(&flat(part)), "{letter}: {part} in {out}");
        }
        assert!(out.contains("DISAGREES") && out.contains("cannot be checked"), "{out}");
    }
}

#[test]
fn published_tables_have_every_format() {
    let s = Sandbox::new();
    for (format, part) in [("csv", "block,"), ("markdown", "|---|"), ("latex", "\\toprule")] {
        let done = s.run(&["studies", "A", "--format", format]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        let shown = text(&done.stdout);
        assert!(shown.contains(part) && shown.contains("512 B"), "{part} is not in {shown}");
    }
    assert_eq!(s.run(&["studies", "A", "--format", "csv", "--beside", "x"]).status.code(), Some(2));
}

#[test]
fn a_record_stands_beside_the_nearest_device() {
    let s = Sandbox::new();
    // As in the directory of a study.
    let all = s.out().display().to_string();
    let out = s.out().join("quick").display().to_string();
    let done = s.run(&s.tiny(&["--profile", "quick", "--output", &out]));
    assert!(done.status.success(), "{}", text(&done.stderr));
    let shown = studies(&s, &["A", "--beside", &out]);
    assert_eq!(studies(&s, &["A", "--beside", &all]), shown);
    assert!(shown.contains(" of study A") && shown.contains("drop here"), "{shown}");
    let json: Value =
        serde_json::from_str(&studies(&s, &["A", "--beside", &out, "--json"])).unwrap();
    let distances: Vec<f64> = json["beside"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| b["distance"].as_f64().unwrap())
        .collect();
    assert_eq!(distances.len(), 3);
    assert!(distances.is_sorted());
    // Study D published no plain speeds.
    let refused = s.run(&["studies", "D", "--beside", &out]);
    assert_eq!(refused.status.code(), Some(5), "{}", text(&refused.stderr));
    assert_eq!(s.run(&["studies", "E"]).status.code(), Some(2));
}
