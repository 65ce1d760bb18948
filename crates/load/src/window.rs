//! The measured window: which completions count, and their totals.
//!
//! The window opens at the first completion after the ramp and closes at the first completion at or after the planned
//! duration. All completions after the opening one are counted, up to and including the closing one. For small numbers
//! of large requests, a count that begins and ends with a completion has no bias, unlike a count with a fixed end. By
//! Wald's identity, the request in flight at the deadline must be counted, because long requests are more likely to be
//! in flight at that time. Counting it also ensures that a stall at the end of a trial is included.
//!
//! Requests that are in flight together often complete together. The argument above then applies to whole cycles of
//! the queue instead of individual completions. If one thread sees all completions, the window therefore closes at
//! the first completion at or after the planned duration that makes the count a multiple of the queue depth. This is
//! correct even for a trial shorter than a cycle.
//!
//! The window of a slice opens when as many requests as the queue depth have completed, which replaces the ramp. The
//! window closes at the planned end in the same way, but only after twice as many requests have been counted.
//!
//! A job with an amount of bytes has no window: the measurement starts before its first request, and all requests
//! count.

mod measurement;
mod tally;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

pub use self::measurement::{Measurement, Sample};
pub(crate) use self::tally::{Moved, Tally};
use crate::clock::process_cpu_ns;
use crate::{Amount, Flush, Job, Operation};

const UNSET: u64 = u64::MAX;

/// Nanoseconds, limited so that sums do not overflow.
fn ns(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(UNSET / 4).min(UNSET / 4)
}

/// Opens and closes the window, for any number of threads. All times are nanoseconds of the same clock.
pub(crate) struct Gate {
    ramp: u64,
    /// Measured from the opening of the window or, for a slice, from the start of the slice.
    duration: u64,
    /// Number of completions of a slice up to the completion that opens its window; 0 for a job with a ramp.
    lead: u64,
    /// Completions before the window opened.
    seen: AtomicU64,
    /// The window stays open at least until a thread has counted this many completions.
    least: u64,
    /// The final count must be a multiple of this number.
    cycle: u64,
    /// Whether every request counts and the window ends with the last thread.
    whole: bool,
    flush_at_end: bool,
    ramp_end: AtomicU64,
    opened: AtomicU64,
    /// The time at which the window should close.
    due: AtomicU64,
    closed: AtomicU64,
    cpu_opened: AtomicU64,
    cpu_closed: AtomicU64,
    /// Threads that still have requests.
    busy: AtomicU32,
    /// Threads that are not [idle](Sink::idle).
    active: AtomicU32,
    /// Whether a job that counts every request has completed.
    complete: AtomicBool,
}

impl Gate {
    /// A gate for a slice of `duration` of a job, executed by `threads` threads.
    pub(crate) fn of_slice(job: &Job, threads: u32, duration: Duration) -> Self {
        let depth = u64::from(job.queue_depth);
        Self {
            ramp: 0,
            duration: ns(duration),
            lead: depth * u64::from(job.threads),
            // If each thread has only one request in flight, it counts only a few completions.
            least: if threads == job.threads { 2 * depth } else { 2 },
            whole: false,
            ..Self::new(job, threads)
        }
    }

    /// A gate for a job executed by `threads` threads.
    pub(crate) fn new(job: &Job, threads: u32) -> Self {
        let unset = || AtomicU64::new(UNSET);
        let (ramp, duration, whole) = match job.amount {
            Amount::Time { ramp, duration } => (ns(ramp), ns(duration), false),
            Amount::Bytes(_) => (0, UNSET, true),
        };
        Self {
            ramp,
            duration,
            lead: 0,
            seen: AtomicU64::new(0),
            least: 0,
            cycle: match (threads, job.rate) {
                (1, None) => u64::from(job.queue_depth),
                _ => 1,
            },
            whole,
            flush_at_end: job.flush == Flush::AtEnd,
            ramp_end: unset(),
            opened: unset(),
            due: unset(),
            closed: unset(),
            cpu_opened: unset(),
            cpu_closed: unset(),
            busy: AtomicU32::new(threads),
            active: AtomicU32::new(threads),
            complete: AtomicBool::new(false),
        }
    }

    /// Starts the ramp or the slice. If there is neither, opens the window immediately.
    pub(crate) fn begin(&self, now: u64) {
        if self.lead > 0 {
            self.due.store(now + self.duration, Relaxed);
        } else if self.ramp == 0 {
            self.open(now);
        }
        self.ramp_end.store(now + self.ramp, Relaxed);
    }

