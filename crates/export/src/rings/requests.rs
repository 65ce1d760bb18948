//! Requests in progress: how a ring processes a request, from its arrival to its reply.

use std::io;
use std::sync::mpsc::Sender;

use cryptbench_blockdev::IoTarget;
use rustix::io::Errno;

use super::ring::{Ring, Tag};
use super::slow::{Job, Work};
use super::{LONG, MAX_REQUEST};
use crate::served::Served;
use crate::stripes::Hold;

/// Memory for a request's data, used by one request at a time.
pub(crate) trait Buffer {
    /// The data. Must not be called while the kernel or another thread is using the data.
    fn data(&mut self) -> &mut [u8];

    /// Keeps the memory permanently, because the kernel or another thread may still access it.
    fn leak(&self);
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Success {
    /// The number of bytes of the slot's data that form the reply.
    Data(usize),
    /// The number of bytes that were written.
    Written(usize),
}

/// The result for the reply, or `None` while the request is in progress.
pub(crate) type Answer = Option<Result<Success, Errno>>;

/// The event for which a request is waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    Writing,
    /// A flush that makes the write durable.
    Syncing,
    Flushing,
    /// The slow lane, which executes the request; the request is not a write.
    Lane,
}

/// One request at a time.
struct Slot<B> {
    /// `None` while it is lent.
    buffer: Option<B>,
    state: State,
    /// Offset of the request on the device.
    offset: u64,
    len: usize,
    /// Bytes that the disk has transferred so far.
    moved: usize,
    /// Whether the write must be durable before its reply.
    sync: bool,
    /// Whether the slot holds a lock on its range, as a write does until the disk has finished.
    held: bool,
}

/// The requests of one ring, and their memory.
pub(crate) struct Requests<'a, B: Buffer> {
    // The ring, which is dropped before the memory that it uses.
    pub(crate) ring: Ring,
    slots: Vec<Slot<B>>,
    served: &'a Served,
    io_target: &'a IoTarget,
    jobs: Sender<Job>,
    /// Requests that the disk or the slow lane is working on.
    in_flight: usize,
}

