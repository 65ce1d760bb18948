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
use super::requests::{Answer, Requests};
use super::ring::{COMMIT_ID_AT, OPERATION_AT, PAYLOAD_SIZE_AT, REQUEST_HEADER, Ring, Tag, Vector};
use super::session::{LONG, MAX_REQUEST, Session};
use super::slow::{self, Done, Job};
use crate::stop::Stop;

/// Bytes between the headers of two entries.
const HEADER_STRIDE: usize = 512;

/// Threads of a ring for requests that would hold it up.
const LANES: usize = 4;

const STOPPED: usize = 0;
const SLOW_DONE: usize = 1;
const FENCE: usize = 2;

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
    let done = match Done::new() {
        Ok(done) => done,
        Err(e) => return drop(report.send(Err(e))),
    };
    let (jobs, lane) = slow::lane();
    std::thread::scope(|scope| {
        let (done, lane) = (&done, &lane);
        for _ in 0..LANES {
            scope.spawn(move || slow::run(session, stop, lane, done));
        }
        let mut set = rustix::thread::CpuSet::new();
        set.set(queues.cpu);
        // After the threads above, which run wherever there is room. If pinning is not allowed,
        // requests move between CPUs but still arrive.
        let _ = rustix::thread::sched_setaffinity(None, &set);
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

/// What the kernel has said of the request in a slot.
struct Entry {
    queue: u16,
    unique: u64,
    commit_id: u64,
    /// Whether a worker of the kernel copies the reply.
    aside: bool,
}

struct Worker<'a> {
    requests: Requests<'a>,
    entries: Vec<Entry>,
    /// Addresses of each entry's parts. The kernel reads them when it processes an entry's
    /// registration, possibly after the call that requests it.
    vectors: Vec<[Vector; 2]>,
    done: &'a Done,
    /// Entries that the kernel has released.
    dead: usize,
    stopping: bool,
    /// Whether the replies that others copy are on their way, after a stop.
    fenced: bool,
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
            let idle = |_| Entry { queue, unique: 0, commit_id: 0, aside: false };
            entries.extend((0..depth).map(idle));
        }
        let slots = entries.len();
        let first = (slots * HEADER_STRIDE).next_multiple_of(MAX_REQUEST);
        let ring = Ring::new(fuse, io_target, slots + 3)?;
        let requests = Requests::new(ring, (first, slots), session, io_target, done, jobs)?;
        let vectors = Vec::new();
        Ok(Self { requests, entries, vectors, done, dead: 0, stopping: false, fenced: false })
    }

    /// Offers every entry to the kernel.
    fn begin(&mut self, stop: &Stop) -> io::Result<()> {
        self.vectors = (0..self.entries.len())
            .map(|slot| {
                let header = self.header(slot).as_mut_ptr();
                let payload = self.requests.payload(slot).as_mut_ptr();
                [
                    Vector { start: header, len: REQUEST_HEADER },
                    Vector { start: payload, len: MAX_REQUEST },
                ]
            })
            .collect();
        let ring = &mut self.requests.ring;
        for (slot, parts) in self.vectors.iter().enumerate() {
            // SAFETY: both parts lie in the arena, which outlives the ring. So does `vectors`,
            // which does not change any more. Nobody accesses the parts before the entry is
            // fetched.
            unsafe { ring.register(self.entries[slot].queue, slot, parts) }?;
        }
        ring.watch(stop.as_fd(), STOPPED)?;
        ring.watch(self.done.as_fd(), SLOW_DONE)?;
        ring.submit()?;
        let mut early = Vec::new();
        ring.take(&mut early);
        for &(tag, result) in &early {
            if matches!(tag, Tag::Fetch(_)) && result < 0 {
                return Err(io::Error::from_raw_os_error(-result));
            }
        }
        early.into_iter().try_for_each(|(tag, result)| self.handle(tag, result))
    }

    fn run(&mut self) -> io::Result<()> {
        let mut completions = Vec::new();
        while self.requests.in_flight() > 0 || !(self.fenced || self.dead == self.entries.len()) {
            self.requests.ring.wait(&mut completions)?;
            for (tag, result) in completions.drain(..) {
                self.handle(tag, result)?;
            }
        }
        // Submits the last replies, which are only queued so far.
        self.requests.ring.submit()
    }

    fn handle(&mut self, tag: Tag, result: i32) -> io::Result<()> {
        if let Tag::Fetch(slot) = tag
            && std::mem::take(&mut self.entries[slot].aside)
        {
            self.requests.lent -= 1;
        }
        match tag {
            Tag::Fetch(_) if result < 0 => {
                self.dead += 1;
                Ok(())
            }
            Tag::Fetch(_) if self.stopping => Ok(()),
            Tag::Fetch(slot) => self.begin_request(slot),
            Tag::Transfer(slot) => {
                let answer = self.requests.end_transfer(slot, result)?;
                self.reply(slot, answer)
            }
            Tag::Flush(slot) => {
                let answer = self.requests.end_flush(slot, result);
                self.reply(slot, answer)
            }
            Tag::Event(STOPPED) => {
                self.stopping = true;
                self.requests.ring.fence(FENCE)
            }
            Tag::Event(FENCE) => {
                self.fenced = true;
                Ok(())
            }
            Tag::Event(_) => {
                for (slot, answer) in self.requests.end_slow() {
                    self.reply(slot, answer)?;
                }
                self.requests.ring.watch(self.done.as_fd(), SLOW_DONE)
            }
        }
    }

    /// Dispatches a request that has just arrived.
    fn begin_request(&mut self, slot: usize) -> io::Result<()> {
        let mut copy = [0; REQUEST_HEADER];
        copy.copy_from_slice(self.header(slot));
        let payload_size = abi::u32_at(&copy, PAYLOAD_SIZE_AT).map_or(0, |n| n as usize);
        self.entries[slot].commit_id = abi::u64_at(&copy, COMMIT_ID_AT).unwrap_or(0);
        let Some(header) = Header::parse(&copy) else { return Ok(()) };
        self.entries[slot].unique = header.unique;
        let operation = &copy[OPERATION_AT..COMMIT_ID_AT - 8];
        // Of the requests that have more than a structure, reads and writes aside, only names lie
        // in the payload.
        let mut names = [0; 512];
        let names = &mut names[..payload_size.min(512)];
        if abi::arguments_len(header.opcode) == 0 {
            names.copy_from_slice(&self.requests.payload(slot)[..names.len()]);
        }
        let request = Request::parse(header.opcode, operation, names)
            .filter(|r| !matches!(r, Request::Write { size, .. } if *size != payload_size));
        let answer = self.requests.begin(slot, header.node, request)?;
        self.reply(slot, answer)
    }

    /// Replies if there is an answer, with the given number of bytes of the slot's data or with an
    /// error, and fetches the next request.
    fn reply(&mut self, slot: usize, answer: Answer) -> io::Result<()> {
        let Some(result) = answer else { return Ok(()) };
        let Entry { queue, unique, commit_id, .. } = self.entries[slot];
        let out = abi::out_header(unique, result.map_err(Errno::raw_os_error));
        let payload = result.unwrap_or(0) as u32;
        let header = self.header(slot);
        header[..out.len()].copy_from_slice(&out);
        header[PAYLOAD_SIZE_AT..PAYLOAD_SIZE_AT + 4].copy_from_slice(&payload.to_ne_bytes());
        if (payload as usize) < LONG || self.stopping {
            return self.requests.ring.commit(queue, slot, commit_id);
        }
        self.entries[slot].aside = true;
        self.requests.lent += 1;
        self.requests.ring.commit_aside(queue, slot, commit_id)
    }

    fn header(&mut self, slot: usize) -> &mut [u8] {
        self.requests.arena.part(slot * HEADER_STRIDE, REQUEST_HEADER)
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
