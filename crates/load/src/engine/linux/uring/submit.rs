//! Prepares requests: chooses the next request, decides whether it may start, and passes it to the kernel.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, RawFd};

use io_uring::types::{Fd, FsyncFlags};
use io_uring::{SubmissionQueue, opcode, squeue};

use super::io_buffers::IoBuffers;
use super::pipe::Pipe;
use crate::clock::Clock;
use crate::engine::rate_limit::RateLimit;
use crate::engine::transfer::{FlushEvery, Task, Transfer};
use crate::offsets::{IoRequest, OffsetGenerator};
use crate::{Direction, Operation};

/// A batch is submitted after this many requests or bytes, even if more could be prepared, so that the device does not
/// idle while a long queue is refilled or sealed. On a virtual disk, batches of a whole queue of 32 requests reduced
/// the requests per second by 10 %; batches of 4 had no such effect.
const BATCH_REQUESTS: usize = 4;
const BATCH_BYTES: u64 = 64 << 10;

/// One request in flight.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub(super) operation: Operation,
    pub(super) offset: u64,
    /// Length in bytes; 0 for a flush that is submitted as a separate request.
    pub(super) len: u32,
    pub(super) started: u64,
    /// Time at which the kernel had accepted the request; 0 if it was not measured.
    pub(super) taken: u64,
    /// Bytes already transferred, and bytes in flight: the whole request, unless the layer forwards pieces.
    pub(super) moved: u32,
    pub(super) piece: u32,
    /// Whether this piece must be written a second time.
    again: bool,
    /// Where its data is.
    data: *mut u8,
}

impl Slot {
    const FREE: Self = Self {
        operation: Operation::Read,
        offset: 0,
        len: 0,
        started: 0,
        taken: 0,
        moved: 0,
        piece: 0,
        again: false,
        data: std::ptr::null_mut(),
    };
}

/// Number and size of the requests prepared since the last submission.
#[derive(Clone, Copy, Default)]
struct Batch {
    requests: usize,
    bytes: u64,
    /// Whether data was sealed after the first request was prepared.
    late: bool,
    /// The slots of the first requests.
    slots: [u32; BATCH_REQUESTS],
}

/// Why the next request must wait.
pub(super) enum Hold {
    No,
    /// Until all earlier requests and a flush have completed.
    Flush,
    /// For a flush that is submitted as a separate request.
    QueueFlush,
    /// Until this time, at which the request is due.
    Until(u64),
}

/// Prepares and submits requests.
pub(super) struct Submitter<'a, P> {
    transfer: &'a Transfer,
    offsets: P,
    next: u64,
    /// Whether no requests remain.
    pub(super) ended: bool,
    io_buffers: &'a IoBuffers,
    pub(super) slots: Vec<Slot>,
    clock: Clock,
    fd: Fd,
    flags: squeue::Flags,
    fixed_buffers: bool,
    write_flags: i32,
    unsent: Batch,
    /// The latest clock reading, and whether data was sealed or requests were submitted after the reading. In that
    /// case, using the reading as the start of the next request would be too early.
    now: u64,
    stale: bool,
    mixed: bool,
    /// Number of submissions until the next timed submission.
    until_look: u32,
    /// Whether requests can be held back by the rate limit or by flushes.
    pub(super) governed: bool,
    rate_limit: Option<RateLimit>,
    every: Option<FlushEvery>,
    began: u64,
    /// Writes since the last flush.
    writes: u32,
    /// Maximum number of bytes that the layer forwards in one piece.
    piece: u32,
    /// Whether the layer writes each piece twice.
    writes_twice: bool,
    /// Whether requests wait for other requests, how many are waiting, and when each waiting request was issued.
    waits: bool,
    waiting: usize,
    asked: VecDeque<u64>,
}

impl<'a, P: OffsetGenerator> Submitter<'a, P> {
    pub(super) fn new(
        task: &'a Task,
        offsets: P,
        io_buffers: &'a IoBuffers,
        clock: Clock,
        (fixed_file, fixed_buffers): (bool, bool),
    ) -> Self {
        let transfer = &task.transfer;
        Self {
            transfer,
            offsets,
            next: 0,
            ended: false,
            io_buffers,
            slots: vec![Slot::FREE; io_buffers.depth],
            clock,
            // With FIXED_FILE the number is an index into the registered files.
            fd: Fd(if fixed_file { 0 } else { transfer.file.as_raw_fd() }),
            flags: if fixed_file { squeue::Flags::FIXED_FILE } else { squeue::Flags::empty() },
            fixed_buffers,
            write_flags: if transfer.dsync { libc::RWF_DSYNC } else { 0 },
            unsent: Batch::default(),
            now: 0,
            stale: true,
            mixed: matches!(transfer.direction, Direction::Mixed { .. }),
            until_look: 1,
            governed: task.rate_limit.is_some() || transfer.every.is_some(),
            rate_limit: task.rate_limit,
            every: transfer.every,
            began: 0,
            writes: 0,
            piece: transfer.passes.piece.unwrap_or(u32::MAX),
            writes_twice: transfer.passes.writes_twice,
            // A rate limit already determines when a request is due.
            waits: task.waiting > 0 && task.rate_limit.is_none(),
            waiting: task.waiting as usize,
            asked: VecDeque::new(),
        }
    }

