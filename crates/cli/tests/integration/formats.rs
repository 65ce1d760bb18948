//! The formats of `cryptbench report` through the binary: what is written where, what is refused, and whether other
//! programs can read it as the documentation says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::{Sandbox, skipped, text};
use cryptbench_prove::Schema;
use cryptbench_record::{Record, Results};

/// A small real run and its results.
struct Run {
    sandbox: Sandbox,
    results: Results,
}

impl Run {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let out = sandbox.out().display().to_string();
        let done = sandbox.run(&sandbox.tiny(&["--quiet", "--output", &out]));
        assert!(done.status.success(), "{}", text(&done.stderr));
        let mut run = Self { sandbox, results: Results::default() };
        let record: Record = serde_json::from_str(&run.report(&["--format", "json"])).unwrap();
        run.results = record.results.unwrap();
        run
    }

    fn record(&self) -> PathBuf {
        self.sandbox.out().join("record.json")
    }

    /// Standard output of a report that succeeds.
    fn report(&self, args: &[&str]) -> String {
        let record = self.record().display().to_string();
        let done = self.sandbox.run(&[&["report", &record], args].concat());
        assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
        text(&done.stdout)
    }

    /// Standard error of a report that is refused.
    fn refused(&self, args: &[&str]) -> String {
        let record = self.record().display().to_string();
        let done = self.sandbox.run(&[&["report", &record], args].concat());
        assert!(!done.status.success(), "{args:?}");
        assert!(done.stdout.is_empty(), "{args:?}: {}", text(&done.stdout));
        text(&done.stderr)
    }

    /// Compares lines `workload TAB arm TAB ratio ...` with the estimates of the results.
    fn assert_kept(&self, lines: &str) {
        let mut left: BTreeMap<(&str, &str), _> = self
            .results
            .cells
            .iter()
            .filter_map(|c| Some(((c.workload.as_str(), c.arm.as_str()), c.kept.as_ref()?)))
            .collect();
        assert!(!left.is_empty(), "nothing to compare");
        for line in lines.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            // A cell that was served from a cache has no estimate, but a program that only divides computes one.
            let Some(kept) = left.remove(&(fields[0], fields[1])) else { continue };
            for (written, expected) in fields[2..].iter().zip([kept.ratio, kept.low, kept.high]) {
                let found: f64 = written.parse().unwrap();
                assert!((found / expected - 1.0).abs() < 1e-9, "{line}: {expected}");
            }
        }
        assert!(left.is_empty(), "not told: {:?}", left.keys());
    }
}

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[test]
fn every_format_goes_to_a_file_or_to_standard_output() {
    let run = Run::new();
    let at = |name: &str| run.sandbox.out().join(name);
    for (format, begins) in
        [("json", "{\n"), ("csv", "run_id,"), ("markdown", "## What encryption costs")]
    {
        let out = run.report(&["--format", format]);
        assert!(out.starts_with(begins), "{format}: {out:.80}");
        let file = at(format).display().to_string();
        assert_eq!(run.report(&["--format", format, "--output", &file]), "");
        assert_eq!(fs::read_to_string(at(format)).unwrap(), out, "{format}");
        // A repeated report replaces its own file.
        run.report(&["--format", format, "-o", &file]);
    }
    assert_eq!(run.report(&["--json"]), run.report(&["--format", "json"]));
    let cells = run.report(&["--format", "csv", "--table", "cells"]);
    assert_eq!(cells.lines().count(), run.results.cells.len() + 1);
    let page = at("page.html").display().to_string();
    assert!(run.report(&["-o", &page]).ends_with(&format!("       {page}\n")));
    assert!(run.report(&["--full", "-o", &page]).ends_with(&format!("report  {page}\n")));
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!DOCTYPE html>"));
    let left = fs::read_dir(run.sandbox.out()).unwrap();
    assert!(left.flatten().all(|f| !f.path().display().to_string().ends_with(".part")));
}

