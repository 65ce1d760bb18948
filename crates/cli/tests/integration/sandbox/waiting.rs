//! Waits, with a time limit, for what a test needs.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

/// Long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);

/// Waits until a condition holds; `what` describes it.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < until, "not: {what}");
        std::thread::sleep(POLL);
    }
}

/// Waits until the log of a run in `out` contains this many trials of blocks.
pub fn wait_for_trials(run: &mut Child, out: &Path, trials: usize) {
    wait_until(&format!("{trials} trials"), || {
        assert!(run.try_wait().unwrap().is_none(), "it ended before {trials} trials");
        trials_in(out) >= trials
    });
}

/// The number of trials of blocks in the log of a run in `out`.
pub fn trials_in(out: &Path) -> usize {
    let log = fs::read_to_string(out.join("trials.jsonl")).unwrap_or_default();
    log.matches("\"event\":\"measured\"").count()
}

/// Waits until a process has a file open.
pub fn wait_for_open(process: &mut Child, file: &Path) {
    let descriptors = format!("/proc/{}/fd", process.id());
    wait_until(&format!("{} is open", file.display()), || {
        assert!(process.try_wait().unwrap().is_none(), "it ended");
        let links = fs::read_dir(&descriptors).into_iter().flatten().flatten();
        links.flat_map(|link| fs::read_link(link.path())).any(|link| link == file)
    });
}
