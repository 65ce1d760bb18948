//! The lane for requests that must wait or be copied: parts of sectors, and writes that meet one.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use super::session::Session;
use crate::stop::Stop;

/// A request with the buffer of its entry.
pub(super) struct Job {
    pub(super) entry: usize,
    pub(super) work: Work,
    /// The data of the entry, lent until the job is done.
    pub(super) data: *mut u8,
    pub(super) len: usize,
}

// SAFETY: the entry's owner leaves its data alone until the job is reported as done.
unsafe impl Send for Job {}

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Read { offset: u64 },
    Write { offset: u64, sync: bool },
    Fallocate { offset: u64, len: u64, mode: u32 },
}

/// Jobs that are done: the entry and what its reply says.
pub(super) struct Done {
    list: Mutex<Vec<(usize, Result<usize, Errno>)>>,
    event: OwnedFd,
}

impl Done {
    pub(super) fn new() -> std::io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { list: Mutex::default(), event })
    }

    /// All jobs done since the last call.
    pub(super) fn take(&self) -> Vec<(usize, Result<usize, Errno>)> {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
        std::mem::take(&mut *self.list.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, entry: usize, result: Result<usize, Errno>) {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).push((entry, result));
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }
}

impl AsFd for Done {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// A lane: where jobs are put in and taken out.
pub(super) fn lane() -> (Sender<Job>, Receiver<Job>) {
    channel()
}

/// Carries out jobs, one after another, until the sender is gone.
///
/// A job that panics is answered with `EIO`, and the lane goes on: its ring would otherwise wait for the
/// answer for ever.
pub(super) fn run(session: &Session, stop: &Stop, jobs: &Receiver<Job>, done: &Done) {
    while let Ok(job) = jobs.recv() {
        // SAFETY: `data` has `len` bytes, and they are this job's alone until it is reported; whoever
        // lent them leaves them mapped, should it end before that.
        let data = unsafe { std::slice::from_raw_parts_mut(job.data, job.len) };
        let work = || match job.work {
            Work::Read { offset } => session.read(offset, data),
            Work::Write { offset, sync } => session.write(offset, data, sync),
            Work::Fallocate { offset, len, mode } => session.fallocate(offset, len, mode, stop),
        };
        // What is shared with others is the device, whose business panics are, atomics, and stripes, which
        // are given back; the data of a failed job is not looked at.
        let result = catch_unwind(AssertUnwindSafe(work));
        done.put(job.entry, result.unwrap_or(Err(Errno::IO)));
    }
}
