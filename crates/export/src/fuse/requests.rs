//! Requests under way: what a ring does between a request's arrival and its reply.

use std::io;
use std::sync::mpsc::Sender;

use cryptbench_blockdev::IoTarget;
use rustix::io::Errno;

use super::abi::Request;
use super::entry::Entry;
use super::ring::{Ring, Tag};
use super::session::{LONG, MAX_REQUEST, Session};
use super::slow::{Job, Work};
use crate::stripes::Hold;

/// The result for the reply, or `None` while the request is under way.
pub(super) type Answer = Option<Result<usize, Errno>>;

/// What a request is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    Writing,
    /// The flush that a write asked for.
    Syncing,
    Flushing,
    /// The slow lane, which has a request that is no write.
    Lane,
}

/// One request at a time.
struct Slot {
    /// `None` while it is lent.
    entry: Option<Entry>,
    state: State,
    /// Offset of the request on the device.
    offset: u64,
    len: usize,
    /// Bytes that the disk has transferred so far.
    moved: usize,
    /// Whether the write must be durable before its reply.
    sync: bool,
    /// Whether the slot holds its range, as a write does on its way to the disk.
    held: bool,
}

/// The requests of one ring, and their memory.
pub(super) struct Requests<'a> {
    // Dropped before the memory that it uses.
    pub(super) ring: Ring,
    slots: Vec<Slot>,
    session: &'a Session,
    io_target: &'a IoTarget,
    jobs: Sender<Job>,
    /// Requests that the disk or the slow lane is working on.
    in_flight: usize,
}

impl<'a> Requests<'a> {
    pub(super) fn new(
        ring: Ring,
        entries: Vec<Entry>,
        session: &'a Session,
        io_target: &'a IoTarget,
        jobs: Sender<Job>,
    ) -> Self {
        let idle = |entry| Slot {
            entry: Some(entry),
            state: State::Lane,
            offset: 0,
            len: 0,
            moved: 0,
            sync: false,
            held: false,
        };
        let slots = entries.into_iter().map(idle).collect();
        Self { ring, slots, session, io_target, jobs, in_flight: 0 }
    }

