//! The hot loop: prepare, submit, wait, complete.
//!
//! One thread does all of it. A slot is one request in flight; its buffers belong to the request
//! from submission to completion.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use io_uring::types::{Fd, Timespec};
use io_uring::{SubmissionQueue, Submitter, opcode, squeue};

use super::lanes::Lanes;
use super::session::Session;
use crate::clock::Clock;
use crate::engine::transfer::Transfer;
use crate::engine::{STOP_PATIENCE, STOP_POLL};
use crate::places::{Place, Places};
use crate::window::Sink;
use crate::{LoadError, Operation};

/// Prepared requests, and prepared bytes, after which a batch is submitted although more could be
/// prepared: the device should not idle while a long queue is refilled or sealed. Whole queues
/// of 32 in one batch cost a virtual disk a tenth of its requests per second, batches of 4 none.
const BATCH_REQUESTS: u32 = 4;
const BATCH_BYTES: u64 = 64 << 10;

/// Marks the completion of a [`tick`]; other requests carry the number of their slot.
const TICK: u64 = u64::MAX;

#[derive(Clone, Copy, Default)]
struct Slot {
    offset: u64,
    len: u32,
    started: u64,
}

#[derive(Clone, Copy, Default)]
struct Batch {
    requests: u32,
    bytes: u64,
}

impl Batch {
    fn is_full(self) -> bool {
        self.requests >= BATCH_REQUESTS || self.bytes >= BATCH_BYTES
    }
}

/// Prepares requests.
struct Issuer<'a, P> {
    transfer: &'a Transfer,
    places: P,
    next: u64,
    lanes: &'a Lanes,
    slots: Vec<Slot>,
    clock: Clock,
    fd: Fd,
    fixed_file: bool,
    fixed_buffers: bool,
    /// Prepared since the last submission.
    unsent: Batch,
}

impl<P: Places> Issuer<'_, P> {
    /// Puts the next request into `slot`, which has none in flight; `false` when there is no next.
    /// `now` is a clock reading that nothing but bookkeeping has followed.
    #[inline]
    fn start(&mut self, queue: &mut SubmissionQueue<'_>, slot: usize, now: u64) -> bool {
        let Some(Place { offset, len }) = self.places.place(self.next) else {
            return false;
        };
        self.next += 1;
        let mut started = now;
        let ptr = match self.transfer.operation {
            Operation::Read => self.lanes.source_ptr(slot),
            Operation::Write => {
                // SAFETY: no request of this slot is in flight.
                let source = unsafe { self.lanes.source(slot, len as usize) };
                match &self.transfer.transform {
                    None => {
                        self.transfer.stamper.stamp(source, offset);
                        source.as_mut_ptr()
                    }
                    Some(transform) => {
                        started = self.clock.ns();
                        self.transfer.stamper.stamp(source, offset);
                        // SAFETY: as above.
                        let stored = unsafe { self.lanes.bounce(slot, len as usize) };
                        transform.seal(offset, source, stored);
                        stored.as_mut_ptr()
                    }
                }
            }
        };
        self.slots[slot] = Slot { offset, len, started };
        let at = self.transfer.base + offset;
        let entry = match (self.transfer.operation, self.fixed_buffers) {
            (Operation::Read, true) => {
                opcode::ReadFixed::new(self.fd, ptr, len, 0).offset(at).build()
            }
            (Operation::Read, false) => opcode::Read::new(self.fd, ptr, len).offset(at).build(),
            (Operation::Write, true) => {
                opcode::WriteFixed::new(self.fd, ptr, len, 0).offset(at).build()
            }
            (Operation::Write, false) => opcode::Write::new(self.fd, ptr, len).offset(at).build(),
        };
        let flags =
            if self.fixed_file { squeue::Flags::FIXED_FILE } else { squeue::Flags::empty() };
        let entry = entry.flags(flags).user_data(slot as u64);
        // SAFETY: the buffer belongs to this slot and is not touched before the completion, and
        // the session keeps it and the transfer keeps the file open until then.
        unsafe { queue.push(&entry) }.expect("the queue has an entry for each slot");
        self.unsent.requests += 1;
        self.unsent.bytes += u64::from(len);
        true
    }

    /// Submits a full batch without waiting. What the kernel refuses stays queued for the next
    /// waiting call, which tells why.
    #[inline]
    fn submit_if_full(&mut self, queue: &mut SubmissionQueue<'_>, submitter: &Submitter<'_>) {
        if self.unsent.is_full() {
            self.unsent = Batch::default();
            queue.sync();
            let _ = submitter.submit();
            queue.sync();
        }
    }
}

