//! Counts a server's requests.

use std::sync::atomic::{AtomicU64, Ordering};

/// The work of a server so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Read requests.
    pub reads: u64,
    /// Bytes that they requested.
    pub read_bytes: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes that they transferred.
    pub written_bytes: u64,
    /// Flush requests.
    pub flushes: u64,
    /// Requests that failed with an I/O error.
    pub errors: u64,
}

/// The counters behind [`Stats`].
#[derive(Default)]
pub(crate) struct Counters {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    flushes: AtomicU64,
    errors: AtomicU64,
}

impl Counters {
    pub(crate) fn read(&self, bytes: usize) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.read_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn write(&self, bytes: usize) {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn flush(&self) {
        self.flushes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn error(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            reads: get(&self.reads),
            read_bytes: get(&self.read_bytes),
            writes: get(&self.writes),
            written_bytes: get(&self.written_bytes),
            flushes: get(&self.flushes),
            errors: get(&self.errors),
        }
    }
}