    pub(super) fn begin(&mut self, began: u64) {
        self.began = began;
        if self.waits {
            self.asked.extend(std::iter::repeat_n(began, self.io_buffers.depth + self.waiting));
        }
    }

    /// Uses an earlier clock reading that was followed only by bookkeeping.
    #[inline]
    pub(super) fn at(&mut self, now: u64) {
        (self.now, self.stale) = (now, false);
    }

    /// Requires an empty queue before each flush, because a polled ring has no flush operation.
    pub(super) fn drain_before_flushes(&mut self) {
        if let Some(every) = &mut self.every {
            every.drained = true;
        }
    }

    /// The file for a flush, in the form that the requests use.
    pub(super) fn file(&self) -> (RawFd, bool) {
        (self.fd.0, self.flags.contains(squeue::Flags::FIXED_FILE))
    }

    /// Puts the next request into `slot`, which must not have a request in flight. Returns false if there is no next
    /// request, or if the next request must wait.
    #[inline]
    pub(super) fn start(&mut self, queue: &mut SubmissionQueue<'_>, slot: usize) -> bool {
        // This is checked first, because without a next request there is nothing to wait for.
        let Some(IoRequest { operation, offset, len }) = self.offsets.request(self.next) else {
            self.ended = true;
            return false;
        };
        if self.governed {
            match self.hold(self.now) {
                Hold::No => {}
                Hold::QueueFlush => {
                    self.start_flush(queue, slot);
                    return true;
                }
                Hold::Flush | Hold::Until(_) => return false,
            }
        }
        self.next += 1;
        if self.stale {
            self.at(self.clock.ns());
        }
        let started = self.asked.pop_front().unwrap_or(self.now);
        let data = match operation {
            Operation::Read => self.io_buffers.read_ptr(slot),
            Operation::Write => {
                self.writes += 1;
                self.compose(slot, offset, len)
            }
        };
        let (piece, again) = (self.piece.min(len), self.writes_again(operation));
        let request = Slot { operation, offset, len, started, piece, again, data, ..Slot::FREE };
        self.pass(queue, request, slot);
        true
    }

    /// Forwards the next piece of a request: the whole request, if the layer does not split requests.
    #[inline]
    fn pass(&mut self, queue: &mut SubmissionQueue<'_>, request: Slot, slot: usize) {
        let Slot { operation, moved, piece: len, .. } = request;
        let at = self.transfer.base + request.offset + u64::from(moved);
        let (fd, flags, fixed) = (self.fd, self.write_flags, self.fixed_buffers);
        let ptr = request.data.wrapping_add(moved as usize);
        let entry = match operation {
            Operation::Read if fixed => opcode::ReadFixed::new(fd, ptr, len, 0).offset(at).build(),
            Operation::Read => opcode::Read::new(fd, ptr, len).offset(at).build(),
            Operation::Write if fixed => {
                opcode::WriteFixed::new(fd, ptr, len, 0).offset(at).rw_flags(flags).build()
            }
            Operation::Write => opcode::Write::new(fd, ptr, len).offset(at).rw_flags(flags).build(),
        };
        // SAFETY: the buffer belongs to this slot and is not accessed before the completion. The piece is within the
        // request, and therefore within the buffer. Until the completion, the session keeps the buffer, and the
        // transfer keeps the file open.
        unsafe { self.push(queue, request, slot, entry) };
    }

    /// Forwards the next piece of the request whose piece has completed; returns false if that was the last piece.
    #[inline]
    pub(super) fn goes_on(&mut self, queue: &mut SubmissionQueue<'_>, slot: usize) -> bool {
        let request = self.slots[slot];
        if request.again {
            self.pass(queue, Slot { again: false, ..request }, slot);
            return true;
        }
        let moved = request.moved + request.piece;
        if moved >= request.len {
            return false;
        }
        let piece = request.piece.min(request.len - moved);
        let again = self.writes_again(request.operation);
        self.pass(queue, Slot { moved, piece, again, ..request }, slot);
        true
    }