/// Runs the requests until the sink has enough, the places end, a request fails or `stop` is
/// raised; then waits for what is in flight. Returns whether it was stopped.
///
/// Afterwards `session.in_flight` is zero unless the device hung.
pub(super) fn drive<P: Places, S: Sink>(
    session: &mut Session,
    lanes: &Lanes,
    transfer: &Transfer,
    places: P,
    fixed_file: bool,
    sink: &mut S,
    stop: &AtomicBool,
) -> Result<bool, LoadError> {
    for slot in 0..lanes.depth {
        // SAFETY: nothing is in flight yet.
        transfer.fill_source(unsafe { lanes.source(slot, lanes.block) }, slot as u32);
    }
    let clock = Clock::start();
    let mut issuer = Issuer {
        transfer,
        places,
        next: 0,
        lanes,
        slots: vec![Slot::default(); lanes.depth],
        clock,
        // With FIXED_FILE the number is an index into the registered files.
        fd: Fd(if fixed_file { 0 } else { transfer.file.as_raw_fd() }),
        fixed_file,
        fixed_buffers: session.unregistered.is_none(),
        unsent: Batch::default(),
    };
    let (in_flight, ticking) = (&mut session.in_flight, &mut session.ticking);
    let (mut submitter, mut sq, mut cq) = session.ring.split();
    // Spares the kernel a look-up per call; without it all works alike.
    let fixed_ring = submitter.register_ring_fd().is_ok();

    let mut failure = None;
    let mut draining = false;
    let mut stopped: Option<u64> = None;
    let mut now = clock.ns();
    sink.begin(now);
    for slot in 0..lanes.depth {
        if !issuer.start(&mut sq, slot, now) {
            break;
        }
        *in_flight += 1;
        issuer.submit_if_full(&mut sq, &submitter);
    }
    while *in_flight > 0 {
        if !*ticking {
            // SAFETY: the operation refers to nothing but a static.
            *ticking = unsafe { sq.push(&tick()) }.is_ok();
        }
        issuer.unsent = Batch::default();
        sq.sync();
        if let Err(e) = submitter.submit_and_wait(1)
            && !is_passing(&e)
        {
            // What is in flight cannot be waited for any more.
            let what = "waiting for io_uring";
            return Err(failure.unwrap_or(LoadError::Setup { what, source: e }));
        }
        sq.sync();
        cq.sync();
        now = clock.ns();
        if stop.load(Relaxed) {
            draining = true;
            stopped.get_or_insert(now);
        }
        for completion in &mut cq {
            if completion.user_data() == TICK {
                *ticking = false;
                continue;
            }
            *in_flight -= 1;
            let slot = completion.user_data() as usize;
            let Slot { offset, len, started } = issuer.slots[slot];
            if completion.result() != len as i32 {
                draining = true;
                let e = refused(transfer.operation, offset, len, completion.result());
                failure.get_or_insert(e);
                continue;
            }
            let mut done = now;
            if let (Operation::Read, Some(transform)) = (transfer.operation, &transfer.transform) {
                // SAFETY: the slot's request has completed, and `slot` came from `start`.
                transform.open(offset, unsafe { lanes.source(slot, len as usize) });
                done = clock.ns();
            }
            sink.completed(len, started, done);
            draining |= sink.finished();
            if !draining && issuer.start(&mut sq, slot, done) {
                *in_flight += 1;
                issuer.submit_if_full(&mut sq, &submitter);
            }
        }
        // Tells the kernel what was reaped: entries that it takes for unseen would end the wait.
        cq.sync();
        if *in_flight > 0 && stopped.is_some_and(|at| now - at > STOP_PATIENCE.as_nanos() as u64) {
            return failure.map_or(Ok(true), Err);
        }
    }
    if fixed_ring {
        let _ = submitter.unregister_ring_fd();
    }
    failure.map_or(Ok(stopped.is_some()), Err)
}

/// A request that completes after [`STOP_POLL`], so that no wait lasts longer.
///
/// A timeout given with each wait would arm and cancel a timer per wait, which costs some tenths
/// of a microsecond, and more in virtual machines.
fn tick() -> squeue::Entry {
    static POLL: Timespec = Timespec::new().nsec(STOP_POLL.subsec_nanos());
    opcode::Timeout::new(&raw const POLL).build().user_data(TICK)
}

/// The wait was interrupted by a signal, or the kernel is short of memory or of completion
/// entries for now: reaping completions and asking again helps.
fn is_passing(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

#[cold]
fn refused(operation: Operation, offset: u64, len: u32, result: i32) -> LoadError {
    if result < 0 {
        let source = io::Error::from_raw_os_error(-result);
        LoadError::Io { operation, offset, len, source }
    } else {
        LoadError::Short { operation, offset, wanted: len, got: result as u32 }
    }
}