    /// Opens the window at `now`; if the window is already open, returns the time at which it was opened.
    fn open(&self, now: u64) -> Option<u64> {
        if let Err(other) = self.opened.compare_exchange(UNSET, now, Relaxed, Relaxed) {
            return Some(other);
        }
        self.cpu_opened.store(process_cpu_ns(), Relaxed);
        if self.lead == 0 {
            self.due.store(now.saturating_add(self.duration), Relaxed);
        }
        None
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed) != UNSET
    }

    /// Time from the opening of the window to `last`.
    pub(crate) fn measured(&self, last: u64) -> Duration {
        Duration::from_nanos(last.saturating_sub(self.opened.load(Relaxed)))
    }

    /// CPU time of this process while the window was open.
    pub(crate) fn cpu(&self) -> Duration {
        let closed = match self.cpu_closed.load(Relaxed) {
            UNSET => process_cpu_ns(),
            closed => closed,
        };
        Duration::from_nanos(closed.saturating_sub(self.cpu_opened.load(Relaxed)))
    }

    /// Whether the window is open, for events other than requests.
    fn is_open(&self) -> bool {
        self.opened.load(Relaxed) != UNSET && !self.is_closed()
    }

    /// Opens or closes the window at the due time even if no request completes. Returns true if the call closed the
    /// window.
    ///
    /// Does nothing while any thread has a request in flight, because that request must be counted, and its
    /// completion opens or closes the window.
    fn expire(&self, now: u64) -> bool {
        if self.whole || now < self.ramp_end.load(Relaxed) || self.active.load(Relaxed) > 0 {
            return false;
        }
        if self.opened.load(Relaxed) == UNSET && self.open(now).is_none() {
            return false;
        }
        if now < self.due.load(Relaxed)
            || self.closed.compare_exchange(UNSET, now, Relaxed, Relaxed).is_err()
        {
            return false;
        }
        self.cpu_closed.store(process_cpu_ns(), Relaxed);
        true
    }

    /// Records that a thread has completed all of its requests. Returns true for the last thread if it must flush.
    fn leave(&self) -> bool {
        if !self.whole || self.busy.fetch_sub(1, Relaxed) != 1 {
            return false;
        }
        if !self.flush_at_end {
            self.finish();
        }
        self.flush_at_end
    }

    /// Records the end of a job without a window: its last request, or the flush that ends it.
    fn finish(&self) {
        self.cpu_closed.store(process_cpu_ns(), Relaxed);
        self.complete.store(true, Relaxed);
    }

    /// Whether a completion at `done` counts for a thread that has counted `so_far`. Opens or closes the window if it
    /// is time to do so.
    #[inline]
    fn counts(&self, done: u64, so_far: u64) -> bool {
        if self.whole {
            return true;
        }
        let mut opened = self.opened.load(Relaxed);
        if opened == UNSET {
            if done < self.ramp_end.load(Relaxed) {
                return false;
            }
            if self.lead > 0 && self.seen.fetch_add(1, Relaxed) + 1 < self.lead {
                return false;
            }
            match self.open(done) {
                None => return false,
                Some(other) => opened = other,
            }
        }
        if done <= opened {
            return false;
        }
        let mut closed = self.closed.load(Relaxed);
        if closed == UNSET {
            let counted = so_far + 1;
            if done < self.due.load(Relaxed)
                || counted < self.least
                || !counted.is_multiple_of(self.cycle)
            {
                return true;
            }
            match self.closed.compare_exchange(UNSET, done, Relaxed, Relaxed) {
                Ok(_) => {
                    self.cpu_closed.store(process_cpu_ns(), Relaxed);
                    return true;
                }
                Err(other) => closed = other,
            }
        }
        // With several threads, a completion that preceded the closing completion may be reported after it. With one
        // thread, the cycle is already complete.
        self.cycle == 1 && done <= closed
    }
}

/// A request whose bytes have all been transferred.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed {
    pub(crate) operation: Operation,
    /// Offset in bytes from the start of the extent.
    pub(crate) offset: u64,
    pub(crate) len: u32,
    /// Start time: for a write, the time before the inline layer sealed it; for a read, the time immediately before its
    /// submission.
    pub(crate) started: u64,
    /// Time at which the kernel had accepted the request; 0 if this time was not measured.
    pub(crate) taken: u64,
    /// Time at which the inline layer had opened the data.
    pub(crate) done: u64,
}

/// Receives completions from an engine. Each thread has its own sink.
pub(crate) trait Sink {
    /// Reports a completed request.
    fn completed(&mut self, request: &Completed);

    /// Whether the sink does not need further requests.
    fn finished(&self) -> bool;

    /// Reports that no request is in flight and the next request is not yet due at `now`.
    fn idle(&mut self, now: u64) {
        let _ = now;
    }

    /// Reports that a request is submitted after [idleness](Self::idle).
    fn resumed(&mut self) {}

    /// Reports that a flush ended at `done`.
    fn flushed(&mut self, done: u64) {
        let _ = done;
    }

    /// Reports that all requests of this thread have completed, the last request at `done`. Returns true for the last
    /// thread of a job that ends with a flush: the thread must then flush and report it.
    fn exhausted(&mut self, done: u64) -> bool {
        let _ = done;
        false
    }
}