#[test]
fn the_record_is_never_written_over_and_what_is_amiss_is_said() {
    let run = Run::new();
    let before = fs::read(run.record()).unwrap();
    let record = run.record().display().to_string();
    let mut said = run.refused(&["--format", "csv", "--output", &record]);
    assert_eq!(fs::read(run.record()).unwrap(), before);
    said += &run.refused(&["--json", "--format", "csv"]);
    said += &run.refused(&["--format", "csv", "-o", "/nonexistent/x.csv"]);
    insta::assert_snapshot!(run.sandbox.without_place(&said), @"
        cryptbench: SANDBOX/out/record.json: is the record itself and will not be overwritten; specify another file
        error: the argument '--json' cannot be used with '--format <FORMAT>'

        Usage: cryptbench report --json <RECORD>

        For more information, try '--help'.
        cryptbench: cannot write /nonexistent/x.csv: No such file or directory
        ");
}

#[test]
fn charts_are_files_with_names_and_others_files_are_kept() {
    let run = Run::new();
    let charts = run.sandbox.out().join("charts");
    let dir = charts.display().to_string();
    run.report(&["--format", "json", "--charts", &dir]);
    let mut names: Vec<String> = fs::read_dir(&charts)
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let svgs = names.iter().filter(|n| n.ends_with(".svg")).count();
    let formats = if cfg!(feature = "png") { 3 } else { 2 };
    assert!(svgs >= 8 && names.len() == formats * svgs, "{names:?}");
    assert!(names.iter().any(|n| n.starts_with("percent-of-plain-speed-")), "{names:?}");
    for name in &names {
        let bytes = fs::read(charts.join(name)).unwrap();
        let head: &[u8] = match name.rsplit('.').next() {
            Some("png") => b"\x89PNG",
            Some("pdf") => b"%PDF-1.4",
            _ => b"<svg xmlns",
        };
        assert!(bytes.starts_with(head), "{name}");
    }
    // Replaces its own files, but not those of others: then nothing is written at all.
    run.report(&["--format", "json", "--charts", &dir]);
    let (first, last) = (charts.join(&names[0]), charts.join(names.last().unwrap()));
    fs::write(&last, "<svg>mine</svg>").unwrap();
    fs::remove_file(&first).unwrap();
    let record = run.record().display().to_string();
    let done = run.sandbox.run(&["report", &record, "--format", "json", "--charts", &dir]);
    assert_eq!(done.status.code(), Some(3));
    let error = text(&done.stderr);
    assert!(error.contains("is not a chart made by cryptbench"), "{error}");
    assert_eq!(fs::read(&last).unwrap(), b"<svg>mine</svg>");
    assert!(!first.exists());
}

#[test]
fn the_schema_is_the_committed_one_and_a_real_record_satisfies_it() {
    let run = Run::new();
    let printed = text(&run.sandbox.run(&["schema"]).stdout);
    let committed = fs::read_to_string(docs("schema/record.schema.json")).unwrap();
    assert!(printed == committed);
    let schema = Schema::new(serde_json::from_str(&printed).unwrap());
    for json in [fs::read_to_string(run.record()).unwrap(), run.report(&["--format", "json"])] {
        let record: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(schema.faults(&record), [""; 0]);
        let mut damaged = record;
        damaged["trials"][0]["latency"]["p50_us"] = "fast".into();
        assert!(!schema.faults(&damaged).is_empty());
    }
}

/// A Python interpreter with these modules: that of the system, or otherwise of a virtual environment that pip
/// fills.
pub fn python(module: &str) -> Option<PathBuf> {
    cryptbench_prove::python(module, module, Path::new(env!("CARGO_TARGET_TMPDIR")))
}

fn loads_in_python(module: &str) {
    let Some(python) = python(module) else {
        return skipped(&format!("no {module} for python3, and pip cannot install it"));
    };
    let run = Run::new();
    let csv = run.sandbox.out().join("trials.csv");
    run.report(&["--format", "csv", "-o", &csv.display().to_string()]);
    let script = docs(&format!("loading/with_{module}.py"));
    let done = Command::new(python).arg(script).arg(run.record()).arg(csv).output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    run.assert_kept(&text(&done.stdout));
}

#[test]
fn pandas_loads_what_the_documentation_says() {
    loads_in_python("pandas");
}

#[test]
fn polars_loads_what_the_documentation_says() {
    loads_in_python("polars");
}

#[test]
fn r_loads_what_the_documentation_says() {
    if !Path::new("/usr/bin/Rscript").exists() {
        return skipped("no /usr/bin/Rscript (apt install r-base-core)");
    }
    let run = Run::new();
    let csv = run.sandbox.out().join("trials.csv");
    run.report(&["--format", "csv", "-o", &csv.display().to_string()]);
    let done =
        Command::new("/usr/bin/Rscript").arg(docs("loading/with_r.R")).arg(csv).output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    run.assert_kept(&text(&done.stdout));
}
