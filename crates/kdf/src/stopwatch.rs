//! Measures the share of time that key derivation takes in a larger task, such as opening a volume.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time during which at least one key derivation was running.
///
/// This is wall-clock time: derivations that run simultaneously on several threads count once. It therefore never
/// exceeds the time of the surrounding task, and the difference is the time that the rest of the task takes.
#[derive(Debug, Default)]
pub struct Stopwatch(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    running: u32,
    /// Time at which `running` last left 0.
    since: Option<Instant>,
    total: Duration,
}

impl Stopwatch {
    /// A stopwatch at zero, to be passed to derivations by [`Effort::timed_by`](crate::Effort::timed_by).
    pub fn new() -> Self {
        Self::default()
    }

    /// The time so far, including derivations that are still running.
    pub fn elapsed(&self) -> Duration {
        let state = self.state();
        state.total + state.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Counts the time until the result is dropped.
    pub(crate) fn run(&self) -> Running<'_> {
        let mut state = self.state();
        state.running += 1;
        state.since.get_or_insert_with(Instant::now);
        Running(self)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Running<'a>(&'a Stopwatch);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running -= 1;
        if state.running == 0
            && let Some(since) = state.since.take()
        {
            state.total += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_at_once_counts_once() {
        let watch = Stopwatch::new();
        assert_eq!(watch.elapsed(), Duration::ZERO);
        let started = Instant::now();
        let (first, second) = (watch.run(), watch.run());
        std::thread::sleep(Duration::from_millis(20));
        drop(first);
        assert!(watch.elapsed() >= Duration::from_millis(20), "one is still running");
        drop(second);
        let (counted, passed) = (watch.elapsed(), started.elapsed());
        assert!(counted >= Duration::from_millis(20));
        assert!(counted <= passed, "{counted:?} of {passed:?}");
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(watch.elapsed(), counted, "nothing runs");
    }
}
