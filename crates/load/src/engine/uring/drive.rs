//! The hot loop: prepare, submit, wait, complete.
//!
//! One thread does all of it. A slot is one request in flight and owns one source buffer, and one
//! bounce buffer where sealed data must not replace its plaintext. Both lie densely packed in the
//! arena, whatever the block size, to spare caches and TLB.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use io_uring::types::{Fd, Timespec};
use io_uring::{SubmissionQueue, opcode, squeue};

use super::session::Session;
use crate::clock::Clock;
use crate::engine::transfer::Transfer;
use crate::engine::{STOP_PATIENCE, STOP_POLL};
use crate::places::{Place, Places};
use crate::window::Sink;
use crate::{LoadError, Operation};

/// Prepared bytes after which requests are submitted although more could be prepared: the device
/// should not idle while a long queue of large blocks is sealed.
const SUBMIT_BYTES: usize = 128 << 10;

/// Marks the completion of a [`tick`]; other requests carry the number of their slot.
const TICK: u64 = u64::MAX;

/// The buffers of all slots.
pub(super) struct Lanes {
    base: *mut u8,
    block: usize,
    depth: usize,
    bounce: bool,
}

impl Lanes {
    /// # Safety
    /// `base` points to `depth * block` bytes, twice that with `bounce`, which nothing else
    /// refers to, requests in flight included, and which outlive the lanes and every request made
    /// of them.
    pub(super) unsafe fn new(base: *mut u8, block: usize, depth: usize, bounce: bool) -> Self {
        Self { base, block, depth, bounce }
    }

    fn source_ptr(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.depth);
        // SAFETY: within the arena, see `new`.
        unsafe { self.base.add(slot * self.block) }
    }

    /// # Safety
    /// No request of this slot is in flight and no other reference to its source exists.
    #[expect(clippy::mut_from_ref, reason = "the caller vouches for exclusiveness, per slot")]
    unsafe fn source(&self, slot: usize, len: usize) -> &mut [u8] {
        assert!(len <= self.block);
        // SAFETY: within the arena (see `new`), initialised by its allocation, exclusive by this
        // function's contract.
        unsafe { std::slice::from_raw_parts_mut(self.source_ptr(slot), len) }
    }

    /// # Safety
    /// No request of this slot is in flight and no other reference to its bounce buffer exists.
    #[expect(clippy::mut_from_ref, reason = "the caller vouches for exclusiveness, per slot")]
    unsafe fn bounce(&self, slot: usize, len: usize) -> &mut [u8] {
        assert!(self.bounce && slot < self.depth && len <= self.block);
        // SAFETY: the bounce buffers follow the sources in the arena; as in `source`.
        unsafe {
            let ptr = self.base.add((self.depth + slot) * self.block);
            std::slice::from_raw_parts_mut(ptr, len)
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Slot {
    offset: u64,
    len: u32,
    started: u64,
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
    /// Bytes prepared since the last submission.
    unsent: usize,
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
        self.unsent += len as usize;
        true
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
        unsent: 0,
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
        if issuer.unsent >= SUBMIT_BYTES {
            issuer.unsent = 0;
            sq.sync();
            // What is refused now stays queued for the waiting call below, which tells.
            let _ = submitter.submit();
            sq.sync();
        }
    }
    while *in_flight > 0 {
        if !*ticking {
            // SAFETY: the operation refers to nothing but a static.
            *ticking = unsafe { sq.push(&tick()) }.is_ok();
        }
        issuer.unsent = 0;
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
            if now - *stopped.get_or_insert(now) > STOP_PATIENCE.as_nanos() as u64 {
                return failure.map_or(Ok(true), Err);
            }
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
                failure.get_or_insert(refused(
                    transfer.operation,
                    offset,
                    len,
                    completion.result(),
                ));
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
                if issuer.unsent >= SUBMIT_BYTES {
                    issuer.unsent = 0;
                    sq.sync();
                    let _ = submitter.submit();
                    sq.sync();
                }
            }
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
