//! Requests over io_uring: as many threads as there are CPUs take requests from the kernel, read and
//! write the disk, and encrypt. Short requests go from none to another thread; long ones go to the
//! [worker pool](super::long).
//!
//! Source of the protocol: `Documentation/filesystems/fuse/fuse-io-uring.rst` and
//! `fs/fuse/dev_uring.c` of Linux 6.14 and later. The kernel gives each CPU a queue, and puts a
//! request into the queue of the CPU that issued it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use cryptbench_blockdev::IoTarget;

use super::entry::{self, Copied};
use super::long::{Lent, Pool, is_long};
use super::requests::{Answer, Requests};
use super::ring::{Ring, Tag, Vector};
use super::session::Session;
use super::slow::{self, Done, Job, Outcome};
use crate::stop::Stop;

/// Threads of a ring for requests that would hold it up.
const LANES: usize = 4;

/// The events that a ring watches.
const STOPPED: usize = 0;
const TOLD: usize = 1;
const EVENTS: usize = 2;

/// The kernel's queues that a ring takes requests of, each with the number of entries.
pub(super) type Queues = Vec<(u16, usize)>;

/// All rings of a server: made before its process is confined, and before INIT agrees on io_uring,
/// after which there is no way back.
pub(super) struct Rings {
    /// As many as CPUs are online. Together they cover every possible CPU, whose queue the kernel puts
    /// its requests into.
    pub(super) queues: Vec<(Queues, Ring)>,
    /// Those of the worker pool.
    pub(super) pool: Vec<Ring>,
}

impl Rings {
    /// `None` if this process gets none, or the CPUs are not known.
    pub(super) fn new(pool: usize) -> Option<Self> {
        let cpus = |file| {
            let list = std::fs::read_to_string(format!("/sys/devices/system/cpu/{file}"));
            list.ok().map(|list| cpu_list(list.trim())).filter(|cpus| !cpus.is_empty())
        };
        let with_ring = |queues: Queues| {
            let entries: usize = queues.iter().map(|(_, depth)| depth).sum();
            Some((queues, Ring::new(entries + EVENTS).ok()?))
        };
        let all = share(&cpus("online")?, &cpus("possible")?);
        let queues = all.into_iter().map(with_ring).collect::<Option<_>>()?;
        let pool = (0..pool).map(|_| Ring::new(1 + EVENTS).ok()).collect::<Option<_>>()?;
        Some(Self { queues, pool })
    }

    /// Gives each the two files that it works on.
    pub(super) fn open(&mut self, fuse: BorrowedFd<'_>, io_target: &IoTarget) -> io::Result<()> {
        let queues = self.queues.iter_mut().map(|(_, ring)| ring);
        queues.chain(&mut self.pool).try_for_each(|ring| ring.open(fuse, io_target))
    }
}

/// With more than two CPUs each queue is shared by two rings, so that one CPU's requests do not all
/// wait for one thread. With two, the other CPU is busy with whoever sends them, and sharing only
/// wakes more threads: a request measured 5 to 15 % more CPU time.
fn share(online: &[usize], possible: &[usize]) -> Vec<Queues> {
    let rings = online.len().max(1);
    let sharers = if rings > 2 { 2 } else { 1 };
    let depth = depth(rings) / sharers;
    let mut all = vec![Queues::new(); rings];
    for (i, &cpu) in online.iter().enumerate() {
        for sharer in 0..sharers {
            all[(i + sharer) % rings].push((cpu as u16, depth));
        }
    }
    let absent = possible.iter().filter(|cpu| !online.contains(cpu));
    for (i, &cpu) in absent.enumerate() {
        all[i % rings].push((cpu as u16, 1));
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

/// Entries of each queue. Each can take up to [`MAX_REQUEST`](super::session::MAX_REQUEST) of memory.
///
/// Requests beyond these wait in the kernel, which adds the next one to each reply without waking
/// anybody. Small requests become faster up to 20, as more of them reach the disk at once. With 22 and
/// more, large reads measured up to a fifth slower: all that are under way reach the disk at once and
/// come back at once, so that disk and CPUs work by turns.
fn depth(rings: usize) -> usize {
    (256 / rings).clamp(8, 20)
}

/// Ends the worker pool with the first ring that ends.
struct EndsPool<'a>(&'a Pool);

impl Drop for EndsPool<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Serves `queues` by `ring` until the mount is gone or `stop` is raised. Reports once whether it has
/// started.
pub(super) fn serve(
    session: &Session,
    io_target: &IoTarget,
    stop: &Stop,
    (queues, ring): (Queues, Ring),
    pool: &Pool,
    report: &Sender<io::Result<()>>,
) {
    let _end = EndsPool(pool);
    let done = match Done::new() {
        Ok(done) => Arc::new(done),
        Err(e) => return drop(report.send(Err(e))),
    };
    let (jobs, lane) = slow::lane();
    std::thread::scope(|scope| {
        let lane = &lane;
        for _ in 0..LANES {
            let done = Arc::clone(&done);
            scope.spawn(move || slow::run(session, stop, lane, &done));
        }
        let made = Worker::new(session, io_target, (&queues, ring), (done, pool), jobs);
        match made.and_then(|mut worker| worker.begin(stop).map(|()| worker)) {
            Ok(mut worker) => {
                let _ = report.send(Ok(()));
                // After an error of the ring itself nobody can be told; the server ends.
                let _ = worker.run();
            }
            Err(e) => drop(report.send(Err(e))),
        }
    });
}

struct Worker<'a> {
    requests: Requests<'a>,
    /// Addresses of each entry's parts. The kernel reads them when it processes an entry's
    /// registration, possibly after the call that requests it.
    vectors: Vec<[Vector; 2]>,
    done: Arc<Done>,
    pool: &'a Pool,
    /// Entries that the kernel has released.
    dead: usize,
    stopping: bool,
}

