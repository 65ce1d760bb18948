//! Notices that the process did not run for a while: stopped (Ctrl-Z), paused with its container or its virtual machine, or
//! without a processor. A trial in which that happens measures nothing of the storage.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the thread looks at the clock.
const TICK: Duration = Duration::from_millis(100);

/// A gap between two ticks from which on the process is said to have been stopped: a busy machine gives a thread that slept
/// a processor sooner.
const GAP: Duration = Duration::from_millis(500);

/// The thread that looks at the clock, and what it noticed.
pub(super) struct Watch {
    seen: Arc<Mutex<Seen>>,
    /// Its end ends the thread.
    alive: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Seen {
    ticked: Instant,
    gaps: Duration,
}

impl Watch {
    pub(super) fn begin() -> Self {
        let seen = Arc::new(Mutex::new(Seen { ticked: Instant::now(), gaps: Duration::ZERO }));
        let (alive, ended) = channel();
        let noticed = Arc::clone(&seen);
        let watch = move || {
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                noticed.lock().unwrap_or_else(PoisonError::into_inner).tick(Instant::now());
            }
        };
        // Without the thread nothing is noticed, as before it was there.
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(watch).ok();
        Self { seen, alive: Some(alive), thread }
    }

    /// How long the process did not run since the last call; zero if it did.
    pub(super) fn gaps(&self) -> Duration {
        self.thread.as_ref().map_or(Duration::ZERO, |_| {
            // After a stop this thread may go on before the other one.
            if self.with(|seen| seen.ticked.elapsed()) > GAP {
                std::thread::sleep(2 * TICK);
            }
            self.with(|seen| std::mem::take(&mut seen.gaps))
        })
    }

    fn with<T>(&self, then: impl FnOnce(&mut Seen) -> T) -> T {
        then(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
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

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let watch = Watch::begin();
        std::thread::sleep(Duration::from_millis(250));
        assert!(watch.gaps() < Duration::from_secs(5));
    }
}