impl<'a, B: Buffer> Requests<'a, B> {
    pub(crate) fn new(
        ring: Ring,
        buffers: Vec<B>,
        served: &'a Served,
        io_target: &'a IoTarget,
        jobs: Sender<Job>,
    ) -> Self {
        let idle = |buffer| Slot {
            buffer: Some(buffer),
            state: State::Lane,
            offset: 0,
            len: 0,
            moved: 0,
            sync: false,
            held: false,
        };
        let slots = buffers.into_iter().map(idle).collect();
        Self { ring, slots, served, io_target, jobs, in_flight: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The memory of a slot.
    pub(crate) fn buffer(&mut self, slot: usize) -> &mut Option<B> {
        &mut self.slots[slot].buffer
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The data of a slot that currently has a request.
    pub(crate) fn data(&mut self, slot: usize) -> &mut [u8] {
        self.slots[slot].buffer.as_mut().map_or(&mut [], Buffer::data)
    }

    /// Begins to read.
    pub(crate) fn read(&mut self, slot: usize, offset: u64, size: usize) -> io::Result<Answer> {
        if size > MAX_REQUEST {
            return Ok(Some(Err(Errno::INVAL)));
        }
        let len = self.served.bytes.clip(offset, size);
        if len == 0 {
            return Ok(Some(Ok(Success::Data(0))));
        }
        if !self.served.bytes.is_whole(offset, len) {
            return self.hand_over(slot, Work::Read { offset }, len);
        }
        self.served.counters.read(len);
        self.begin_transfer(slot, State::Reading, offset, len)
    }

    /// Starts writing the slot's data, which must not be longer than a slot.
    pub(crate) fn write(
        &mut self,
        slot: usize,
        offset: u64,
        size: usize,
        sync: bool,
    ) -> io::Result<Answer> {
        let len = match self.served.admit_write(offset, size) {
            Ok(0) => return Ok(Some(Ok(Success::Written(0)))),
            Ok(len) => len,
            Err(e) => return Ok(Some(Err(e))),
        };
        let range = offset..offset + len as u64;
        // The parts of a long transfer arrive together, and a single core would encrypt the parts one after another.
        if len >= LONG
            || !self.served.bytes.is_whole(offset, len)
            || !self.served.bytes.stripes().try_acquire(&range, Hold::Shared)
        {
            return self.hand_over(slot, Work::Write { offset, sync }, len);
        }
        // From here on the range is stored in the request, and released when the request or this thread ends.
        let request = &mut self.slots[slot];
        (request.offset, request.len, request.held, request.sync) = (offset, len, true, sync);
        self.served.counters.write(len);
        let io_target = self.io_target;
        if let Some(transform) = &io_target.transform {
            transform.seal_in_place(offset, &mut self.data(slot)[..len]);
        }
        self.begin_transfer(slot, State::Writing, offset, len)
    }

    fn begin_transfer(
        &mut self,
        slot: usize,
        state: State,
        offset: u64,
        len: usize,
    ) -> io::Result<Answer> {
        let request = &mut self.slots[slot];
        (request.state, request.offset, request.len, request.moved) = (state, offset, len, 0);
        self.in_flight += 1;
        self.transfer(slot)
    }

    /// Starts the transfer of the remaining part of a request.
    fn transfer(&mut self, slot: usize) -> io::Result<Answer> {
        let Slot { state, offset, len, moved, .. } = self.slots[slot];
        let left = &mut self.data(slot)[moved..len];
        let (data, len) = (left.as_mut_ptr(), left.len() as u32);
        let on_disk = self.io_target.extent.offset + offset + moved as u64;
        // SAFETY: the bytes are in the slot's data, which nobody accesses until the disk has finished.
        unsafe {
            if state == State::Reading {
                self.ring.read(data, len, on_disk, Tag::Transfer(slot))?;
            } else {
                self.ring.write(data, len, on_disk, Tag::Transfer(slot))?;
            }
        }
        Ok(None)
    }

    /// Continues a request whose transfer has completed with `result`.
    pub(crate) fn end_transfer(&mut self, slot: usize, result: i32) -> io::Result<Answer> {
        if [Errno::INTR, Errno::AGAIN].iter().any(|e| result == -e.raw_os_error()) {
            return self.transfer(slot);
        }
        let request = &mut self.slots[slot];
        request.moved += result.max(0) as usize;
        let Slot { state, offset, len, sync, .. } = *request;
        if result > 0 && request.moved < len {
            // A short transfer is continued where it stopped.
            return self.transfer(slot);
        }
        self.in_flight -= 1;
        self.give_back(slot);
        if result <= 0 {
            // If the underlying file was truncated, reaching the file's end is also an error.
            let error = if result < 0 { result } else { -Errno::IO.raw_os_error() };
            return Ok(Some(Err(self.failed(error))));
        }
        if state == State::Writing {
            if sync {
                return self.flush_as(slot, State::Syncing);
            }
            return Ok(Some(Ok(Success::Written(len))));
        }
        let io_target = self.io_target;
        if let Some(transform) = &io_target.transform {
            transform.open(offset, &mut self.data(slot)[..len]);
        }
        Ok(Some(Ok(Success::Data(len))))
    }

    /// Begins to flush.
    pub(crate) fn flush(&mut self, slot: usize) -> io::Result<Answer> {
        self.flush_as(slot, State::Flushing)
    }

    fn flush_as(&mut self, slot: usize, state: State) -> io::Result<Answer> {
        self.served.counters.flush();
        if self.served.bytes.flush_failed() {
            return Ok(Some(Err(self.failed(-Errno::IO.raw_os_error()))));
        }
        self.slots[slot].state = state;
        self.in_flight += 1;
        self.ring.flush(slot)?;
        Ok(None)
    }

    /// Continues a request whose flush has completed with `result`.
    pub(crate) fn end_flush(&mut self, slot: usize, result: i32) -> Answer {
        self.in_flight -= 1;
        if result < 0 {
            self.served.bytes.note_failed_flush();
            return Some(Err(self.failed(result)));
        }
        let Slot { state, len, .. } = self.slots[slot];
        let written = state == State::Syncing;
        Some(Ok(if written { Success::Written(len) } else { Success::Data(0) }))
    }

    /// Passes the first `len` bytes of a slot's data to another thread for processing.
    pub(crate) fn hand_over(&mut self, slot: usize, work: Work, len: usize) -> io::Result<Answer> {
        let is_write = matches!(work, Work::Write { .. });
        self.slots[slot].state = if is_write { State::Writing } else { State::Lane };
        self.slots[slot].len = len;
        self.in_flight += 1;
        let data = self.data(slot)[..len].as_mut_ptr();
        let job = Job { slot, work, data, len };
        self.jobs.send(job).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(None)
    }

    /// Continues a request that the slow lane has finished.
    pub(crate) fn end_slow(&mut self, slot: usize, result: Result<usize, Errno>) -> Answer {
        self.in_flight -= 1;
        let is_write = self.slots[slot].state == State::Writing;
        Some(result.map(if is_write { Success::Written } else { Success::Data }))
    }

    /// Releases the range that a slot holds, if any.
    fn give_back(&mut self, slot: usize) {
        let request = &mut self.slots[slot];
        if std::mem::take(&mut request.held) {
            let range = request.offset..request.offset + request.len as u64;
            self.served.bytes.stripes().release(&range, Hold::Shared);
        }
    }

    fn failed(&self, negative: i32) -> Errno {
        self.served.failed(&io::Error::from_raw_os_error(-negative))
    }
}

impl<B: Buffer> Drop for Requests<'_, B> {
    /// A thread can exit before its requests complete, because of a ring error or a panic. The memory of these requests
    /// is then leaked, because it may still be used by the slow lane, or by the kernel, which closes rings later. The
    /// requests' ranges stay locked, but nothing waits for these ranges any more, because the server is stopping.
    fn drop(&mut self) {
        if self.in_flight > 0 {
            self.slots.iter().filter_map(|slot| slot.buffer.as_ref()).for_each(Buffer::leak);
        }
        for slot in 0..self.slots.len() {
            self.give_back(slot);
        }
    }
}
