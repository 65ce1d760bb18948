//! The contents of a disc's write cache: runs of bytes in order of arrival, with adjacent runs joined.

use std::collections::VecDeque;

/// A run of bytes that are not yet on the disc.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    /// The time at which the run's first byte arrived.
    pub(super) since: f64,
}

/// All runs in the cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    runs: VecDeque<Run>,
    bytes: u64,
}

impl Pending {
    /// Joins a write to a run that it continues or overwrites, or starts a new run.
    pub(super) fn add(&mut self, offset: u64, bytes: u64, now: f64) {
        let end = offset + bytes;
        for run in self.runs.iter_mut().rev() {
            let run_end = run.offset + run.bytes;
            if offset <= run_end && end >= run.offset {
                let joined = (offset.min(run.offset), end.max(run_end));
                self.bytes += (joined.1 - joined.0) - run.bytes;
                (run.offset, run.bytes) = (joined.0, joined.1 - joined.0);
                return;
            }
        }
        self.bytes += bytes;
        self.runs.push_back(Run { offset, bytes, since: now });
    }

    /// Removes up to `most` bytes: from a run that begins under the head, otherwise from the oldest run.
    pub(super) fn take(&mut self, head: u64, most: u64) -> Option<Run> {
        let index = self.runs.iter().position(|run| run.offset == head).unwrap_or(0);
        let run = self.runs.get_mut(index)?;
        let taken = Run { bytes: run.bytes.min(most), ..*run };
        run.offset += taken.bytes;
        run.bytes -= taken.bytes;
        if run.bytes == 0 {
            self.runs.remove(index);
        }
        self.bytes -= taken.bytes;
        Some(taken)
    }

    /// Whether the cache holds all of these bytes.
    pub(super) fn holds(&self, offset: u64, bytes: u64) -> bool {
        let end = offset + bytes;
        self.runs.iter().any(|run| run.offset <= offset && end <= run.offset + run.bytes)
    }

    /// The time at which the oldest run arrived.
    pub(super) fn first_since(&self) -> Option<f64> {
        self.runs.front().map(|run| run.since)
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
