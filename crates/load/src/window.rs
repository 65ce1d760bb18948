//! The measured time: which completions count, and what they add up to.
//!
//! The window opens at the first completion after the ramp and closes at the first completion at
//! or after the planned duration; the completions after the opening one, up to and including the
//! closing one, count. A number of completions that begins and ends with a completion is free of
//! the bias that a fixed end has for few large requests: by Wald's identity the request that is
//! under way at the deadline must be included, since long requests are the likelier ones to be
//! under way. It also keeps a stall at the end of a trial from vanishing.
//!
//! Requests that are in flight together often complete together: then not single completions but whole
//! cycles of the queue are the renewals of that argument. Where one thread sees all completions, the window
//! therefore closes at the first completion at or after the planned duration that makes the count a multiple
//! of the queue depth. A trial shorter than a cycle is then right, too.
//!
//! The window of a slice opens at the completion that ends the first queue's worth of requests, which replaces the
//! ramp, and closes in the same way at the planned end, after two queues' worth at the earliest.
//!
//! A job of so many bytes has no window: it is measured from before its first request, and all of its
//! requests count.

mod measurement;
mod tally;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

pub use self::measurement::{Measurement, Sample};
pub(crate) use self::tally::{Moved, Tally};
use crate::clock::process_cpu_ns;
use crate::{Amount, Flush, Job, Operation};

const UNSET: u64 = u64::MAX;

/// Nanoseconds, bounded so that sums do not overflow.
fn ns(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(UNSET / 4).min(UNSET / 4)
}

/// Opens and closes the window, for any number of threads. Times are nanoseconds of one clock.
pub(crate) struct Gate {
    ramp: u64,
    /// From the opening of the window, or of a slice from its beginning.
    duration: u64,
    /// Completions of a slice before its window opens, the one that opens it included; 0 for a job with a ramp.
    lead: u64,
    /// Completions seen before the window opened.
    seen: AtomicU64,
    /// The window stays open until a thread has counted so many.
    least: u64,
    /// The count at the end is a multiple of this.
    cycle: u64,
    /// Every request counts, and the window ends with the last thread.
    whole: bool,
    flush_at_end: bool,
    ramp_end: AtomicU64,
    opened: AtomicU64,
    /// When the window is due to close.
    due: AtomicU64,
    closed: AtomicU64,
    cpu_opened: AtomicU64,
    cpu_closed: AtomicU64,
    /// Threads that have requests left.
    busy: AtomicU32,
    /// Threads that are not [idle](Sink::idle).
    active: AtomicU32,
    /// All that a whole job does was done.
    complete: AtomicBool,
}

impl Gate {
    /// For a slice of `duration` of a job that `threads` threads carry.
    pub(crate) fn of_slice(job: &Job, threads: u32, duration: Duration) -> Self {
        let depth = u64::from(job.queue_depth);
        Self {
            ramp: 0,
            duration: ns(duration),
            lead: depth * u64::from(job.threads),
            // Threads that carry one request each count few.
            least: if threads == job.threads { 2 * depth } else { 2 },
            whole: false,
            ..Self::new(job, threads)
        }
    }

    /// For a job that `threads` threads carry.
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

    /// Starts the ramp, or the slice; without either the window opens at once.
    pub(crate) fn begin(&self, now: u64) {
        if self.lead > 0 {
            self.due.store(now + self.duration, Relaxed);
        } else if self.ramp == 0 {
            self.open(now);
        }
        self.ramp_end.store(now + self.ramp, Relaxed);
    }

    /// Opens the window at `now`, or says when it was opened.
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

    /// From the opening of the window to `last`.
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

    /// Whether the window is open: what is not a request counts now.
    fn is_open(&self) -> bool {
        self.opened.load(Relaxed) != UNSET && !self.is_closed()
    }

    /// Opens or closes the window when it is time although no request completes. True if it closed.
    ///
    /// Not while any thread has a request in flight: that one is to be counted, and its completion does both.
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

    /// A thread has done all its requests. True for the last one if it has to flush.
    fn leave(&self) -> bool {
        if !self.whole || self.busy.fetch_sub(1, Relaxed) != 1 {
            return false;
        }
        if !self.flush_at_end {
            self.finish();
        }
        self.flush_at_end
    }

    /// The last request of a whole job, or the flush that ends it, is done.
    fn finish(&self) {
        self.cpu_closed.store(process_cpu_ns(), Relaxed);
        self.complete.store(true, Relaxed);
    }

    /// Whether a completion at `done` counts for a thread that counted `so_far`; opens or closes the window
    /// when it is time.
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
        // Of several threads, what completed before the closing one may be told of after it; one thread's
        // cycle is full.
        self.cycle == 1 && done <= closed
    }
}

/// A request that moved all its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed {
    pub(crate) operation: Operation,
    /// Bytes from the start of the extent.
    pub(crate) offset: u64,
    pub(crate) len: u32,
    /// For a write before the inline layer sealed it, for a read right before it was submitted.
    pub(crate) started: u64,
    /// When the kernel had taken it; 0 where that was not looked at.
    pub(crate) taken: u64,
    /// After the inline layer opened it.
    pub(crate) done: u64,
}

/// Told of completions by an engine. Each thread has its own.
pub(crate) trait Sink {
    /// A request completed.
    fn completed(&mut self, request: &Completed);

    /// No further request is wanted.
    fn finished(&self) -> bool;

    /// Nothing is in flight, and the next request is not due at `now`.
    fn idle(&mut self, now: u64) {
        let _ = now;
    }

    /// A request is issued after the sink was told of [idleness](Self::idle).
    fn resumed(&mut self) {}

    /// A flush ended at `done`.
    fn flushed(&mut self, done: u64) {
        let _ = done;
    }

    /// All requests of this thread are done, the last one at `done`. True if it is the last thread of a
    /// job that ends with a flush, which it is to do and tell.
    fn exhausted(&mut self, done: u64) -> bool {
        let _ = done;
        false
    }
}
