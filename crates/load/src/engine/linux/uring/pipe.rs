//! The two queues of a ring in use, with functions that wait for completions.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, SubmissionQueue, Submitter, opcode, squeue};

use super::session::Session;
use crate::LoadError;
use crate::clock::Clock;
use crate::engine::{STOP_PATIENCE, STOP_POLL};

/// Marks the completion of a [`tick`]. Requests carry their slot number instead.
pub(super) const TICK: u64 = u64::MAX;

/// Marks the completion of a flush.
const FLUSH: u64 = u64::MAX - 1;

/// The queues of a session's ring.
pub(super) struct Pipe<'a> {
    pub(super) submitter: Submitter<'a>,
    pub(super) sq: SubmissionQueue<'a>,
    pub(super) cq: CompletionQueue<'a>,
    pub(super) in_flight: &'a mut usize,
    pub(super) ticking: &'a mut bool,
    /// Whether completions are polled. Such a ring supports only reads and writes.
    polled: bool,
    /// Whether a wait can have a timeout.
    timed: bool,
}

impl<'a> Pipe<'a> {
    pub(super) fn new(session: &'a mut Session) -> Self {
        let timed = session.ring.params().is_feature_ext_arg();
        let polled = session.polled;
        let (in_flight, ticking) = (&mut session.in_flight, &mut session.ticking);
        let (submitter, sq, cq) = session.ring.split();
        Self { submitter, sq, cq, in_flight, ticking, polled, timed }
    }

    /// Submits the queued requests without waiting. Requests that the kernel refuses stay queued,
    /// and the next waiting call returns the reason.
    #[inline]
    pub(super) fn submit(&mut self) {
        self.sq.sync();
        let _ = self.submitter.submit();
        self.sq.sync();
    }

    /// Submits the queued requests and waits for a completion, for at most `pause` nanoseconds if
    /// given, otherwise [`STOP_POLL`].
    #[inline]
    pub(super) fn wait(&mut self, pause: Option<u64>) -> io::Result<()> {
        if !*self.ticking && !self.polled {
            // SAFETY: the operation refers only to a static variable.
            *self.ticking = unsafe { self.sq.push(&tick()) }.is_ok();
        }
        self.sq.sync();
        let waited = match pause {
            None => self.submitter.submit_and_wait(1),
            Some(ns) if self.timed && !self.polled => {
                let time =
                    Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
                self.submitter.submit_with_args(1, &SubmitArgs::new().timespec(&time))
            }
            Some(_) => self.submitter.submit_and_wait(0),
        };
        if let Err(e) = waited
            && !is_passing(&e)
        {
            return Err(e);
        }
        self.sq.sync();
        self.cq.sync();
        Ok(())
    }

    /// Flushes the file while no other request is in flight. Returns false if `stop` was set and the flush did not
    /// complete in time; the flush is then still in flight.
    ///
    /// A polled ring cannot flush.
    pub(super) fn flush(
        &mut self,
        (file, fixed): (RawFd, bool),
        data_only: bool,
        clock: &Clock,
        stop: &AtomicBool,
    ) -> Result<bool, LoadError> {
        let flags = if data_only { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
        let entry = match fixed {
            true => opcode::Fsync::new(Fixed(0)).flags(flags).build(),
            false => opcode::Fsync::new(Fd(file)).flags(flags).build(),
        };
        // SAFETY: the operation does not refer to memory, only to a file that the caller keeps open.
        unsafe { self.sq.push(&entry.user_data(FLUSH)) }.expect("nothing else is queued");
        *self.in_flight += 1;
        let mut stopped = None;
        while *self.in_flight > 0 {
            if let Err(source) = self.wait(None) {
                return Err(LoadError::Setup { what: "waiting for io_uring", source });
            }
            let mut result = 0;
            for completion in &mut self.cq {
                if completion.user_data() == TICK {
                    *self.ticking = false;
                } else {
                    *self.in_flight -= 1;
                    result = completion.result();
                }
            }
            self.cq.sync();
            if result < 0 {
                return Err(LoadError::Sync { source: io::Error::from_raw_os_error(-result) });
            }
            let now = clock.ns();
            if stop.load(Relaxed) {
                let since = *stopped.get_or_insert(now);
                if now - since > STOP_PATIENCE.as_nanos() as u64 {
                    break;
                }
            }
        }
        Ok(*self.in_flight == 0)
    }

    /// Whether flushes are submitted through the ring.
    pub(super) fn can_flush(&self) -> bool {
        !self.polled
    }
}

/// A request that completes after [`STOP_POLL`], which bounds every wait.
///
/// A timeout on each wait would arm and cancel a timer per wait, which takes tenths of a microsecond, and longer in
/// virtual machines.
fn tick() -> squeue::Entry {
    static POLL: Timespec = Timespec::new().nsec(STOP_POLL.subsec_nanos());
    opcode::Timeout::new(&raw const POLL).build().user_data(TICK)
}

/// Whether to reap completions and try again: a signal or the timeout ended the wait, or the kernel
/// is temporarily short of memory or completion entries.
fn is_passing(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME))
}