    #[inline]
    fn writes_again(&self, operation: Operation) -> bool {
        self.writes_twice && operation == Operation::Write
    }

    /// Called when a request has completed: its issuer issues the next request, which waits if the layer is executing
    /// another request.
    #[inline]
    pub(super) fn asks_again(&mut self, now: u64) {
        if self.waits {
            self.asked.push_back(now);
        }
    }

    /// Resubmits a read that the kernel could not execute without waiting, this time for a worker thread, which may
    /// wait.
    #[cold]
    pub(super) fn read_again(&mut self, queue: &mut SubmissionQueue<'_>, slot: usize) {
        let request = self.slots[slot];
        let ptr = request.data.wrapping_add(request.moved as usize);
        let at = self.transfer.base + request.offset + u64::from(request.moved);
        let entry = opcode::Read::new(self.fd, ptr, request.piece).offset(at).build();
        // SAFETY: as in `start`: the slot's request has completed, and the buffer belongs to that request.
        unsafe { self.push(queue, request, slot, entry.flags(squeue::Flags::ASYNC)) };
    }

    /// Queues a flush like any other request. The flush does not wait for requests in flight, and later requests do
    /// not wait for the flush.
    #[cold]
    fn start_flush(&mut self, queue: &mut SubmissionQueue<'_>, slot: usize) {
        let flags = match self.every {
            Some(FlushEvery { data_only: true, .. }) => FsyncFlags::DATASYNC,
            _ => FsyncFlags::empty(),
        };
        let entry = opcode::Fsync::new(self.fd).flags(flags).build();
        self.writes = 0;
        // SAFETY: a flush does not refer to memory, and the transfer keeps its file open.
        unsafe { self.push(queue, Slot { started: self.now, ..Slot::FREE }, slot, entry) };
    }

    /// # Safety
    /// The memory that the entry points to must be valid, and must not be accessed until the entry has completed.
    #[inline]
    unsafe fn push(
        &mut self,
        queue: &mut SubmissionQueue<'_>,
        request: Slot,
        slot: usize,
        entry: squeue::Entry,
    ) {
        self.slots[slot] = request;
        let entry = entry.flags(self.flags).user_data(slot as u64);
        // SAFETY: by this function's contract.
        unsafe { queue.push(&entry) }.expect("the queue has an entry for each slot");
        let unsent = &mut self.unsent;
        unsent.slots[unsent.requests % BATCH_REQUESTS] = slot as u32;
        unsent.requests += 1;
        unsent.bytes += u64::from(request.piece);
    }

    /// Prepares the data to write: adds verify headers, then seals the data.
    #[inline]
    fn compose(&mut self, slot: usize, offset: u64, len: u32) -> *mut u8 {
        // SAFETY: no request of this slot is in flight.
        let source = unsafe { self.io_buffers.source(slot, len as usize) };
        if let Some(headers) = &self.transfer.headers {
            headers.write_headers(source, offset);
        }
        match &self.transfer.transform {
            None => source.as_mut_ptr(),
            Some(transform) => {
                // SAFETY: as above.
                let stored = unsafe { self.io_buffers.sealed(slot, len as usize) };
                transform.seal(offset, source, stored);
                self.stale = true;
                self.unsent.late |= self.mixed && self.unsent.requests > 0;
                stored.as_mut_ptr()
            }
        }
    }

    /// Whether the next request must wait, and the reason.
    pub(super) fn hold(&self, now: u64) -> Hold {
        if let Some(every) = self.every
            && self.writes >= every.writes
        {
            return if every.drained { Hold::Flush } else { Hold::QueueFlush };
        }
        match self.rate_limit.map(|rate_limit| rate_limit.due(self.began, self.next)) {
            Some(due) if due > now => Hold::Until(due),
            _ => Hold::No,
        }
    }

    /// Reports that the flush has completed.
    pub(super) fn flushed(&mut self) {
        self.writes = 0;
    }

    /// Submits the batch without waiting if it is full.
    #[inline]
    pub(super) fn submit_if_full(&mut self, pipe: &mut Pipe<'_>) {
        if self.unsent.requests >= BATCH_REQUESTS || self.unsent.bytes >= BATCH_BYTES {
            self.leaving();
            pipe.submit();
            self.submitted();
        }
    }

    /// Called before a wait that submits the remaining requests. If the submission is to be timed, submits them
    /// separately.
    #[inline]
    pub(super) fn before_wait(&mut self, pipe: &mut Pipe<'_>) {
        if self.unsent.requests > 0 {
            self.leaving();
            if self.until_look <= 1 {
                pipe.submit();
            }
            self.submitted();
        }
    }

