//! Preparing requests: which one comes next, whether it may, and what the kernel is told.

use std::os::fd::{AsRawFd, RawFd};

use io_uring::types::Fd;
use io_uring::{SubmissionQueue, opcode, squeue};

use super::lanes::Lanes;
use super::pipe::Pipe;
use crate::Operation;
use crate::clock::Clock;
use crate::engine::pace::Pace;
use crate::engine::transfer::{Task, Transfer};
use crate::places::{Place, Places};

/// Prepared requests, and prepared bytes, after which a batch is submitted although more could be
/// prepared: the device should not idle while a long queue is refilled or sealed. Whole queues
/// of 32 in one batch cost a virtual disk a tenth of its requests per second, batches of 4 none.
const BATCH_REQUESTS: usize = 4;
const BATCH_BYTES: u64 = 64 << 10;

/// Of so many submissions one is looked at for the time that it takes. A prime, so that it meets every
/// request of a queue in turn.
const LOOK_EVERY: u32 = 31;

/// One request in flight.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub(super) operation: Operation,
    pub(super) offset: u64,
    pub(super) len: u32,
    pub(super) started: u64,
    /// When the kernel had taken it; 0 if nobody looked.
    pub(super) taken: u64,
}

impl Slot {
    const FREE: Self = Self { operation: Operation::Read, offset: 0, len: 0, started: 0, taken: 0 };
}

/// Prepared since the last submission.
#[derive(Clone, Copy, Default)]
struct Batch {
    requests: usize,
    bytes: u64,
    /// The slots of the first ones.
    slots: [u32; BATCH_REQUESTS],
}

/// Why there is no next request for now.
pub(super) enum Hold {
    No,
    /// All before it must be complete and flushed.
    Flush,
    /// It is not due before this time.
    Until(u64),
}

/// Prepares requests.
pub(super) struct Issuer<'a, P> {
    transfer: &'a Transfer,
    places: P,
    next: u64,
    /// There are no more places.
    pub(super) ended: bool,
    lanes: &'a Lanes,
    pub(super) slots: Vec<Slot>,
    clock: Clock,
    fd: Fd,
    flags: squeue::Flags,
    fixed_buffers: bool,
    write_flags: i32,
    unsent: Batch,
    /// Submissions until one is looked at.
    until_look: u32,
    /// Requests may be held back: by the pace, or by a flush after so many writes.
    pub(super) governed: bool,
    pace: Option<Pace>,
    began: u64,
    /// Since the last flush.
    writes: u32,
}

impl<'a, P: Places> Issuer<'a, P> {
    pub(super) fn new(
        task: &'a Task,
        places: P,
        lanes: &'a Lanes,
        clock: Clock,
        (fixed_file, fixed_buffers): (bool, bool),
    ) -> Self {
        let transfer = &task.transfer;
        Self {
            transfer,
            places,
            next: 0,
            ended: false,
            lanes,
            slots: vec![Slot::FREE; lanes.depth],
            clock,
            // With FIXED_FILE the number is an index into the registered files.
            fd: Fd(if fixed_file { 0 } else { transfer.file.as_raw_fd() }),
            flags: if fixed_file { squeue::Flags::FIXED_FILE } else { squeue::Flags::empty() },
            fixed_buffers,
            write_flags: if transfer.dsync { libc::RWF_DSYNC } else { 0 },
            unsent: Batch::default(),
            until_look: 1,
            governed: task.pace.is_some() || transfer.every.is_some(),
            pace: task.pace,
            began: 0,
            writes: 0,
        }
    }

    pub(super) fn begin(&mut self, began: u64) {
        self.began = began;
    }

    /// The file for a flush: as the requests name it.
    pub(super) fn file(&self) -> (RawFd, bool) {
        (self.fd.0, self.flags.contains(squeue::Flags::FIXED_FILE))
    }

