//! `cryptbench history` through the binary: add, list, show, check, remove, exit codes.

use std::fs;

use crate::sandbox::{Sandbox, text};
use cryptbench_record::Record;
use serde_json::Value;

/// The record of a real run, and copies dated to other days, with speeds multiplied by these factors.
fn days(s: &Sandbox, levels: &[f64]) -> Vec<String> {
    let real = s.measured(&["--cipher", "aes-256-xts", "--data-unit", "512"]);
    let save = |(day, level): (usize, &f64)| {
        let mut record: Record = real.clone();
        record.run_id = format!("day-{day}");
        record.started = format!("2026-01-{:02}T00:00:00Z", day + 1);
        for trial in &mut record.trials {
            trial.measured.elapsed_s /= level;
        }
        let path = s.out().join(format!("{day}.json"));
        cryptbench_record::write(&record, &path).unwrap();
        path.display().to_string()
    };
    levels.iter().enumerate().map(save).collect()
}

fn history(s: &Sandbox, args: &[&str]) -> (i32, String) {
    let done = s.run(&[&["history"], args].concat());
    let out = text(&done.stdout);
    let table = !args.contains(&"--json") && args[0] != "add";
    for line in out.lines().filter(|_| table) {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let out = if args.contains(&"--json") { out } else { flat };
    (done.status.code().unwrap(), out + &text(&done.stderr))
}

#[test]
fn a_regression_is_found_and_noise_is_not() {
    let s = Sandbox::new();
    let (code, none) = history(&s, &["list"]);
    assert_eq!(code, 5);
    insta::assert_snapshot!(s.without_place(&none), @"cryptbench: SANDBOX/home/.local/state/cryptbench/history.sqlite: there is no history yet; `cryptbench history add RECORD` creates one");
    let paths = days(&s, &[1.0, 1.1, 0.95, 1.05, 0.9, 1.02, 0.93, 0.1]);
    let first: Vec<&str> = paths[..7].iter().map(String::as_str).collect();
    let (code, told) = history(&s, &[&["add"], &first[..3]].concat());
    assert!(code == 0 && told.contains("history.sqlite"), "{told}");
    let (code, few) = history(&s, &["check"]);
    assert_eq!(code, 0);
    assert_eq!(history(&s, &["check", "--quiet"]), (11, String::new()));
    assert!(few.contains("cannot be judged yet. Earlier runs of the same machine"), "{few}");
    let (_, told) = history(&s, &[&["add"], first.as_slice()].concat());
    assert_eq!(
        (told.matches("is already there").count(), told.matches("added as").count()),
        (3, 4)
    );
    let (code, noise) = history(&s, &["check"]);
    assert_eq!(code, 0, "{noise}");
    assert!(noise.contains("No regression in"), "{noise}");
    assert_eq!(history(&s, &["check", "--quiet"]), (0, String::new()));
    // The new record is not in the history, whose records may have been deleted.
    for path in &first {
        fs::remove_file(path).unwrap();
    }
    let (code, found) = history(&s, &["check", &paths[7]]);
    assert_eq!(code, 9, "{found}");
    assert!(found.contains("Regression: ") && found.contains("▼"), "{found}");
    let (code, quiet) = history(&s, &["check", "--quiet", &paths[7]]);
    assert_eq!(code, 9);
    assert!(quiet.starts_with("day-7, measured 2026-01-08") && !quiet.contains('▼'), "{quiet}");
    assert!(quiet.contains("Regression: "), "{quiet}");
    let (code, kept) = history(&s, &["check", &paths[7], "--measure", "kept"]);
    assert_eq!(code, 0, "{kept}");
    let (_, _) = history(&s, &["add", &paths[7]]);
    let (code, all) = history(&s, &["regressions"]);
    assert!(code == 9 && all.contains("day-7") && all.contains("with a regression: 1."), "{all}");
    let (code, json) = history(&s, &["check", "8", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, json["checks"][0]["cells"][0]["earlier"].as_u64()), (9, Some(7)));
    let (code, list) = history(&s, &["list"]);
    assert!(code == 0 && list.contains("2026-01-08"), "{list}");
    let (_, json) = history(&s, &["list", "--json"]);
    let listed: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 8);
    let (code, shown) = history(&s, &["show", "2"]);
    assert!(code == 0 && shown.contains("tiny profile"), "{shown}");
    let (_, shown) = history(&s, &["show", "2", "--json"]);
    let record: Record = serde_json::from_str(&shown).unwrap();
    assert_eq!(record.run_id, "day-1");
    assert_eq!(history(&s, &["remove", "8"]).0, 0);
    assert_eq!(history(&s, &["remove", "8"]).0, 2);
    assert_eq!(history(&s, &["show", "99"]).0, 2);
    assert_eq!(history(&s, &["regressions"]).0, 0);
}

#[test]
fn other_files_are_left_alone() {
    let s = Sandbox::new();
    let letters = s.out().join("letters");
    let content = "to whom it may concern, ".repeat(20);
    fs::write(&letters, &content).unwrap();
    let path = letters.display().to_string();
    let record = days(&s, &[1.0]).remove(0);
    let (code, told) = history(&s, &["add", &record, "--database", &path]);
    assert_eq!(code, 5);
    insta::assert_snapshot!(s.without_place(&told), @"cryptbench: SANDBOX/out/letters is not a history of cryptbench (no database); it was not changed");
    assert_eq!(fs::read_to_string(&letters).unwrap(), content);
    // A file that is not a record does not create a history.
    let new = s.out().join("new.sqlite").display().to_string();
    assert_eq!(history(&s, &["add", &path, "--database", &new]).0, 5);
    assert!(!s.out().join("new.sqlite").exists());
}