    /// Called before a batch is submitted: the time of its reads is counted from now on, not from before its writes
    /// were sealed.
    #[inline]
    fn leaving(&mut self) {
        if self.unsent.late {
            let now = self.clock.ns();
            for &slot in self.unsent.slots.iter().take(self.unsent.requests) {
                let request = &mut self.slots[slot as usize];
                if request.operation == Operation::Read {
                    request.started = now;
                }
            }
        }
    }

    /// Called when a batch has been submitted, or will be submitted by a wait.
    #[inline]
    fn submitted(&mut self) {
        self.until_look -= 1;
        if self.until_look == 0 {
            self.until_look = crate::engine::LOOK_EVERY;
            let taken = self.clock.ns();
            for &slot in self.unsent.slots.iter().take(self.unsent.requests) {
                self.slots[slot as usize].taken = taken;
            }
        }
        self.unsent.requests = 0;
        self.unsent.bytes = 0;
        self.unsent.late = false;
        self.stale = true;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use cryptbench_blockdev::{Extent, IoMode, IoTarget, SectorTransform};

    use super::super::session::Session;
    use super::*;
    use crate::{Job, Pattern};

    /// Stores when the latest seal ended.
    struct Sealed(Clock, AtomicU64);

    impl SectorTransform for Sealed {
        fn unit(&self) -> usize {
            512
        }

        fn seal(&self, _: u64, plain: &[u8], stored: &mut [u8]) {
            stored.copy_from_slice(plain);
            let before = self.0.ns();
            while self.0.ns() == before {}
            self.1.store(self.0.ns(), Relaxed);
        }

        fn open(&self, _: u64, _: &mut [u8]) {}
    }

    /// Reads at even numbers, writes at odd ones.
    #[derive(Clone, Copy)]
    struct Alternating;

    impl OffsetGenerator for Alternating {
        fn request(&self, index: u64) -> Option<IoRequest> {
            let operation = [Operation::Read, Operation::Write][index as usize % 2];
            Some(IoRequest { operation, offset: index * 512, len: 512 })
        }
    }

    /// Sealing before a batch is submitted does not count as time of the batch's reads, whether
    /// they were prepared before or after it.
    #[test]
    fn reads_of_a_mix_begin_when_they_are_submitted() {
        let Ok(mut session) = Session::new(8, false) else {
            return eprintln!("SKIPPED: no io_uring");
        };
        let clock = Clock::start();
        let sealed = Arc::new(Sealed(clock, AtomicU64::new(0)));
        let io_target = IoTarget {
            file: Arc::new(tempfile::tempfile().unwrap()),
            extent: Extent { offset: 0, len: 1 << 20 },
            mode: IoMode::Buffered,
            transform: Some(sealed.clone()),
        };
        let job = Job::new(Operation::Read, Pattern::Random, 512, 4);
        let job = Job { direction: Direction::Mixed { read_percent: 50 }, ..job };
        let transfer = Transfer::of_job(&io_target, &job);
        let (waiting, turn) = (0, Arc::default());
        let task =
            Task { transfer, block: 512, depth: 4, threads: 1, rate_limit: None, waiting, turn };
        let base = session.arena(8 * 512);
        // SAFETY: the arena has room for four slots of two blocks, and outlives the buffers.
        let io_buffers = unsafe { IoBuffers::new(base, 512, 4, (true, true)) };
        let mut submitter = Submitter::new(&task, Alternating, &io_buffers, clock, (false, false));
        let mut pipe = Pipe::new(&mut session);
        submitter.at(clock.ns());
        for slot in 0..3 {
            assert!(submitter.start(&mut pipe.sq, slot));
            *pipe.in_flight += 1;
        }
        let end_of_seal = sealed.1.load(Relaxed);
        let begun =
            |submitter: &Submitter<'_, Alternating>, slot: usize| submitter.slots[slot].started;
        assert!(begun(&submitter, 1) < end_of_seal, "a write begins before it is sealed");
        assert!(begun(&submitter, 2) >= end_of_seal, "a read that was prepared after it");
        submitter.before_wait(&mut pipe);
        assert!(begun(&submitter, 0) >= end_of_seal, "a read that was prepared before it");
        assert!(begun(&submitter, 1) < end_of_seal);
        while *pipe.in_flight > 0 {
            pipe.wait(None).unwrap();
            *pipe.in_flight -= pipe.cq.by_ref().filter(|c| c.user_data() < 4).count();
            pipe.cq.sync();
        }
    }
}
