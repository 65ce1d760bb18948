//! Requests over io_uring: one thread per CPU takes requests from the kernel, reads and writes the
//! disk, and encrypts, without handing a request to another thread.
//!
//! Source of the protocol: `Documentation/filesystems/fuse/fuse-io-uring.rst` and
//! `fs/fuse/dev_uring.c` of Linux 6.14 and later. The kernel gives each CPU a queue, and puts a
//! request into the queue of the CPU that issued it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::Sender;

use cryptbench_blockdev::IoTarget;
use rustix::io::Errno;

use super::abi::{self, Header, Request};
use super::arena::Arena;
use super::ring::{COMMIT_ID_AT, OPERATION_AT, PAYLOAD_SIZE_AT, REQUEST_HEADER, Ring, Tag, Vector};
use super::session::{MAX_REQUEST, Session};
use super::slow::{self, Done, Job, Work};
use crate::stop::Stop;
use crate::stripes::Hold;

/// Bytes between the headers of two entries.
const HEADER_STRIDE: usize = 512;

const STOPPED: usize = 0;
const SLOW_DONE: usize = 1;

#[derive(Clone, Debug)]
pub(super) struct Queues {
    /// The CPU that the thread is pinned to.
    pub(super) cpu: usize,
    /// The kernel's queue of that CPU, and queues of CPUs that are currently offline.
    pub(super) numbers: Vec<u16>,
    /// Total number of threads.
    threads: usize,
}

/// One per online CPU; together they cover every possible CPU.
pub(super) fn queues() -> Vec<Queues> {
    let cpus = |file| {
        let list = std::fs::read_to_string(format!("/sys/devices/system/cpu/{file}"));
        cpu_list(list.as_deref().unwrap_or("0").trim())
    };
    let online = cpus("online");
    let threads = online.len();
    let queues = |&cpu| Queues { cpu, numbers: vec![cpu as u16], threads };
    let mut all: Vec<_> = online.iter().map(queues).collect();
    let absent = cpus("possible").into_iter().filter(|cpu| !online.contains(cpu));
    for (i, cpu) in absent.enumerate() {
        all[i % threads].numbers.push(cpu as u16);
    }
    all
}

/// Parses a list such as `0-3,8`.
fn cpu_list(list: &str) -> Vec<usize> {
    let ranges = list.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}

/// Requests that one CPU can have in flight. Each can take up to [`MAX_REQUEST`] of memory.
fn depth(threads: usize) -> usize {
    (128 / threads.max(1)).clamp(8, 48)
}

/// Serves `queues` until the mount is gone or `stop` is raised. Reports once whether it has
/// started.
pub(super) fn serve(
    fuse: BorrowedFd<'_>,
    session: &Session,
    io_target: &IoTarget,
    stop: &Stop,
    queues: &Queues,
    report: &Sender<io::Result<()>>,
) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(queues.cpu);
    // If pinning is not allowed, requests move between CPUs but still arrive.
    let _ = rustix::thread::sched_setaffinity(None, &set);
    let done = match Done::new() {
        Ok(done) => done,
        Err(e) => return drop(report.send(Err(e))),
    };
    let (jobs, lane) = slow::lane();
    std::thread::scope(|scope| {
        let done = &done;
        scope.spawn(move || slow::run(session, stop, &lane, done));
        match Worker::new(fuse, session, io_target, queues, done, jobs) {
            Ok(mut worker) => match worker.begin(stop) {
                Ok(()) => {
                    let _ = report.send(Ok(()));
                    // After an error of the ring itself nobody can be told; the server ends.
                    let _ = worker.run();
                }
                Err(e) => drop(report.send(Err(e))),
            },
            Err(e) => drop(report.send(Err(e))),
        }
    });
}

/// What an entry is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waiting in the kernel for a request.
    Fetching,
    Reading,
    Writing,
    /// Flushing, or in the slow lane.
    Elsewhere,
    /// The kernel has released the entry.
    Dead,
}

/// One request at a time, and its memory.
struct Entry {
    queue: u16,
    state: State,
    unique: u64,
    commit_id: u64,
    /// Offset of the request on the device.
    offset: u64,
    len: usize,
    /// Bytes that the disk has transferred so far.
    moved: usize,
    /// Whether the entry holds its range, as a write does on its way to the disk.
    held: bool,
}

