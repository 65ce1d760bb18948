//! `cryptbench compare` through the binary: results of other programs, records, both, and what is refused.

use std::path::Path;

use crate::sandbox::{Sandbox, text};
use serde_json::Value;

fn fixture(name: &str) -> String {
    let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("../foreign/tests/fixtures").join(name);
    at.canonicalize().unwrap().display().to_string()
}

fn compare(s: &Sandbox, args: &[&str]) -> String {
    let done = s.run(&[&["compare"], args].concat());
    assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
    let out = text(&done.stdout);
    let table = !args.contains(&"--json") && !args.contains(&"--csv");
    for line in out.lines().filter(|_| table) {
        let path = line.contains("fixtures") || line.contains("/tmp");
        assert!(path || line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
    // Undoes the wrapping, which depends on the width.
    if table { out.split_whitespace().collect::<Vec<_>>().join(" ") } else { out }
}

/// The message with which `compare` refuses these arguments, without the path of the fixtures.
fn refused(s: &Sandbox, args: &[&str]) -> String {
    s.refused(&[&["compare"], args].concat()).replace(&fixture(""), "FIXTURES")
}

#[test]
fn series_of_every_foreign_format() {
    let s = Sandbox::new();
    for (name, cell) in [
        ("fio/", "seq. read 128 KiB QD4"),
        ("iozone/", "128 KiB/"),
        ("dd/", "seq. copy 8 MiB/64 KiB"),
    ] {
        let of = |which: &str| match name {
            "dd/" => fixture(&format!("{name}{which}.log")),
            _ => fixture(&format!("{name}{which}")),
        };
        let out = compare(&s, &[&of("plain"), &of("layered")]);
        // The answer comes first.
        assert!(out.starts_with("B is ") || out.starts_with("A and B "), "{out}");
        for part in [cell, "Unpaired: A and B were not interleaved", "% of A [95 % interval]"] {
            assert!(out.contains(part), "{part} is not in {out}");
        }
        let iozone = out.contains("in percent of the larger of the two");
        assert_eq!(iozone, name == "iozone/", "{out}");
        assert_eq!(out.contains("to see 194 more"), name == "iozone/", "{out}");
    }
    // Study B's log, plain storage first, as two files or as one.
    let [plain, encrypted, both] =
        ["plain", "encrypted", "both"].map(|n| fixture(&format!("dd/study-b/{n}.log")));
    for logs in [&[plain.as_str(), &encrypted][..], &[&both]] {
        let out = compare(&s, &[logs, &["--estimator", "trimmed-mean"]].concat());
        for part in
            ["(zeros)", "(random)", "10 runs each", "B is slower in 2 of 2 results, most of all in"]
        {
            assert!(out.contains(part), "{part} is not in {out}");
        }
    }
    let one = compare(&s, &[&fixture("diskmark/cdm7.txt"), &fixture("diskmark/kdm1.txt")]);
    for part in ["cannot be judged: distinguishing", "Only in A (4)", "1 run each"] {
        assert!(one.contains(part), "{part} is not in {one}");
    }
}

#[test]
fn json_and_csv_have_every_cell() {
    let s = Sandbox::new();
    let [a, b] = ["iozone/plain", "iozone/layered"].map(fixture);
    let json: Value = serde_json::from_str(&compare(&s, &[&a, &b, "--json"])).unwrap();
    assert_eq!(
        (json["unpaired"].as_bool(), json["cells"].as_array().unwrap().len()),
        (Some(true), 234)
    );
    let csv = compare(&s, &[&a, &b, "--csv", "--estimator", "mean"]);
    let columns = csv.lines().next().unwrap().split(',').count();
    assert_eq!(csv.lines().count(), 235);
    assert!(csv.lines().all(|l| l.split(',').count() == columns));
    let row = csv.lines().nth(1).unwrap().split(',').collect::<Vec<_>>();
    let cell = &json["cells"][0];
    assert_eq!(row[1], cell["name"].as_str().unwrap());
    assert_eq!(row[16], cell["ratio"].to_string());
    // The mean of the three runs, as in study C.
    let values = cell["a"]["values"].as_array().unwrap();
    let mean = values.iter().map(|v| v.as_f64().unwrap()).sum::<f64>() / 3.0;
    assert!((row[12].parse::<f64>().unwrap() / mean - 1.0).abs() < 1e-12);
}

#[test]
fn two_records_and_a_record_beside_foreign_results() {
    let s = Sandbox::new();
    for out in ["one", "two"] {
        let at = s.out().join(out).display().to_string();
        let done =
            s.run(&s.tiny(&["--output", &at, "--profile", "quick", "--cipher", "aes-256-xts"]));
        assert!(done.status.success(), "{}", text(&done.stderr));
    }
    let [one, two] = ["one", "two"].map(|n| s.out().join(n).display().to_string());
    let out = compare(&s, &[&one, &two]);
    for part in [
        "cryptbench record",
        "% of plain speed. Each record",
        "Raw speeds",
        "Small reads, 32 at once, plain",
        "IOPS",
    ] {
        assert!(out.contains(part), "{part} is not in {out}");
    }
    // Shares come before absolute speeds, and both after the answer.
    let at = |part: &str| out.find(part).unwrap();
    assert!(at("A and B") < at("cryptbench record"), "{out}");
    assert!(at("% of plain speed. Each record") < at("Raw speeds: the mean"), "{out}");
    // Identifiers and labels are only meant for programs.
    assert!(!out.contains("QD32") && !out.contains("builtin/"), "{out}");
    // The same machine in the same state: only the choices that the runs made themselves differ.
    assert!(!out.contains("processor "), "{out}");
    let json: Value = serde_json::from_str(&compare(&s, &[&one, &one, "--json"])).unwrap();
    for cell in json["cells"].as_array().unwrap() {
        assert_eq!(cell["ratio"].as_f64(), Some(1.0), "{cell}");
    }
    assert_eq!(json["differences"].as_array().map(Vec::len), Some(0));
    assert_eq!(json["answer"][0].as_str(), Some("A and B are the same run."));
    // Arms chosen by identifier.
    let json: Value = serde_json::from_str(&compare(
        &s,
        &[&one, &two, "--arm", "plain", "--arm", "builtin/aes-256-xts/512", "--json"],
    ))
    .unwrap();
    // There are eight workloads; on a busy machine such a short run may lack one.
    assert!((7..=8).contains(&json["cells"].as_array().unwrap().len()), "{json}");
    assert!(json["costs"].as_array().unwrap().is_empty());
    let cdm = fixture("diskmark/cdm7.txt");
    let beside = compare(&s, &[&one, &cdm]);
    for part in ["Large reads, 8 at once", "CrystalDiskMark", "Small writes"] {
        assert!(beside.contains(part), "{part} is not in {beside}");
    }
    let mut said = refused(&s, &[&one, &two, "--arm", "nothing"]);
    // A run that also measured other systems is not mixed with it unless its arm is named.
    let other = s.out().join("other.json");
    let mut record = cryptbench_record::read(two.as_ref()).unwrap();
    record.plan.set = Some("default/gocryptfs".to_owned());
    cryptbench_record::write(&record, &other).unwrap();
    let other = other.display().to_string();
    said += &refused(&s, &[&one, &other]);
    said += &refused(&s, &[&other, &one]);
    compare(&s, &[&one, &other, "--arm", "plain"]);
    said += &refused(&s, &[&one, &two, "--also-a", &cdm]);
    said += &refused(&s, &[&one, &fixture("dd/plain.log")]);
    insta::assert_snapshot!(said);
}

/// A run with the same choices, workloads and seed as a record, and the comparison of both.
#[test]
fn a_run_like_another_says_whether_it_reproduces_it() {
    let s = Sandbox::new();
    let [one, two] = ["one", "two"].map(|n| s.out().join(n).display().to_string());
    let more =
        ["--output", &one, "--profile", "quick", "--system", "builtin", "--cipher", "aes-256-xts"];
    let done = s.run(&s.tiny(&more));
    assert!(done.status.success(), "{}", text(&done.stderr));
    let done = s.run(&["run", "--like", &one, "--dry-run"]);
    let planned = text(&done.stdout);
    assert!(done.status.success() && planned.contains("quick, 8 workloads"), "{planned}");
    assert!(!planned.contains("the record's"), "{planned}");
    let done = s.run(&["run", "--like", &one, "--output", &two]);
    let out = text(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(done.status.success(), "{}", text(&done.stderr));
    for part in
        ["B is this run", "% of plain speed. Each record", "eproduced", "would have been found"]
    {
        assert!(out.contains(part) || out.contains("Not contradicted"), "{part} is not in {out}");
    }
    let read = |at: &str| cryptbench_record::read(at.as_ref()).unwrap().plan;
    let (a, b) = (read(&one), read(&two));
    let ids = |plan: &cryptbench_record::Plan| {
        let arms = plan.arms.iter().map(|arm| arm.id.clone());
        arms.chain(plan.workloads.iter().map(|w| w.id.clone())).collect::<Vec<_>>()
    };
    assert_eq!((ids(&a), a.seed, a.max_pairs), (ids(&b), b.seed, b.max_pairs));
    // The tables of a study and of a report for LaTeX; a record of another profile has no study tables.
    let latex = text(&s.run(&["report", &one, "--format", "latex"]).stdout);
    for part in ["\\usepackage{booktabs", "S[table-format=", "\\%", " +- "] {
        assert!(latex.contains(part), "{part} is not in {latex}");
    }
    let done = s.run(&["studies", "B", "--from", &one]);
    assert_eq!(done.status.code(), Some(5), "{}", text(&done.stdout));
}

#[test]
fn what_is_not_understood_is_refused() {
    let s = Sandbox::new();
    let dd = fixture("dd/plain.log");
    let said = [
        &[dd.as_str(), &fixture("dd/error.log")][..],
        &[&dd, &fixture("README.md")],
        &[&dd, "/nonexistent"],
        &[&dd, &dd, "--measure", "latency"],
        &[&dd, &dd, "--arm", "plain"],
        &[&dd],
        &[&dd, "--also-b", &dd],
    ]
    .map(|args| refused(&s, args));
    insta::assert_snapshot!(said.concat());
    let said = refused(&s, &["gocryptfs", "veracrypt"]);
    assert!(said.contains("compare last last --arm gocryptfs --arm veracrypt"), "{said}");
    // Sets of several paths, and other estimators.
    let more = compare(
        &s,
        &[&dd, &dd, "--also-b", &fixture("dd/layered.log"), "--estimator", "trimmed-mean"],
    );
    assert!(more.contains("20 runs each") && more.contains("without the smallest"), "{more}");
}