    /// Puts the next request into `slot`, which has none in flight; `false` when there is no next, or
    /// none yet. `now` is a clock reading that nothing but bookkeeping has followed.
    #[inline]
    pub(super) fn start(&mut self, queue: &mut SubmissionQueue<'_>, slot: usize, now: u64) -> bool {
        if self.governed && !matches!(self.hold(now), Hold::No) {
            return false;
        }
        let Some(Place { operation, offset, len }) = self.places.place(self.next) else {
            self.ended = true;
            return false;
        };
        self.next += 1;
        let mut started = now;
        let at = self.transfer.base + offset;
        let entry = match operation {
            Operation::Read => {
                let ptr = self.lanes.read_ptr(slot);
                if self.fixed_buffers {
                    opcode::ReadFixed::new(self.fd, ptr, len, 0).offset(at).build()
                } else {
                    opcode::Read::new(self.fd, ptr, len).offset(at).build()
                }
            }
            Operation::Write => {
                let ptr = self.compose(slot, offset, len, &mut started);
                self.writes += 1;
                let flags = self.write_flags;
                if self.fixed_buffers {
                    opcode::WriteFixed::new(self.fd, ptr, len, 0).offset(at).rw_flags(flags).build()
                } else {
                    opcode::Write::new(self.fd, ptr, len).offset(at).rw_flags(flags).build()
                }
            }
        };
        self.slots[slot] = Slot { operation, offset, len, started, taken: 0 };
        let entry = entry.flags(self.flags).user_data(slot as u64);
        // SAFETY: the buffer belongs to this slot and is not touched before the completion, and
        // the session keeps it and the transfer keeps the file open until then.
        unsafe { queue.push(&entry) }.expect("the queue has an entry for each slot");
        let unsent = &mut self.unsent;
        unsent.slots[unsent.requests % BATCH_REQUESTS] = slot as u32;
        unsent.requests += 1;
        unsent.bytes += u64::from(len);
        true
    }

    /// What is to be written, stamped and sealed.
    #[inline]
    fn compose(&self, slot: usize, offset: u64, len: u32, started: &mut u64) -> *mut u8 {
        // SAFETY: no request of this slot is in flight.
        let source = unsafe { self.lanes.source(slot, len as usize) };
        if self.transfer.transform.is_some() {
            *started = self.clock.ns();
        }
        if let Some(stamper) = &self.transfer.stamper {
            stamper.stamp(source, offset);
        }
        match &self.transfer.transform {
            None => source.as_mut_ptr(),
            Some(transform) => {
                // SAFETY: as above.
                let stored = unsafe { self.lanes.sealed(slot, len as usize) };
                transform.seal(offset, source, stored);
                stored.as_mut_ptr()
            }
        }
    }

    /// Why the next request has to wait.
    pub(super) fn hold(&self, now: u64) -> Hold {
        if self.transfer.every.is_some_and(|every| self.writes >= every.writes) {
            return Hold::Flush;
        }
        match self.pace.map(|pace| pace.due(self.began, self.next)) {
            Some(due) if due > now => Hold::Until(due),
            _ => Hold::No,
        }
    }

    /// The flush that held the requests back is done.
    pub(super) fn flushed(&mut self) {
        self.writes = 0;
    }

    /// Submits a full batch without waiting.
    #[inline]
    pub(super) fn submit_if_full(&mut self, pipe: &mut Pipe<'_>) {
        if self.unsent.requests >= BATCH_REQUESTS || self.unsent.bytes >= BATCH_BYTES {
            pipe.submit();
            self.submitted();
        }
    }

    /// Called before a wait that submits the rest: submits it apart when it is to be looked at.
    #[inline]
    pub(super) fn before_wait(&mut self, pipe: &mut Pipe<'_>) {
        if self.unsent.requests > 0 {
            if self.until_look <= 1 {
                pipe.submit();
            }
            self.submitted();
        }
    }

    /// A batch was submitted, or is about to be with a wait.
    #[inline]
    fn submitted(&mut self) {
        self.until_look -= 1;
        if self.until_look == 0 {
            self.until_look = LOOK_EVERY;
            let taken = self.clock.ns();
            for &slot in self.unsent.slots.iter().take(self.unsent.requests) {
                self.slots[slot as usize].taken = taken;
            }
        }
        self.unsent.requests = 0;
        self.unsent.bytes = 0;
    }
}