struct Worker<'a> {
    // Dropped before the memory that it uses.
    ring: Ring,
    arena: Arena,
    entries: Vec<Entry>,
    /// Addresses of each entry's parts. The kernel reads them when it processes an entry's
    /// registration, possibly after the call that requests it.
    vectors: Vec<[Vector; 2]>,
    session: &'a Session,
    io_target: &'a IoTarget,
    done: &'a Done,
    jobs: Sender<Job>,
    /// Requests that the disk or the slow lane is working on.
    in_flight: usize,
    /// Entries that the kernel has released.
    dead: usize,
    stopping: bool,
}

impl<'a> Worker<'a> {
    fn new(
        fuse: BorrowedFd<'_>,
        session: &'a Session,
        io_target: &'a IoTarget,
        queues: &Queues,
        done: &'a Done,
        jobs: Sender<Job>,
    ) -> io::Result<Self> {
        let mut entries = Vec::new();
        for (i, &queue) in queues.numbers.iter().enumerate() {
            let depth = if i == 0 { depth(queues.threads) } else { 1 };
            entries.extend((0..depth).map(|_| Entry {
                queue,
                state: State::Fetching,
                unique: 0,
                commit_id: 0,
                offset: 0,
                len: 0,
                moved: 0,
                held: false,
            }));
        }
        let headers = (entries.len() * HEADER_STRIDE).next_multiple_of(MAX_REQUEST);
        let arena = Arena::new(headers + entries.len() * MAX_REQUEST)?;
        let ring = Ring::new(fuse, io_target, entries.len() + 2)?;
        Ok(Self {
            ring,
            arena,
            entries,
            vectors: Vec::new(),
            session,
            io_target,
            done,
            jobs,
            in_flight: 0,
            dead: 0,
            stopping: false,
        })
    }

    /// Offers every entry to the kernel.
    fn begin(&mut self, stop: &Stop) -> io::Result<()> {
        self.vectors = (0..self.entries.len())
            .map(|entry| {
                let header = self.header(entry).as_mut_ptr();
                let payload = self.payload(entry).as_mut_ptr();
                [
                    Vector { start: header, len: REQUEST_HEADER },
                    Vector { start: payload, len: MAX_REQUEST },
                ]
            })
            .collect();
        for (entry, parts) in self.vectors.iter().enumerate() {
            // SAFETY: both parts lie in the arena, which outlives the ring. So does `vectors`,
            // which does not change any more. Nobody accesses the parts before the entry is
            // fetched.
            unsafe { self.ring.register(self.entries[entry].queue, entry, parts) }?;
        }
        self.ring.watch(stop.as_fd(), STOPPED)?;
        self.ring.watch(self.done.as_fd(), SLOW_DONE)?;
        self.ring.submit()?;
        let mut early = Vec::new();
        self.ring.take(&mut early);
        for &(tag, result) in &early {
            if matches!(tag, Tag::Fetch(_)) && result < 0 {
                return Err(io::Error::from_raw_os_error(-result));
            }
        }
        early.into_iter().try_for_each(|(tag, result)| self.handle(tag, result))
    }

    fn run(&mut self) -> io::Result<()> {
        let mut completions = Vec::new();
        while self.in_flight > 0 || !(self.stopping || self.dead == self.entries.len()) {
            self.ring.wait(&mut completions)?;
            for (tag, result) in completions.drain(..) {
                self.handle(tag, result)?;
            }
        }
        // Submits the last replies, which are only queued so far.
        self.ring.submit()
    }

    fn handle(&mut self, tag: Tag, result: i32) -> io::Result<()> {
        match tag {
            Tag::Fetch(entry) if result < 0 => {
                self.entries[entry].state = State::Dead;
                self.dead += 1;
                Ok(())
            }
            Tag::Fetch(_) if self.stopping => Ok(()),
            Tag::Fetch(entry) => self.begin_request(entry),
            Tag::Transfer(entry) => self.end_transfer(entry, result),
            Tag::Flush(entry) => {
                self.in_flight -= 1;
                if result < 0 {
                    self.session.bytes.note_failed_flush();
                }
                let done = if result < 0 { Err(self.failed(result)) } else { Ok(0) };
                self.reply(entry, done)
            }
            Tag::Event(STOPPED) => {
                self.stopping = true;
                Ok(())
            }
            Tag::Event(_) => {
                for (entry, result) in self.done.take() {
                    self.in_flight -= 1;
                    self.end_slow(entry, result)?;
                }
                self.ring.watch(self.done.as_fd(), SLOW_DONE)
            }
        }
    }

