//! A killed run is not lost: its record contains what its log contains, and the run continues where it was
//! interrupted.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Child;
use std::time::UNIX_EPOCH;

use crate::sandbox::waiting::{wait_for_trials, wait_until};
use crate::sandbox::{Sandbox, skipped, text};
use cryptbench_record::Record;

const LOG: &str = "trials.jsonl";

fn arguments<'a>(s: &Sandbox, out: &'a str) -> Vec<&'a str> {
    let _ = s;
    let mut all =
        vec!["run", "--builtin-only", "--size", "16MiB", "--trial", "35ms", "--budget", "120s"];
    all.extend(["--trials", "4", "--seed", "7", "--quiet", "--output", out]);
    all
}

/// Starts a run, and kills it once its log contains this many trials of blocks.
fn killed(s: &Sandbox, out: &str, trials: usize) {
    killed_as(s, out, &arguments(s, out), trials);
}

fn killed_as(s: &Sandbox, out: &str, arguments: &[&str], trials: usize) {
    let mut run: Child = s.command(arguments).spawn().unwrap();
    wait_for_trials(&mut run, Path::new(out), trials);
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(s.run(&["cleanup"]).status.success());
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
}

/// For each workload, the number of blocks in which every arm has a trial, counted in the log itself.
fn complete(log: &str) -> BTreeMap<String, u32> {
    let mut blocks = BTreeMap::new();
    for line in log.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok()) {
        if line["event"] == "block-end"
            && let (Some(workload), Some(_)) = (line["workload"].as_str(), line["block"].as_u64())
        {
            *blocks.entry(workload.to_owned()).or_default() += 1;
        }
    }
    blocks
}

