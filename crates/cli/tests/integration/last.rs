//! In every command that takes a record, `last` means the newest run of this user, wherever its record was saved.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::{Sandbox, skipped, text};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json")
}

/// Copies the fixture under a different name to the user's runs, or to `directory`.
fn copy(s: &Sandbox, run: &str, directory: Option<&Path>) -> PathBuf {
    let text = fs::read_to_string(fixture()).unwrap();
    let own = cryptbench_record::read(&fixture()).unwrap().run_id;
    let runs = s.target().with_file_name("home/.local/share/cryptbench/runs");
    let place = directory.map_or_else(|| runs.join(run), Path::to_owned);
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("record.json"), text.replace(&own, run)).unwrap();
    place
}

fn said(s: &Sandbox, args: &[&str]) -> String {
    let done = s.run(args);
    assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
    text(&done.stdout)
}

fn run_of(s: &Sandbox, what: &str) -> String {
    let record: serde_json::Value =
        serde_json::from_str(&said(s, &["report", what, "--json"])).unwrap();
    record["run_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_with_an_output_of_its_own_is_the_last() {
    let s = Sandbox::new();
    let old = copy(&s, "20200101-000000-aaaa", None);
    assert_eq!(run_of(&s, "last"), "20200101-000000-aaaa");
    let out = s.out().display().to_string();
    let done = s.run(&s.tiny(&["--quiet", "--systems", "plain", "--output", &out]));
    assert!(done.status.success(), "{}", text(&done.stderr));
    let new = cryptbench_record::read(&s.out()).unwrap().run_id;
    assert_eq!(run_of(&s, "last"), new);
    assert_eq!(run_of(&s, "last~1"), "20200101-000000-aaaa");
    // A newer run, which is in the directory of runs.
    copy(&s, "20990101-000000-ffff", None);
    assert_eq!(
        [run_of(&s, "last"), run_of(&s, "last~1")],
        ["20990101-000000-ffff".to_owned(), new]
    );
    // A deleted run is not the last one.
    fs::remove_file(s.out().join("record.json")).unwrap();
    assert_eq!(run_of(&s, "last~1"), "20200101-000000-aaaa");
    insta::assert_snapshot!([
        s.refused(&["report", "last~2"]),
        s.refused(&["compare", "last", "last~x"]),
    ].concat(), @"
        $ cryptbench report last~2
        [5] cryptbench: last~2: you have only 2 runs: last to last~1
        $ cryptbench compare last last~x
        [2] cryptbench: last~x: not a run; use last, or last~1 for the run before it
        ");
    // An existing file with that name takes precedence.
    fs::copy(old.join("record.json"), s.target().join("last")).unwrap();
    assert_eq!(run_of(&s, "last"), "20200101-000000-aaaa");
}

#[test]
fn a_strangers_directory_is_not_the_last() {
    let s = Sandbox::new();
    let out = s.out().display().to_string();
    let done = s.run(&s.tiny(&["--quiet", "--systems", "plain", "--output", &out]));
    assert!(done.status.success(), "{}", text(&done.stderr));
    run_of(&s, "last");
    match std::os::unix::fs::chown(s.out(), Some(12_345), None) {
        Ok(()) => assert_eq!(s.run(&["report", "last"]).status.code(), Some(5)),
        Err(_) => skipped("giving a directory away needs root"),
    }
}

#[test]
fn every_command_that_takes_a_record_takes_the_last() {
    let s = Sandbox::new();
    copy(&s, "20200101-000000-aaaa", None);
    copy(&s, "20210101-000000-bbbb", None);
    let database = s.out().join("history").display().to_string();
    let first = said(&s, &["history", "add", "last", "--database", &database]);
    assert!(first.contains("runs/20210101-000000-bbbb added as 1"), "{first}");
    for args in [
        &["compare", "last", "last~1"][..],
        &["compare", "--joint", "last", "last~1"],
        &["history", "check", "last", "--database", &database],
        &["predict", "--device", "last", "--cipher-rate", "1000"],
        &["predict", "--record", "last", "--cipher-rate", "1000"],
        &["predict", "--validate", "last"],
        &["run", "--like", "last", "--dry-run"],
        &["report", "last~1", "--full"],
    ] {
        let done = s.run(args);
        let said = text(&done.stderr);
        assert!(!said.contains("last"), "{args:?}: {said}");
        assert!(done.status.success(), "{args:?}: {said}");
    }
    // A run of a different profile: this only tests that it is found.
    let refused = s.refused(&["studies", "A", "--from", "last"]);
    let found = "runs/20210101-000000-bbbb: no record has a profile of study A";
    assert!(refused.contains(found), "{refused}");
    let refused = s.refused(&["run", "--resume", "last"]);
    assert!(refused.contains("runs/20210101-000000-bbbb: contains no log"), "{refused}");
}

#[test]
fn the_directory_of_a_study_has_its_records() {
    let s = Sandbox::new();
    for (profile, run) in [("hdtune", "20200101-000000-aaaa"), ("atto", "20200101-000001-bbbb")] {
        copy(&s, run, Some(&s.out().join(profile)));
    }
    let out = s.out().display().to_string();
    let shown = said(&s, &["report", &out]);
    let places: Vec<&str> = shown.lines().filter(|line| line.starts_with(&out)).collect();
    assert_eq!(places, [format!("{out}/atto"), format!("{out}/hdtune")]);
    assert!(shown.contains(&format!("cryptbench report {out}/atto --full")), "{shown}");
    assert!(
        s.out().join("atto/report.html").is_file() && s.out().join("hdtune/report.html").is_file()
    );
    // The charts of each run are in a separate directory, next to those of the comparison.
    let charts = s.target().join("charts");
    let done = s.run(&["report", &out, "--quiet", "--charts", &charts.display().to_string()]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    for file in ["overview.svg", "overview.pdf", "atto/overview.svg", "hdtune/overview.svg"] {
        assert!(charts.join(file).is_file(), "{file}");
    }
    let chart = fs::read_to_string(charts.join("overview.svg")).unwrap();
    for name in
        ["gocryptfs", "cryptbench mount (LUKS2)", "20200101-000001-bbbb, 20200101-000000-aaaa"]
    {
        assert!(chart.contains(name), "{name}: {chart}");
    }
    let refused = s.refused(&["report", &out, "--format", "csv"]);
    insta::assert_snapshot!(refused, @"
        $ cryptbench report SANDBOX/out --format csv
        [2] cryptbench: SANDBOX/out: contains 2 records; specify one: SANDBOX/out/atto, SANDBOX/out/hdtune
        ");
    let refused = s.refused(&["studies", "A", "--from", &out]);
    assert!(refused.contains("out/atto: no record has a profile of study A"), "{refused}");
}
