//! `cryptbench serve` with real runs but without a browser: what happens to a run when its server ends.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::page::Serving;
use crate::sandbox::Sandbox;
use cryptbench_record::{Record, StopReason, WorkloadStop};

/// Maximum time to wait for anything. The tests do not check how long it takes.
const PATIENCE: Duration = Duration::from_secs(240);

fn start(s: &Sandbox, serving: &Serving, seconds: u32) {
    let order = serde_json::json!({
        "target": s.target(),
        "options": { "profile": ["quick"], "size": ["16MiB"], "budget": [format!("{seconds}s")] },
    });
    let answer = serving.post("/api/run", &order);
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
}

/// Waits until `found` returns a value.
fn wait<T>(what: &str, found: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(it) = found() {
            return it;
        }
        assert!(begun.elapsed() < PATIENCE, "{what} does not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until the run measures, which is when its scratch file exists.
fn measures(s: &Sandbox) {
    wait("the scratch file", || {
        std::fs::read_dir(s.target())
            .unwrap()
            .flatten()
            .find(|e| e.metadata().is_ok_and(|m| m.len() > 0))
    });
}

fn record(s: &Sandbox) -> Option<Record> {
    let runs: PathBuf = s.out().with_file_name("home").join(".local/share/cryptbench/runs");
    let run = std::fs::read_dir(runs).ok()?.flatten().next()?;
    // The page is the last file that a run writes.
    let page = run.path().join("report.html");
    page.metadata().ok().filter(|m| m.len() > 0)?;
    cryptbench_record::read(&run.path()).ok()
}

#[test]
fn ctrl_c_of_the_server_ends_the_run_in_good_order() {
    let s = Sandbox::new();
    let mut serving = Serving::new(&s);
    start(&s, &serving, 600);
    measures(&s);
    assert_eq!(serving.interrupt(), Some(0));
    // The server has waited for the run, which has saved everything and cleaned up.
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
    if let Some(record) = record(&s) {
        assert!(record.partial);
    }
}

#[test]
fn a_run_goes_on_when_its_server_is_killed() {
    let s = Sandbox::new();
    let mut serving = Serving::new(&s);
    start(&s, &serving, 26);
    measures(&s);
    serving.kill();
    // Nobody reads its events any more; it ends as usual nevertheless.
    let record = wait("the record", || record(&s));
    // On a busy machine, the budget may end before everything is measured.
    let stopped = |stop: &WorkloadStop| stop.reason == StopReason::Interrupted;
    assert!(!record.stops.is_empty() && !record.stops.iter().any(stopped), "{:?}", record.stops);
    assert!(!record.trials.is_empty());
    wait("the end", || s.left_behind().is_empty().then_some(()));
}

#[test]
fn a_port_that_is_taken_is_refused_or_another_is_chosen() {
    let s = Sandbox::new();
    let mut serving = Serving::new(&s);
    let port = serving.address.split(['/', ':']).nth(4).unwrap().to_owned();
    let second = s.run(&["serve", "--port", &port]);
    assert_eq!(second.status.code(), Some(2));
    assert!(crate::sandbox::text(&second.stderr).contains("--port"));
    // Without --port a different one is chosen.
    let other = Serving::new(&s);
    assert_ne!(other.address, serving.address);
    assert_eq!(serving.interrupt(), Some(0));
}

#[test]
fn runs_of_different_sets_have_named_choices_of_which_one_is_compared() {
    let s = Sandbox::new();
    for more in [&["--quiet", "--system", "builtin", "--sector-size", "4096"][..], &["--quiet"]] {
        let done = s.run(&s.tiny(more));
        assert!(done.status.success(), "{}", crate::sandbox::text(&done.stderr));
    }
    let serving = Serving::new(&s);
    let runs = serving.get("/api/runs");
    let [b, a] = [&runs[0], &runs[1]];
    assert_ne!(a["summary"]["set"], b["summary"]["set"], "{runs:#}");
    // The names are those of the answer, not the labels, which contain the mode.
    let called = b["summary"]["arms"].to_string();
    assert!(called.contains("AES-256") && !called.contains("AES-256-XTS"), "{called}");
    let names = ["a", "b"].into_iter().zip([a, b]);
    let question = names.map(|(side, run)| format!("{side}={}", run["name"].as_str().unwrap()));
    let question = question.collect::<Vec<_>>().join("&");
    let refused = serving.get(&format!("/api/compare?{question}"));
    let problem = refused["problem"].as_str().unwrap();
    assert!(
        problem.starts_with("B: measured the set ")
            && problem.contains("with --arm a choice that both have (plain, "),
        "{problem}"
    );
    let compared = serving.get(&format!("/api/compare?{question}&arm=plain"));
    assert!(!compared["cells"].as_array().unwrap().is_empty(), "{compared:#}");
}

#[test]
fn the_answer_names_the_directory_of_a_run_that_can_be_resumed() {
    let s = Sandbox::new();
    let run = s.out().join("stopped");
    std::fs::create_dir_all(&run).unwrap();
    let record = include_str!("../fixtures/builtin-only.json");
    let mut record: serde_json::Value = serde_json::from_str(record).unwrap();
    record["partial"] = true.into();
    record["stops"] = serde_json::json!([]);
    std::fs::write(run.join("record.json"), record.to_string()).unwrap();
    let done = s.run(&["report", "--format", "answer", run.to_str().unwrap()]);
    let answer: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let command = format!("cryptbench run --resume {}", run.display());
    let open = answer["open"].as_array().unwrap();
    assert!(open.iter().any(|one| one["command"] == *command), "{answer:#}");
}