impl<'a> Worker<'a> {
    fn new(
        session: &'a Session,
        io_target: &'a IoTarget,
        (queues, mut ring): (&Queues, Ring),
        (done, pool): (Arc<Done>, &'a Pool),
        jobs: Sender<Job>,
    ) -> io::Result<Self> {
        let of = |&(queue, depth): &(u16, usize)| std::iter::repeat_n(queue, depth);
        let mut entries = entry::entries(&queues.iter().flat_map(of).collect::<Vec<_>>())?;
        let vectors = entries.iter_mut().map(entry::Entry::vectors).collect();
        if let Some(entry) = entries.first() {
            let (start, len) = entry.arena();
            // SAFETY: the arena outlives the ring, which `Requests` drops first.
            unsafe { ring.pin(start, len) };
        }
        ring.enable()?;
        let requests = Requests::new(ring, entries, session, io_target, jobs);
        Ok(Self { requests, vectors, done, pool, dead: 0, stopping: false })
    }

    /// Offers every entry to the kernel.
    fn begin(&mut self, stop: &Stop) -> io::Result<()> {
        for slot in 0..self.vectors.len() {
            let Some(queue) = self.requests.entry(slot).as_ref().map(|entry| entry.queue) else {
                continue;
            };
            // SAFETY: both parts lie in the entry's arena, which outlives the ring. So does
            // `vectors`, which does not change any more. Nobody accesses the parts before the entry
            // is fetched.
            unsafe { self.requests.ring.register(queue, slot, &self.vectors[slot]) }?;
        }
        let ring = &mut self.requests.ring;
        ring.watch(stop.as_fd(), STOPPED)?;
        ring.watch(self.done.as_fd(), TOLD)?;
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
        while self.requests.in_flight() > 0 || !(self.stopping || self.dead == self.vectors.len()) {
            self.requests.ring.wait(&mut completions)?;
            for (tag, result) in completions.drain(..) {
                self.handle(tag, result)?;
            }
        }
        // Submits the last replies, which are only queued so far.
        self.requests.ring.submit()
    }

    fn handle(&mut self, tag: Tag, result: i32) -> io::Result<()> {
        match tag {
            Tag::Fetch(_) if result < 0 => {
                self.dead += 1;
                Ok(())
            }
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
                Ok(())
            }
            Tag::Event(_) => {
                for (slot, outcome) in self.done.take() {
                    self.hear(slot, outcome)?;
                }
                self.requests.ring.watch(self.done.as_fd(), TOLD)
            }
        }
    }

    /// Goes on after what another thread says of a slot.
    fn hear(&mut self, slot: usize, outcome: Outcome) -> io::Result<()> {
        match outcome {
            Outcome::Finished(result) => {
                let answer = self.requests.end_slow(slot, result);
                self.reply(slot, answer)
            }
            Outcome::Returned(entry) => {
                *self.requests.entry(slot) = Some(entry);
                self.begin_request(slot)
            }
            Outcome::Released => {
                self.dead += 1;
                Ok(())
            }
        }
    }

    /// Dispatches a request that has just arrived.
    fn begin_request(&mut self, slot: usize) -> io::Result<()> {
        if self.stopping {
            return Ok(());
        }
        let place = self.requests.entry(slot);
        let Some(mut entry) = place.take() else { return Ok(()) };
        let mut copy = Copied::default();
        let arrived = entry.request(&mut copy);
        let long = matches!(&arrived, Some((_, Some(request))) if is_long(request));
        if long {
            match self.pool.lend(Lent { entry, slot, home: Arc::clone(&self.done) }) {
                Ok(()) => return Ok(()),
                Err(lent) => entry = lent.entry,
            }
        }
        *place = Some(entry);
        let Some((node, request)) = arrived else { return Ok(()) };
        let answer = self.requests.begin(slot, node, request)?;
        self.reply(slot, answer)
    }

    /// Replies if there is an answer, with the given number of bytes of the slot's data or with an
    /// error, and fetches the next request.
    fn reply(&mut self, slot: usize, answer: Answer) -> io::Result<()> {
        let Some(result) = answer else { return Ok(()) };
        let Some(entry) = self.requests.entry(slot) else { return Ok(()) };
        entry.answer(result);
        let (queue, commit_id) = (entry.queue, entry.commit_id);
        self.requests.ring.commit(queue, slot, commit_id)
    }
}

#[cfg(test)]
mod tests {
    use super::{cpu_list, share};

    #[test]
    fn lists_of_cpus_are_read_as_the_kernel_writes_them() {
        assert_eq!(cpu_list("0"), [0]);
        assert_eq!(cpu_list("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(cpu_list(""), [] as [usize; 0]);
    }

    #[test]
    fn every_queue_has_its_entries_and_absent_cpus_have_one() {
        assert_eq!(share(&[0], &[0]), [[(0, 20)]]);
        assert_eq!(share(&[0, 1], &[0, 1]), [[(0, 20)], [(1, 20)]]);
        for cpus in [2, 3, 8, 128] {
            let online: Vec<usize> = (0..cpus).collect();
            let all = share(&online, &(0..cpus + 3).collect::<Vec<_>>());
            assert_eq!(all.len(), cpus);
            for cpu in 0..cpus as u16 + 3 {
                let of: Vec<usize> =
                    all.iter().flatten().filter(|(queue, _)| *queue == cpu).map(|q| q.1).collect();
                let expected = match cpus {
                    _ if cpu as usize >= cpus => vec![1],
                    2 => vec![20],
                    128 => vec![4, 4],
                    _ => vec![10, 10],
                };
                assert_eq!(of, expected, "{cpu} of {cpus}");
            }
        }
    }
}
