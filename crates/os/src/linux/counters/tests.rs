//! Tests the account with threads and processes whose CPU time is known.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Barrier};
use std::thread::{Builder, JoinHandle};

use rustix::time::ClockId;

use super::*;

/// CPU nanoseconds that each thread uses: thirty clock ticks.
const WORK: u64 = 300_000_000;

/// Tolerance for the time of one process in seconds. `times`, and the kernel for children that
/// ended, count user and system time in whole ticks of 10 ms at both ends. Starting and ending
/// takes time as well.
const CLOSE_S: f64 = 0.05;

const WORK_S: f64 = WORK as f64 / 1e9;

/// Whether this process runs only the test with this name; otherwise runs the test in such a
/// process. Threads of other tests that end meanwhile would count as the generator's.
fn alone(test: &str) -> bool {
    const ALONE: &str = "CRYPTBENCH_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&format!("{module}::{test}"), "--exact"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

fn burn() {
    let end = task::nanoseconds(ClockId::ThreadCPUTime) + WORK;
    while task::nanoseconds(ClockId::ThreadCPUTime) < end {
        std::hint::spin_loop();
    }
}

/// A thread that uses CPU time and then lives until the barrier opens.
fn burning(name: &str, done: &Arc<Barrier>, release: &Arc<Barrier>) -> JoinHandle<()> {
    let (done, release) = (Arc::clone(done), Arc::clone(release));
    let body = move || {
        burn();
        done.wait();
        release.wait();
    };
    Builder::new().name(name.to_owned()).spawn(body).unwrap()
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= CLOSE_S
}

/// A shell that waits for a line, runs `work`, prints its own or its children's time and waits
/// again.
struct Shell {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Shell {
    fn start(script: &str) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn go(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    /// Reads the next line: user and system time as printed by `times`, `0m0.310000s 0m0.020000s`.
    fn seconds(&mut self) -> f64 {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let one = |t: &str| {
            let (minutes, seconds) = t.strip_suffix('s').unwrap().split_once('m').unwrap();
            minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
        };
        line.split_whitespace().map(one).sum()
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

const LOOP: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";

#[test]
fn parts_are_told_apart_and_add_up() {
    if !alone("parts_are_told_apart_and_add_up") {
        return;
    }
    // The inner shell does the work; it is a descendant of the watched one.
    let mut shell = Shell::start(&format!("read go; sh -c '{LOOP}; times; read end'; :"));
    let mut counters = Counters::new(None, &["serve-"]);
    counters.watch(shell.child.id());
    let (done, release) = (Arc::new(Barrier::new(4)), Arc::new(Barrier::new(4)));

    let before = counters.snapshot();
    shell.go();
    let threads = ["load-x", "serve-x", "elsewhere"].map(|name| burning(name, &done, &release));
    done.wait();
    let child_s = shell.seconds();
    let passed = counters.passed(&before);
    release.wait();
    for thread in threads {
        thread.join().unwrap();
    }
    shell.end();

    let parts = &passed;
    assert!(child_s > CLOSE_S, "the shell worked for {child_s} s only");
    assert!(close(parts.generator_s, WORK_S), "{parts:?}");
    assert!(close(parts.daemons_s, WORK_S + child_s), "child {child_s}, {parts:?}");
    let sum = parts.generator_s + parts.daemons_s + parts.kernel_s + parts.other_s;
    assert!((sum - passed.busy_s).abs() < 1e-9, "{sum} of {}", passed.busy_s);
    // The third thread counts in the rest, whatever else the machine did. Each CPU is sampled
    // at its ticks, and time stolen from a task is in its account.
    let tick_per_cpu = 0.01 * std::thread::available_parallelism().unwrap().get() as f64;
    let least = WORK_S - tick_per_cpu - CLOSE_S - parts.stolen_s.unwrap_or(0.0);
    assert!(parts.other_s >= least, "{parts:?}");
}

#[test]
fn threads_and_children_that_ended_are_not_lost() {
    if !alone("threads_and_children_that_ended_are_not_lost") {
        return;
    }
    let script = format!("read go; sh -c '{LOOP}; times; :'; echo; read end");
    let mut shell = Shell::start(&script);
    let mut counters = Counters::new(None, &[]);
    counters.watch(shell.child.id());
    let before = counters.snapshot();
    shell.go();
    Builder::new().name("load-1".to_owned()).spawn(burn).unwrap().join().unwrap();
    let child_s = shell.seconds();
    // `times` also prints the time of the inner shell's children, and the empty line shows that the
    // shell has waited for it.
    shell.seconds();
    shell.seconds();
    let passed = counters.passed(&before);
    shell.end();
    let parts = &passed;
    assert!(close(parts.generator_s, WORK_S), "{parts:?}");
    assert!(close(parts.daemons_s, child_s), "child {child_s}, {parts:?}");
}

#[test]
fn a_child_that_is_not_watched_counts_once_it_was_waited_for() {
    if !alone("a_child_that_is_not_watched_counts_once_it_was_waited_for") {
        return;
    }
    let mut shell = Shell::start(&format!("read go; {LOOP}; times; read end"));
    let mut counters = Counters::new(None, &[]);
    counters.watch(shell.child.id());
    counters.forget_watched();
    let before = counters.snapshot();
    shell.go();
    let child_s = shell.seconds();
    assert_eq!(counters.passed(&before).daemons_s, 0.0);
    shell.end();
    let parts = counters.passed(&before);
    assert!(close(parts.daemons_s, child_s), "child {child_s}, {parts:?}");
    // It counts once, whether watched or not.
    let mut counters = Counters::new(None, &[]);
    let mut shell =
        Shell::start(&format!("read go; {LOOP}; times; read on; {LOOP}; times; read end"));
    counters.watch(shell.child.id());
    shell.go();
    let first_s = shell.seconds();
    shell.seconds();
    let before = counters.snapshot();
    shell.go();
    let second_s = shell.seconds() - first_s;
    shell.end();
    let parts = counters.passed(&before);
    assert!(close(parts.daemons_s, second_s), "child {second_s}, {parts:?}");
}

#[test]
fn the_idle_baseline_is_taken_off_by_the_time() {
    let cpus = std::thread::available_parallelism().unwrap().get() as f64;
    let mut counters = Counters::new(None, &[]);
    // Less than nothing, so that what the machine really does is small beside it.
    counters.idle = Idle { busy: -20.0 * cpus, kernel: -10.0 * cpus };
    let before = counters.snapshot();
    burn();
    let passed = counters.passed(&before);
    let (wall_s, parts) = (passed.wall_s, &passed);
    let per_cpu_s = |s: f64| s / wall_s / cpus;
    // Nothing takes more than all CPUs, the sampling of the ticks aside.
    assert!((20.0..21.5).contains(&per_cpu_s(passed.busy_s)), "{passed:?}");
    assert!((10.0..11.5).contains(&per_cpu_s(parts.kernel_s)), "{passed:?}");
    let sum = parts.generator_s + parts.daemons_s + parts.kernel_s + parts.other_s;
    assert!((sum - passed.busy_s).abs() < 1e-9, "{sum} of {}", passed.busy_s);
    // A machine that idles more than at the baseline has used less than nothing: to cut that off would make the sum of
    // many trials too large.
    counters.idle = Idle { busy: 1e6, kernel: 1e6 };
    let passed = counters.passed(&before);
    let near = |s: f64| (s / passed.wall_s + 1e6).abs() < 100.0 * cpus;
    assert!(near(passed.busy_s) && near(passed.kernel_s), "{passed:?}");
}

/// `cargo test --release -p cryptbench-os --lib snapshot_costs -- --ignored --nocapture`
#[test]
#[ignore = "prints the cost of a snapshot on this machine"]
fn snapshot_costs() {
    let mut counters = Counters::new(None, &[]);
    for watched in ["nothing", "all processes"] {
        // CPU time, which other programs do not affect.
        let mut costs: Vec<Duration> = (0..200)
            .map(|_| {
                let start = task::nanoseconds(ClockId::ThreadCPUTime);
                let _ = std::hint::black_box(counters.snapshot());
                Duration::from_nanos(task::nanoseconds(ClockId::ThreadCPUTime) - start)
            })
            .collect();
        costs.sort();
        let snapshot = counters.snapshot();
        eprintln!(
            "watching {watched}: {} kernel threads, {} processes: median {:?}, 95 % {:?}",
            snapshot.wide.kernel.len(),
            snapshot.wide.daemons.len(),
            costs[100],
            costs[190],
        );
        counters.watch(1);
    }
}
