//! The slow lane, for requests that would block a ring: requests for parts of sectors, writes that conflict with such
//! a request, and long requests for which no other thread is free.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use crate::served::Served;
use crate::stop::Stop;

/// A request together with its slot's buffer.
pub(crate) struct Job {
    pub(crate) slot: usize,
    pub(crate) work: Work,
    /// The slot's data, lent until the job is finished.
    pub(crate) data: *mut u8,
    pub(crate) len: usize,
}

// SAFETY: the slot's owner does not access the data until the job is reported as finished.
unsafe impl Send for Job {}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    Read { offset: u64 },
    Write { offset: u64, sync: bool },
    Zero { offset: u64, len: u64, may_discard: bool },
}

/// A message from another thread to a ring about one of its slots.
pub(crate) enum Outcome<B> {
    /// The job is finished, with this result for the reply.
    Finished(Result<usize, Errno>),
    /// The slot's memory is returned, together with a new request.
    Returned(B),
    /// The kernel has released the slot.
    Released,
}

/// Messages from other threads to a ring.
pub(crate) struct Done<B> {
    list: Mutex<Vec<(usize, Outcome<B>)>>,
    event: OwnedFd,
}

impl<B> Done<B> {
    pub(crate) fn new() -> std::io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { list: Mutex::default(), event })
    }

    /// All messages since the last call.
    pub(crate) fn take(&self) -> Vec<(usize, Outcome<B>)> {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
        std::mem::take(&mut *self.list.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn put(&self, slot: usize, outcome: Outcome<B>) {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).push((slot, outcome));
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }
}

impl<B> AsFd for Done<B> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// Creates a lane: an end for submitting jobs, and an end from which any number of threads can receive jobs.
pub(crate) fn lane() -> (Sender<Job>, Mutex<Receiver<Job>>) {
    let (jobs, lane) = channel();
    (jobs, Mutex::new(lane))
}

/// Executes jobs one after another until the sender is gone.
///
/// If a job panics, its reply is `EIO` and the lane continues. Otherwise the job's ring would wait for the result for
/// ever.
pub(crate) fn run<B>(served: &Served, stop: &Stop, jobs: &Mutex<Receiver<Job>>, done: &Done<B>) {
    // A thread holds the lock while it waits for a job, but not while it executes a job.
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(job) = next() {
        // SAFETY: `data` has `len` bytes, which belong to this job until it is reported as finished. The owner of these
        // bytes keeps them mapped even if it exits earlier.
        let data = unsafe { std::slice::from_raw_parts_mut(job.data, job.len) };
        let work = || match job.work {
            Work::Read { offset } => served.read(offset, data),
            Work::Write { offset, sync } => served.write(offset, data, sync),
            Work::Zero { offset, len, may_discard } => served.zero(offset, len, may_discard, stop),
        };
        // The shared state consists of the device, which handles panics itself, of atomics, and of stripes, which are
        // released. The data of a failed job is not used.
        let result = catch_unwind(AssertUnwindSafe(work));
        done.put(job.slot, Outcome::Finished(result.unwrap_or(Err(Errno::IO))));
    }
}
