//! The time of a run: a flag stops the current stage at the user's request, or when its part of the budget is
//! used up.
//!
//! The thread that sets it also notices that the process did not run for a while: stopped (Ctrl-Z), paused with its
//! container or its virtual machine, or without a CPU. A trial in which that happens shows nothing about the storage.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

/// Interval at which the thread checks the flag and the time.
const TICK: Duration = Duration::from_millis(100);

/// A process counts as suspended if such a check is delayed by at least this time: even a busy machine schedules a
/// sleeping thread sooner.
const GAP: Duration = Duration::from_millis(500);

/// The clock of a run, and the flag that ends its parts.
pub(crate) struct RunTime<'a> {
    pub(crate) started: Instant,
    /// Set when the user asks to stop.
    stop: &'a AtomicBool,
    /// Set when either the user has asked or the time is up.
    ended: AtomicBool,
    /// When the current part must end.
    end: Mutex<Option<Instant>>,
    seen: Mutex<Seen>,
}

/// When the thread last checked, and how long the process did not run.
struct Seen {
    ticked: Instant,
    gaps: Duration,
}

impl Seen {
    fn tick(&mut self, now: Instant) {
        let gap = now.saturating_duration_since(self.ticked);
        if gap > TICK + GAP {
            self.gaps += gap - TICK;
        }
        self.ticked = now;
    }
}

impl<'a> RunTime<'a> {
    /// Starts now; only `stop` ends the run until it is given a time limit.
    pub(crate) fn begin(stop: &'a AtomicBool) -> Self {
        let ended = AtomicBool::new(stop.load(Ordering::Relaxed));
        let started = Instant::now();
        let seen = Mutex::new(Seen { ticked: started, gaps: Duration::ZERO });
        Self { started, stop, ended, end: Mutex::new(None), seen }
    }

    /// Sets the flag in time from a thread of `scope`, as long as the returned guard exists.
    pub(crate) fn watch<'s>(&'s self, scope: &'s Scope<'s, '_>) -> Sender<()> {
        let (watched, is_over) = channel();
        scope.spawn(move || {
            while is_over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                self.look();
            }
        });
        watched
    }

    fn look(&self) {
        let now = Instant::now();
        held(&self.seen).tick(now);
        let is_late = held(&self.end).is_some_and(|end| now >= end);
        if is_late || self.is_stopped() {
            self.ended.store(true, Ordering::Relaxed);
        }
    }

    /// Limits the current part of the run to this time after the start of the run; `None` removes the limit.
    pub(crate) fn end_after(&self, length: Option<Duration>) {
        *held(&self.end) = length.and_then(|length| self.started.checked_add(length));
        self.ended.store(self.is_stopped(), Ordering::Relaxed);
    }

    /// Ends the current part of the run this long after the start of the run, if its current limit is later.
    pub(crate) fn end_sooner(&self, length: Duration) {
        let mut end = held(&self.end);
        if let (Some(end), Some(sooner)) = (end.as_mut(), self.started.checked_add(length)) {
            *end = sooner.min(*end);
        }
    }

    /// The flag that stops the current stage.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.ended
    }

    /// Whether the user asked to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the time for the current part is up, without a request to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed) && !self.is_stopped()
    }

    /// Time for which the process was suspended since the last call, as far as it was detected.
    pub(crate) fn gaps(&self) -> Duration {
        // After a suspension, this thread may continue before the thread that checks.
        let since = held(&self.seen).ticked.elapsed();
        if since > GAP {
            thread::sleep(2 * TICK);
        }
        std::mem::take(&mut held(&self.seen).gaps)
    }
}

fn held<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a function that stops when its flag is set: after `limit`, or once `stop` is set.
pub(crate) fn within<T>(
    limit: Duration,
    stop: &AtomicBool,
    act: impl FnOnce(&AtomicBool) -> T,
) -> T {
    let time = RunTime::begin(stop);
    time.end_after(Some(limit));
    thread::scope(|scope| {
        let _watched = time.watch(scope);
        act(time.flag())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until_stopped(stop: &AtomicBool) -> bool {
        let began = Instant::now();
        while !stop.load(Ordering::Relaxed) && began.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(1));
        }
        stop.load(Ordering::Relaxed)
    }

    #[test]
    fn what_takes_too_long_is_ended_and_so_it_is_with_the_run() {
        let run = AtomicBool::new(false);
        assert!(within(Duration::from_millis(50), &run, until_stopped));
        assert!(!run.load(Ordering::Relaxed), "the run goes on");
        assert!(!within(Duration::from_secs(60), &run, |stop| stop.load(Ordering::Relaxed)));
        run.store(true, Ordering::Relaxed);
        assert!(within(Duration::from_secs(60), &run, until_stopped));
    }

    #[test]
    fn the_end_of_a_part_is_none_of_the_next_and_the_users_is_that_of_all() {
        let stop = AtomicBool::new(false);
        let time = RunTime::begin(&stop);
        time.end_after(Some(Duration::ZERO));
        time.look();
        assert!(time.flag().load(Ordering::Relaxed) && time.is_over());
        time.end_after(Some(Duration::from_secs(3600)));
        time.look();
        assert!(!time.flag().load(Ordering::Relaxed));
        time.end_sooner(Duration::ZERO);
        time.end_sooner(Duration::from_secs(7200));
        time.look();
        assert!(time.is_over());
        time.end_after(None);
        time.end_sooner(Duration::ZERO);
        time.look();
        assert!(!time.flag().load(Ordering::Relaxed), "a run that goes on has no end");
        stop.store(true, Ordering::Relaxed);
        time.look();
        assert!(time.is_stopped() && !time.is_over());
        time.end_after(None);
        assert!(time.flag().load(Ordering::Relaxed));
    }

    #[test]
    fn long_gaps_are_added_up_and_short_ones_are_none() {
        let start = Instant::now();
        let mut seen = Seen { ticked: start, gaps: Duration::ZERO };
        let at = |ms| start + Duration::from_millis(ms);
        for ms in [100, 350, 450] {
            seen.tick(at(ms));
        }
        assert_eq!(seen.gaps, Duration::ZERO);
        seen.tick(at(6550));
        assert_eq!(seen.gaps, Duration::from_secs(6));
    }

    #[test]
    fn a_process_that_runs_has_no_gaps() {
        let stop = AtomicBool::new(false);
        let time = RunTime::begin(&stop);
        thread::scope(|scope| {
            let _watched = time.watch(scope);
            thread::sleep(Duration::from_millis(250));
            assert!(time.gaps() < Duration::from_secs(5));
        });
    }
}