fn reported(s: &Sandbox, what: &str) -> Record {
    let done = s.run(&["report", what, "--json"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
fn a_killed_run_has_a_record_with_every_complete_block_and_goes_on() {
    let s = Sandbox::new();
    let out = s.out().display().to_string();
    // In the middle of the second round: 8 workloads and 5 arms, after as many discarded trials.
    killed(&s, &out, 8 * 5 + 8 * 5 + 12);
    let log = fs::read_to_string(s.out().join(LOG)).unwrap();
    let record = reported(&s, &out);
    assert!(record.partial && !s.out().join("record.json").exists());
    let blocks = complete(&log);
    assert_eq!(blocks.len(), 8);
    for workload in &record.plan.workloads {
        for arm in &record.plan.arms {
            let there = record.trials_of(&workload.id, &arm.id).len() as u32;
            assert!(there >= blocks[&workload.id], "{} on {}", workload.id, arm.id);
        }
        let stop = record.stops.iter().find(|stop| stop.workload == workload.id).unwrap();
        assert_eq!(stop.pairs, blocks[&workload.id]);
    }
    // Its report can be rendered.
    let shown = s.run(&["report", &out, "--full"]);
    let (shown, told) = (text(&shown.stdout), text(&shown.stderr));
    assert!(shown.contains("run was killed"), "{shown}");
    assert!(told.contains("has no record.json yet, so only the trials so far are used"), "{told}");

    let done = s.run(&["run", "--resume", &out, "--json", "--quiet"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let whole: Record = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((whole.partial, &whole.run_id), (false, &record.run_id));
    assert!(whole.elapsed_s > record.elapsed_s);
    assert!(whole.notes.iter().any(|note| note.contains("resumed later")), "{:?}", whole.notes);
    // The earlier trials are in the record unchanged, and every block occurs once.
    let of = |t: &cryptbench_record::Trial| Some((t.workload.clone(), t.block?, t.arm.clone()));
    let mut seen = std::collections::BTreeSet::new();
    for trial in &whole.trials {
        if let Some(key) = of(trial) {
            assert!(seen.insert(key.clone()), "twice: {key:?}");
        }
    }
    assert_eq!(seen.len(), 8 * 5 * 4);
    for trial in record.trials.iter().filter(|t| t.block.is_some_and(|b| b < blocks[&t.workload])) {
        let same = whole.trials.iter().find(|t| of(t) == of(trial)).unwrap();
        assert_eq!((same.measured.ios, same.at_s), (trial.measured.ios, trial.at_s));
    }
    assert!(!s.out().join(LOG).exists(), "a whole record needs no log");
    assert!(s.out().join("report.html").is_file());
    assert_eq!(reported(&s, &out).trials.len(), whole.trials.len());
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
}

/// A run in several of the user's locations: it is killed, resumed, exported and added to the history.
#[test]
fn a_killed_run_of_several_places_goes_on_and_is_kept() {
    let s = Sandbox::new();
    let out = s.out().display().to_string();
    let [plain, one, two] = ["plain", "one", "two"].map(|name| {
        let path = s.target().with_file_name(name);
        fs::create_dir(&path).unwrap();
        path.display().to_string()
    });
    let named = [format!("Best AES={one}"), format!("Best Serpent={two}")];
    let mut args = vec!["run", "--pair", &plain, &named[0], &named[1], "--size", "16MiB"];
    args.extend(["--trial", "35ms", "--budget", "120s", "--trials", "4", "--seed", "7", "--quiet"]);
    args.extend(["--output", &out]);
    // In the middle of the second round: 8 workloads and 4 arms, after as many discarded trials.
    killed_as(&s, &out, &args, 8 * 4 + 8 * 4 + 9);
    let done = s.run(&["run", "--resume", &out, "--json", "--quiet"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let whole: Record = serde_json::from_slice(&done.stdout).unwrap();
    let ids = ["paired/Best AES", "paired/Best Serpent"];
    let places: Vec<_> =
        whole.target.places().map(|p| (p.arm.as_str(), p.directory.as_str())).collect();
    assert_eq!(places, [(ids[0], one.as_str()), (ids[1], two.as_str())]);
    for workload in &whole.plan.workloads {
        for arm in &whole.plan.arms {
            assert_eq!(whole.trials_of(&workload.id, &arm.id).len(), 4, "{}", arm.id);
        }
    }
    for place in [&plain, &one, &two] {
        assert!(fs::read_dir(place).unwrap().next().is_none(), "{place} is as it was");
    }
    // Exported files distinguish the locations.
    let csv = s.run(&["report", &out, "--format", "csv", "--table", "cells"]);
    let csv = text(&csv.stdout);
    for id in ids {
        assert_eq!(csv.lines().filter(|line| line.contains(id)).count(), 8, "{id}: {csv}");
    }
    let parquet = s.out().join("trials.parquet").display().to_string();
    let done = s.run(&["report", &out, "--format", "parquet", "--output", &parquet]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(fs::read(&parquet).unwrap().ends_with(b"PAR1"), "a whole file");
    // The history compares each location with its own past.
    let database = s.out().join("history.sqlite").display().to_string();
    for _ in 0..2 {
        let added = s.run(&["history", "add", &out, "--database", &database]);
        assert!(added.status.success(), "{}", text(&added.stderr));
    }
    let checked = s.run(&["history", "check", "--database", &database, "--json"]);
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    let said = text(&checked.stdout);
    let names = ["\"Best AES\"", "\"Best Serpent\""];
    assert!(names.iter().all(|name| said.contains(name)), "{said}");
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
}

#[test]
fn what_would_not_be_comparable_is_not_gone_on_with() {
    let s = Sandbox::new();
    let out = s.out().display().to_string();
    killed(&s, &out, 45);
    let refused = |args: &[&str], code: i32, what: &str| {
        let done = s.run(args);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(what), "{args:?}: {said}");
        assert!(s.out().join(LOG).is_file(), "the log is kept");
    };
    refused(&["run", "--resume", &out, "--budget", "5s"], 2, "cannot be combined with --budget");
    refused(&["run", "--resume", &out, s.target().to_str().unwrap()], 2, "cannot be combined with");
    refused(&["run", "--resume", s.target().to_str().unwrap()], 5, "contains no log");
    // A different disk from the one in the log.
    let log = s.out().join(LOG);
    let whole = fs::read_to_string(&log).unwrap();
    let other = whole.replace("\"filesystem\":\"", "\"filesystem\":\"other-");
    fs::write(&log, other).unwrap();
    refused(&["run", "--resume", &out], 2, "the target changed");
    let after = fs::read_to_string(&log).unwrap();
    assert!(!after.contains("\"resumed\""), "what is refused did not go on: {after}");
    fs::write(&log, &whole).unwrap();
    // The user allows a different target to be overwritten than this run's.
    refused(&["run", "--resume", &out, "--quiet", "--destroy", "/nowhere"], 3, "/nowhere");
    // A log that another user wrote is not used.
    match chown(&log, Some(12_345), None) {
        Ok(()) => refused(&["run", "--resume", &out], 5, "can be changed by other users"),
        Err(_) => skipped("giving a file away needs root"),
    }
}

#[test]
fn the_newest_run_is_the_last() {
    let s = Sandbox::new();
    let none = s.run(&["report", "last"]);
    assert_eq!(none.status.code(), Some(5), "{}", text(&none.stderr));
    for _ in 0..2 {
        let done = s.run(&s.tiny(&["--quiet", "--systems", "plain"]));
        assert!(done.status.success(), "{}", text(&done.stderr));
        // The name of a run is the second in which it starts.
        let second = || UNIX_EPOCH.elapsed().unwrap().as_secs();
        let ended = second();
        wait_until("the next second", || second() > ended);
    }
    let runs = s.target().parent().unwrap().join("home/.local/share/cryptbench/runs");
    let newest = fs::read_dir(runs).unwrap().map(|e| e.unwrap().file_name()).max().unwrap();
    assert_eq!(reported(&s, "last").run_id, newest.to_str().unwrap());
}