    /// The place of a slot's entry.
    pub(super) fn entry(&mut self, slot: usize) -> &mut Option<Entry> {
        &mut self.slots[slot].entry
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The data of a slot that has a request.
    fn payload(&mut self, slot: usize) -> &mut [u8] {
        self.slots[slot].entry.as_mut().map_or(&mut [], Entry::payload)
    }

    /// Begins a request; the data of a write lies in its slot. Reads and writes must not be longer
    /// than a slot.
    pub(super) fn begin(
        &mut self,
        slot: usize,
        node: u64,
        request: Option<Request<'_>>,
    ) -> io::Result<Answer> {
        let mut out = [0; 1024];
        let answered = match request {
            None | Some(Request::Init { .. }) => Err(Errno::INVAL),
            Some(Request::Read { offset, size }) => return self.begin_read(slot, offset, size),
            Some(Request::Write { offset, size, sync }) => {
                return self.begin_write(slot, offset, size, sync);
            }
            Some(Request::Fsync) => return self.begin_flush(slot, State::Flushing),
            Some(Request::Fallocate { offset, len, mode }) => {
                return self.go_slow(slot, State::Lane, Work::Fallocate { offset, len, mode }, 0);
            }
            Some(request) => self.session.answer(node, &request, &mut out),
        };
        if let Ok(len) = answered {
            self.payload(slot)[..len].copy_from_slice(&out[..len]);
        }
        Ok(Some(answered))
    }

    fn begin_read(&mut self, slot: usize, offset: u64, size: usize) -> io::Result<Answer> {
        if size > MAX_REQUEST {
            return Ok(Some(Err(Errno::INVAL)));
        }
        let len = self.session.bytes.clip(offset, size);
        if len == 0 {
            return Ok(Some(Ok(0)));
        }
        if !self.session.bytes.is_whole(offset, len) {
            return self.go_slow(slot, State::Reading, Work::Read { offset }, len);
        }
        self.session.counters.read(len);
        self.begin_transfer(slot, State::Reading, offset, len)
    }

    fn begin_write(
        &mut self,
        slot: usize,
        offset: u64,
        size: usize,
        sync: bool,
    ) -> io::Result<Answer> {
        let len = match self.session.admit_write(offset, size) {
            Ok(0) => return Ok(self.written(slot, 0)),
            Ok(len) => len,
            Err(e) => return Ok(Some(Err(e))),
        };
        let range = offset..offset + len as u64;
        // The parts of a long transfer arrive together, and one core would encipher them in turn.
        if len >= LONG
            || !self.session.bytes.is_whole(offset, len)
            || !self.session.bytes.stripes().try_acquire(&range, Hold::Shared)
        {
            return self.go_slow(slot, State::Writing, Work::Write { offset, sync }, len);
        }
        // Released when the request or this thread ends: from here on the range is known.
        let request = &mut self.slots[slot];
        (request.offset, request.len, request.held, request.sync) = (offset, len, true, sync);
        self.session.counters.write(len);
        let io_target = self.io_target;
        if let Some(transform) = &io_target.transform {
            transform.seal_in_place(offset, &mut self.payload(slot)[..len]);
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

    /// Starts the transfer of the rest of a request.
    fn transfer(&mut self, slot: usize) -> io::Result<Answer> {
        let Slot { state, offset, len, moved, .. } = self.slots[slot];
        let left = &mut self.payload(slot)[moved..len];
        let (data, len) = (left.as_mut_ptr(), left.len() as u32);
        let on_disk = self.io_target.extent.offset + offset + moved as u64;
        // SAFETY: the bytes lie in the slot's data, which nobody touches until the disk has
        // finished.
        unsafe {
            if state == State::Reading {
                self.ring.read(data, len, on_disk, Tag::Transfer(slot))?;
            } else {
                self.ring.write(data, len, on_disk, Tag::Transfer(slot))?;
            }
        }
        Ok(None)
    }

    /// Goes on with a request whose transfer has ended with `result`.
    pub(super) fn end_transfer(&mut self, slot: usize, result: i32) -> io::Result<Answer> {
        if [Errno::INTR, Errno::AGAIN].iter().any(|e| result == -e.raw_os_error()) {
            return self.transfer(slot);
        }
        let request = &mut self.slots[slot];
        request.moved += result.max(0) as usize;
        let Slot { state, offset, len, sync, .. } = *request;
        if result > 0 && request.moved < len {
            // A short transfer continues where it stopped.
            return self.transfer(slot);
        }
        self.in_flight -= 1;
        self.give_back(slot);
        if result <= 0 {
            // Reaching the end of a file that was truncated below is an error, too.
            let error = if result < 0 { result } else { -Errno::IO.raw_os_error() };
            return Ok(Some(Err(self.failed(error))));
        }
        if state == State::Writing {
            if sync {
                return self.begin_flush(slot, State::Syncing);
            }
            return Ok(self.written(slot, len));
        }
        let io_target = self.io_target;
        if let Some(transform) = &io_target.transform {
            transform.open(offset, &mut self.payload(slot)[..len]);
        }
        Ok(Some(Ok(len)))
    }

    fn begin_flush(&mut self, slot: usize, state: State) -> io::Result<Answer> {
        self.session.counters.flush();
        if self.session.bytes.flush_failed() {
            return Ok(Some(Err(self.failed(-Errno::IO.raw_os_error()))));
        }
        self.slots[slot].state = state;
        self.in_flight += 1;
        self.ring.flush(slot)?;
        Ok(None)
    }

    /// Goes on with a request whose flush has ended with `result`.
    pub(super) fn end_flush(&mut self, slot: usize, result: i32) -> Answer {
        self.in_flight -= 1;
        if result < 0 {
            self.session.bytes.note_failed_flush();
            return Some(Err(self.failed(result)));
        }
        let Slot { state, len, .. } = self.slots[slot];
        if state == State::Syncing { self.written(slot, len) } else { Some(Ok(0)) }
    }

    fn go_slow(&mut self, slot: usize, state: State, work: Work, len: usize) -> io::Result<Answer> {
        (self.slots[slot].state, self.slots[slot].len) = (state, len);
        self.in_flight += 1;
        let data = self.payload(slot)[..len].as_mut_ptr();
        let job = Job { slot, work, data, len };
        self.jobs.send(job).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(None)
    }

    /// Goes on with a request that the slow lane has finished.
    pub(super) fn end_slow(&mut self, slot: usize, result: Result<usize, Errno>) -> Answer {
        self.in_flight -= 1;
        match result {
            Ok(len) if self.slots[slot].state == State::Writing => self.written(slot, len),
            other => Some(other),
        }
    }

    fn written(&mut self, slot: usize, len: usize) -> Answer {
        Some(Ok(self.slots[slot].entry.as_mut().map_or(0, |entry| entry.written(len))))
    }

    /// Releases a slot's range if it holds one.
    fn give_back(&mut self, slot: usize) {
        let request = &mut self.slots[slot];
        if std::mem::take(&mut request.held) {
            let range = request.offset..request.offset + request.len as u64;
            self.session.bytes.stripes().release(&range, Hold::Shared);
        }
    }

    fn failed(&self, negative: i32) -> Errno {
        self.session.failed(&io::Error::from_raw_os_error(-negative))
    }
}

impl Drop for Requests<'_> {
    /// A thread can end before its requests do, because of a ring error or a panic. It then leaves
    /// their memory to those that still use it: the slow lane, or the kernel, which closes rings
    /// later on its own. Nobody waits for their ranges any more, because the server is ending.
    fn drop(&mut self) {
        if self.in_flight > 0 {
            self.slots.iter().filter_map(|slot| slot.entry.as_ref()).for_each(Entry::leak);
        }
        for slot in 0..self.slots.len() {
            self.give_back(slot);
        }
    }
}
