//! Signals and kill -9: nothing is left behind, and the measurements so far are kept.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::sandbox::waiting::{wait_for_trials, wait_until};
use crate::sandbox::{Sandbox, text};
use rustix::process::{Pid, Signal, kill_process};

fn start(s: &Sandbox) -> Child {
    let out = s.out().display().to_string();
    let args = [
        "run",
        "--builtin-only",
        "--size",
        "64MiB",
        "--trial",
        "20ms",
        "--budget",
        "60s",
        "--precision",
        "0.01%",
        "--output",
        &out,
    ];
    s.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn signals_end_the_run_soon_with_a_partial_record_and_nothing_left() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let s = Sandbox::new();
        let mut child = start(&s);
        wait_for_trials(&mut child, &s.out(), 20);
        let sent = Instant::now();
        send(&child, signal);
        let done = child.wait_with_output().unwrap();
        // The program promises to stop within a second. This limit tolerates a busy machine, but not a hang.
        assert!(sent.elapsed() < Duration::from_secs(10), "took {:?}", sent.elapsed());
        let stderr = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains("partial"), "{stderr}");
        let record = cryptbench_record::read(&s.out()).unwrap();
        assert!(record.partial && !record.trials.is_empty());
        assert!(
            text(&done.stdout).contains("The run ended early"),
            "the answer is printed all the same"
        );
        assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
    }
}

#[test]
fn kill_9_at_any_moment_leaves_nothing_after_cleanup() {
    // Moments from the start of the process until well into the trials. They are closer together at the beginning,
    // when journal and scratch file are created.
    for i in 0..20u64 {
        let s = Sandbox::new();
        let mut child = start(&s);
        std::thread::sleep(Duration::from_millis(i * i * 5));
        child.kill().unwrap();
        child.wait().unwrap();
        let cleaned = s.run(&["cleanup"]);
        assert!(cleaned.status.success(), "{}", text(&cleaned.stderr));
        assert!(s.left_behind().is_empty(), "killed after {} ms: {:?}", i * i * 5, s.left_behind());
    }
}

#[test]
fn the_next_run_removes_what_a_killed_one_left() {
    let s = Sandbox::new();
    let mut child = start(&s);
    wait_until("something is set up", || {
        assert!(child.try_wait().unwrap().is_none(), "the run ended by itself");
        s.left_behind().len() >= 2
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!s.left_behind().is_empty());
    let next = s.run(&s.tiny(&["--system", "plain"]));
    assert!(next.status.success(), "{}", text(&next.stderr));
    assert!(text(&next.stderr).contains("left by a killed run"), "{}", text(&next.stderr));
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
}

#[test]
fn cleanup_leaves_a_living_run_alone() {
    let s = Sandbox::new();
    let mut child = start(&s);
    wait_until("something is set up", || {
        assert!(child.try_wait().unwrap().is_none(), "the run ended by itself");
        s.left_behind().len() >= 2
    });
    let before = s.left_behind();
    let cleaned = s.run(&["cleanup"]);
    assert!(text(&cleaned.stdout).contains("nothing was left behind"));
    let after = s.left_behind();
    assert!(before.iter().all(|path| after.contains(path)), "{before:?}, then {after:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}
