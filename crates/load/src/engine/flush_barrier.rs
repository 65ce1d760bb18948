//! Writes of one thread of a job that several system threads carry, with a flush after every so many.

use std::sync::{Condvar, Mutex, PoisonError};

use super::STOP_POLL;
use super::transfer::FlushEvery;
use crate::Operation;

/// Holds requests back while those before a flush are awaited, and during the flush.
pub(super) struct FlushBarrier {
    every: FlushEvery,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Since the last flush.
    writes: u32,
    in_flight: u32,
}

/// What a thread is to do that has a request to issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Submit,
    /// To flush, and to ask again.
    Flush,
    /// Nothing: the job is over.
    Leave,
}

impl FlushBarrier {
    pub(super) fn new(every: FlushEvery) -> Self {
        Self { every, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits until the next request may be issued.
    pub(super) fn enter(&self, operation: Operation, over: impl Fn() -> bool) -> Entry {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.writes >= self.every.writes {
            if !self.every.drained {
                state.writes = 0;
                return Entry::Flush;
            }
            if over() {
                return Entry::Leave;
            }
            let wait = self.changed.wait_timeout(state, STOP_POLL);
            (state, _) = wait.unwrap_or_else(PoisonError::into_inner);
        }
        state.writes += u32::from(operation == Operation::Write);
        state.in_flight += 1;
        Entry::Submit
    }

    /// A request is complete. True if it was the last one before a flush with nothing else in flight, which
    /// the caller is to do.
    pub(super) fn leave(&self) -> bool {
        if !self.every.drained {
            return false;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.in_flight -= 1;
        state.in_flight == 0 && state.writes >= self.every.writes
    }

    /// The flush is done.
    pub(super) fn flushed(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).writes = 0;
        self.changed.notify_all();
    }
}