    /// Dispatches a request that has just arrived.
    fn begin_request(&mut self, entry: usize) -> io::Result<()> {
        let mut copy = [0; REQUEST_HEADER];
        copy.copy_from_slice(self.header(entry));
        let payload_size = abi::u32_at(&copy, PAYLOAD_SIZE_AT).map_or(0, |n| n as usize);
        self.entries[entry].commit_id = abi::u64_at(&copy, COMMIT_ID_AT).unwrap_or(0);
        let Some(header) = Header::parse(&copy) else { return Ok(()) };
        self.entries[entry].unique = header.unique;
        let operation = &copy[OPERATION_AT..COMMIT_ID_AT - 8];
        let mut out = [0; 1024];
        let session = self.session;
        let payload = &self.payload(entry)[..payload_size.min(1024)];
        // Of the requests that are answered here, only names lie in the payload.
        let answered = match Request::parse(header.opcode, operation, payload) {
            None | Some(Request::Init { .. }) => Err(Errno::INVAL),
            Some(Request::Read { offset, size }) if size <= MAX_REQUEST => {
                return self.begin_read(entry, offset, size);
            }
            Some(Request::Write { offset, size, sync }) if size == payload_size => {
                return self.begin_write(entry, offset, size, sync);
            }
            Some(Request::Read { .. } | Request::Write { .. }) => Err(Errno::INVAL),
            Some(Request::Fsync) => {
                self.session.counters.flush();
                if self.session.bytes.flush_failed() {
                    let failed = self.failed(-Errno::IO.raw_os_error());
                    return self.reply(entry, Err(failed));
                }
                self.entries[entry].state = State::Elsewhere;
                self.in_flight += 1;
                return self.ring.flush(entry);
            }
            Some(Request::Fallocate { offset, len, mode }) => {
                return self.go_slow(entry, Work::Fallocate { offset, len, mode }, 0);
            }
            Some(request) => session.answer(header.node, &request, &mut out),
        };
        if let Ok(len) = answered {
            self.payload(entry)[..len].copy_from_slice(&out[..len]);
        }
        self.reply(entry, answered)
    }

    fn begin_read(&mut self, entry: usize, offset: u64, size: usize) -> io::Result<()> {
        let len = self.session.bytes.clip(offset, size);
        if len == 0 {
            return self.reply(entry, Ok(0));
        }
        if !self.session.bytes.is_whole(offset, len) {
            return self.go_slow(entry, Work::Read { offset }, len);
        }
        self.session.counters.read(len);
        self.begin_transfer(entry, State::Reading, offset, len)
    }

    fn begin_write(
        &mut self,
        entry: usize,
        offset: u64,
        size: usize,
        sync: bool,
    ) -> io::Result<()> {
        let len = match self.session.admit_write(offset, size) {
            Ok(0) => return self.reply_written(entry, 0),
            Ok(len) => len,
            Err(e) => return self.reply(entry, Err(e)),
        };
        let range = offset..offset + len as u64;
        // A write that must be durable waits for the disk twice, so it goes to the lane that may
        // wait.
        if sync
            || !self.session.bytes.is_whole(offset, len)
            || !self.session.bytes.stripes().try_acquire(&range, Hold::Shared)
        {
            return self.go_slow(entry, Work::Write { offset, sync }, len);
        }
        // Released when the request or this thread ends: from here on the range is known.
        let request = &mut self.entries[entry];
        (request.offset, request.len, request.held) = (offset, len, true);
        self.session.counters.write(len);
        let io_target = self.io_target;
        if let Some(transform) = &io_target.transform {
            transform.seal_in_place(offset, &mut self.payload(entry)[..len]);
        }
        self.begin_transfer(entry, State::Writing, offset, len)
    }

    fn begin_transfer(
        &mut self,
        entry: usize,
        state: State,
        offset: u64,
        len: usize,
    ) -> io::Result<()> {
        let request = &mut self.entries[entry];
        (request.state, request.offset, request.len, request.moved) = (state, offset, len, 0);
        self.in_flight += 1;
        self.transfer(entry)
    }

    /// Starts the transfer of the rest of a request.
    fn transfer(&mut self, entry: usize) -> io::Result<()> {
        let Entry { state, offset, len, moved, .. } = self.entries[entry];
        let left = &mut self.payload(entry)[moved..len];
        let (data, len) = (left.as_mut_ptr(), left.len() as u32);
        let on_disk = self.io_target.extent.offset + offset + moved as u64;
        // SAFETY: the bytes lie in the entry's data, which nobody touches until the disk has
        // finished.
        unsafe {
            if state == State::Reading {
                self.ring.read(data, len, on_disk, Tag::Transfer(entry))
            } else {
                self.ring.write(data, len, on_disk, Tag::Transfer(entry))
            }
        }
    }

