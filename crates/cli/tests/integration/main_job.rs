//! The main task through the binary: a run, its record and page, and everything that lists things.

use std::collections::BTreeMap;

use crate::sandbox::{Sandbox, skipped, text};
use cryptbench_record::{ArmRole, Record};

#[test]
fn a_run_prints_its_answer_and_leaves_a_record_and_a_page() {
    let s = Sandbox::new();
    let out = s.out().display().to_string();
    let done = s.run(&s.tiny(&["--profile", "quick", "--output", &out]));
    let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{stderr}");
    for expected in ["AES-256 alone", "% of plain", "Open ", "--full", "report.html"] {
        assert!(stdout.contains(expected), "no {expected:?} in:\n{stdout}");
    }
    assert!(stdout.lines().count() <= 24, "more than a screen:\n{stdout}");
    assert!(!stdout.contains('\x1b') && !stderr.contains('\x1b'), "control codes in a pipe");
    for line in stdout.lines().filter(|l| !l.contains(&out)) {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
    assert_eq!(s.left_behind(), Vec::<std::path::PathBuf>::new());

    let record = cryptbench_record::read(&s.out()).unwrap();
    assert!(!record.partial);
    assert_eq!(record.plan.seed, 1);
    assert_eq!(record.plan.workloads.len(), 8);
    let roles: Vec<_> = record.plan.arms.iter().map(|a| a.role).collect();
    use ArmRole::{Encrypted, NullLayer, Plain, PlainAgain};
    assert_eq!(roles, [Plain, PlainAgain, NullLayer, Encrypted, Encrypted]);
    assert!(record.plan.arms[4].kernel_tier.is_some());
    assert!(
        record
            .trials
            .iter()
            .all(|t| t.measured.ios > 0 && t.measured.bytes > 0 && t.measured.elapsed_s > 0.0)
    );
    let results = record.results.as_ref().unwrap();
    assert_eq!(results.cells.len(), 8 * 5);
    assert!(!results.sentences.is_empty());

    // The page and the table can be rendered again from the record alone.
    let page = s.out().join("again.html");
    let again = s.run(&["report", &out, "--output", &page.display().to_string()]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    let first = std::fs::read_to_string(s.out().join("report.html")).unwrap();
    // Not assert_eq, because two whole pages in a failure message are of no use.
    assert!(first == std::fs::read_to_string(page).unwrap(), "another page from the same record");
    assert!(stdout.starts_with(text(&again.stdout).split("\nMore ").next().unwrap()));

    let full = s.full();
    for expected in
        ["AES-256 alone, 512 B", "builtin/aes-256-xts/512", "pass-through", "machine", "report  "]
    {
        assert!(full.contains(expected), "no {expected:?} in:\n{full}");
    }
    for line in full.lines().filter(|l| !l.starts_with("report  ")) {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
}

#[test]
fn systems_that_are_ranked_fit_35_lines_and_the_engine_has_no_place_among_them() {
    let s = Sandbox::with_little_room();
    let systems = "builtin,builtin-mounted,gocryptfs,encfs";
    let done = s.run(&s.tiny(&["--systems", systems]));
    let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
    if !done.status.success() && stderr.contains("is not available here") {
        return skipped(stderr.lines().last().unwrap_or_default());
    }
    assert!(done.status.success(), "{stderr}");
    assert!(stdout.lines().count() <= 35, "{stdout}");
    for line in stdout.lines().filter(|l| !l.ends_with("/report.html")) {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
    // On a busy machine there may be too little evidence to rank all of them.
    for expected in ["cryptbench mount (LUKS2)", "gocryptfs", "Avoid  EncFS: "] {
        assert!(stdout.contains(expected), "no {expected:?} in:\n{stdout}");
    }
    let engine = stdout.lines().find(|l| l.contains("AES-256 alone, ")).unwrap();
    assert!(engine.starts_with("   AES-256 alone"), "no place: {engine}");
    let take = stdout.split("\nUse ").nth(1).and_then(|rest| rest.split("\nOpen ").next());
    assert!(take.is_none_or(|take| !take.contains("AES-256 alone")), "{stdout}");
}

#[test]
fn json_on_standard_output_is_the_record() {
    let s = Sandbox::new();
    let done = s.run(&s.tiny(&["--json", "--quiet", "--data-unit", "4096"]));
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(text(&done.stderr), "", "quiet");
    let record: Record = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(record.plan.arms.last().unwrap().id, "builtin/aes-256-xts/4096");
    assert_eq!(record.schema, cryptbench_record::SCHEMA);
}

#[test]
fn quiet_prints_headline_and_take_alone() {
    let s = Sandbox::new();
    let done = s.run(&s.tiny(&["--quiet"]));
    assert!(done.status.success());
    assert_eq!(text(&done.stderr), "");
    let stdout = text(&done.stdout);
    assert!(stdout.contains("AES-256 alone") && !stdout.contains("report.html"), "{stdout}");
    assert!(stdout.lines().count() < 8, "{stdout}");
}

#[test]
fn the_threads_engine_and_the_page_cache_do_the_same_job_and_say_so() {
    let s = Sandbox::new();
    let done = s.run(&s.tiny(&["--json", "--engine", "threads", "--buffered"]));
    assert!(done.status.success(), "{}", text(&done.stderr));
    let record: Record = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(record.target.engine.name, "threads");
    assert!(!record.target.engine.direct);
    assert!(record.notes.iter().any(|n| n.contains("page cache")), "{:?}", record.notes);
}

#[test]
fn the_same_seed_repeats_the_order_of_trials() {
    let s = Sandbox::new();
    // Compared for each workload: how soon it is precise enough, and therefore what comes next, depends on the
    // disk, as does whether such short trials are sliced.
    let orders = || {
        let args = ["--json", "--system", "plain", "--precision", "50%", "--no-slices"];
        let done = s.run(&s.tiny(&args));
        let record: Record = serde_json::from_slice(&done.stdout).unwrap();
        let mut orders = BTreeMap::<String, Vec<String>>::new();
        for trial in record.trials {
            orders.entry(trial.workload).or_default().push(trial.arm);
        }
        orders
    };
    let (a, b) = (orders(), orders());
    assert_eq!(a.len(), 2);
    for (workload, a) in a {
        let b = &b[&workload];
        let common = a.len().min(b.len());
        assert!(common >= 4, "{workload}: {a:?}, {b:?}");
        assert_eq!(a[..common], b[..common], "{workload}");
    }
}

#[test]
fn a_profile_of_ones_own() {
    let s = Sandbox::new();
    let printed = s.run(&["profiles", "quick"]);
    assert!(printed.status.success());
    let file = s.out().join("mine.toml");
    std::fs::write(&file, &printed.stdout).unwrap();
    let path = file.display().to_string();
    let done = s.run(&s.tiny(&["--json", "--profile", &path]));
    assert!(done.status.success(), "{}", text(&done.stderr));
}

#[test]
fn the_lists_show_what_is_registered() {
    let s = Sandbox::new();
    for (args, expected) in [
        (&["systems"][..], "builtin"),
        (&["ciphers", "--list"], "aes-256-xts"),
        (&["profiles"], "quick"),
        (&["cleanup"], "nothing was left behind"),
    ] {
        let done = s.run(args);
        assert!(done.status.success());
        assert!(text(&done.stdout).contains(expected), "{}", text(&done.stdout));
    }
}

#[test]
fn the_kernel_tier_can_be_limited_and_is_named() {
    let s = Sandbox::new();
    let args = s.tiny(&["--json", "--data-unit", "512"]);
    let done = s.command(&args).env("CRYPTBENCH_CPU", "soft").output().unwrap();
    let record: Record = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(record.plan.arms.last().unwrap().kernel_tier.as_deref(), Some("soft"));
}
