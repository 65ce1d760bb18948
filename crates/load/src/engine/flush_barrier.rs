//! Flushes after every n writes of a job's thread that is executed by several system threads.

use std::sync::{Condvar, Mutex, PoisonError};

use super::STOP_POLL;
use super::transfer::FlushEvery;
use crate::Operation;

/// Holds back requests while a flush is running, or is waiting for earlier requests.
pub(super) struct FlushBarrier {
    every: FlushEvery,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Writes since the last flush.
    writes: u32,
    in_flight: u32,
}

/// What a thread must do before it submits a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Submit,
    /// Flush, then check again.
    Flush,
    /// Leave: the job has finished.
    Leave,
}

impl FlushBarrier {
    pub(super) fn new(every: FlushEvery) -> Self {
        Self { every, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits until the caller may submit its next request.
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

    /// Reports a completed request. Returns true if a flush is due and no other request is in flight: the caller must
    /// then flush.
    pub(super) fn leave(&self) -> bool {
        if !self.every.drained {
            return false;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.in_flight -= 1;
        state.in_flight == 0 && state.writes >= self.every.writes
    }

    /// Reports that the flush has completed.
    pub(super) fn flushed(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).writes = 0;
        self.changed.notify_all();
    }
}