    fn end_transfer(&mut self, entry: usize, result: i32) -> io::Result<()> {
        if [Errno::INTR, Errno::AGAIN].iter().any(|e| result == -e.raw_os_error()) {
            return self.transfer(entry);
        }
        let request = &mut self.entries[entry];
        request.moved += result.max(0) as usize;
        let (state, offset, len) = (request.state, request.offset, request.len);
        if result > 0 && request.moved < len {
            // A short transfer continues where it stopped.
            return self.transfer(entry);
        }
        self.in_flight -= 1;
        self.give_back(entry);
        if result <= 0 {
            // Reaching the end of a file that was truncated below is an error, too.
            let error = if result < 0 { result } else { -Errno::IO.raw_os_error() };
            let error = self.failed(error);
            return self.reply(entry, Err(error));
        }
        if state == State::Writing {
            return self.reply_written(entry, len);
        }
        let io_target = self.io_target;
        if let Some(transform) = &io_target.transform {
            transform.open(offset, &mut self.payload(entry)[..len]);
        }
        self.reply(entry, Ok(len))
    }

    fn go_slow(&mut self, entry: usize, work: Work, len: usize) -> io::Result<()> {
        self.entries[entry].state =
            if matches!(work, Work::Write { .. }) { State::Writing } else { State::Elsewhere };
        self.in_flight += 1;
        let data = self.payload(entry)[..len].as_mut_ptr();
        let job = Job { entry, work, data, len };
        self.jobs.send(job).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn end_slow(&mut self, entry: usize, result: Result<usize, Errno>) -> io::Result<()> {
        match result {
            Ok(len) if self.entries[entry].state == State::Writing => {
                self.reply_written(entry, len)
            }
            other => self.reply(entry, other),
        }
    }

    fn reply_written(&mut self, entry: usize, len: usize) -> io::Result<()> {
        let mut reply = abi::Reply::new(self.payload(entry));
        reply.u32(len as u32).u32(0);
        let len = reply.len();
        self.reply(entry, Ok(len))
    }

    /// Replies with the given number of bytes of the entry's data, or with an error, and fetches
    /// the next request.
    fn reply(&mut self, entry: usize, result: Result<usize, Errno>) -> io::Result<()> {
        let Entry { queue, unique, commit_id, .. } = self.entries[entry];
        let out = abi::out_header(unique, result.map_err(Errno::raw_os_error));
        let payload = result.unwrap_or(0) as u32;
        let header = self.header(entry);
        header[..out.len()].copy_from_slice(&out);
        header[PAYLOAD_SIZE_AT..PAYLOAD_SIZE_AT + 4].copy_from_slice(&payload.to_ne_bytes());
        self.entries[entry].state = State::Fetching;
        self.ring.commit(queue, entry, commit_id)
    }

    /// Releases an entry's range if it holds one.
    fn give_back(&mut self, entry: usize) {
        let request = &mut self.entries[entry];
        if std::mem::take(&mut request.held) {
            let range = request.offset..request.offset + request.len as u64;
            self.session.bytes.stripes().release(&range, Hold::Shared);
        }
    }

    fn failed(&self, negative: i32) -> Errno {
        self.session.failed(&io::Error::from_raw_os_error(-negative))
    }

    fn header(&mut self, entry: usize) -> &mut [u8] {
        self.arena.part(entry * HEADER_STRIDE, REQUEST_HEADER)
    }

    fn payload(&mut self, entry: usize) -> &mut [u8] {
        let headers = (self.entries.len() * HEADER_STRIDE).next_multiple_of(MAX_REQUEST);
        self.arena.part(headers + entry * MAX_REQUEST, MAX_REQUEST)
    }
}

impl Drop for Worker<'_> {
    /// A thread can end before its requests do, because of a ring error or a panic. It then leaves
    /// their memory to those that still use it: the slow lane, or the kernel, which closes rings
    /// later on its own. Nobody waits for their ranges any more, because the server is ending.
    fn drop(&mut self) {
        if self.in_flight > 0 {
            self.arena.leak();
        }
        for entry in 0..self.entries.len() {
            self.give_back(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::cpu_list;

    #[test]
    fn lists_of_cpus_are_read_as_the_kernel_writes_them() {
        assert_eq!(cpu_list("0"), [0]);
        assert_eq!(cpu_list("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(cpu_list(""), [] as [usize; 0]);
    }
}
