//! Rings that are created at the start, because a confined process cannot create rings.
#![expect(clippy::disallowed_methods, reason = "files of the kernel")]

use std::io;
use std::os::fd::BorrowedFd;

use cryptbench_blockdev::{IoTarget, never_waits};

use super::ring::Ring;

/// Events that a ring watches in addition to its slots.
const EVENTS: usize = 2;

/// The kernel queues from which a ring receives requests, each with the number of slots.
pub(crate) type Queues = Vec<(u16, usize)>;

/// The resources of a server that a confined process cannot create.
pub struct Prepared(pub(crate) Option<Rings>);

impl Prepared {
    /// For a server without rings.
    pub fn nothing() -> Self {
        Self(None)
    }

    /// Creates rings for a server with this number of threads, if rings are available.
    pub fn rings(threads: usize) -> Self {
        Self(Rings::new(threads))
    }

    /// Whether the process will use rings, which have been created in advance.
    pub fn has_rings(&self) -> bool {
        self.0.is_some()
    }
}

/// All rings of a server.
pub(crate) struct Rings {
    /// The rings, one per online CPU. Together, the rings cover every possible CPU, because FUSE puts a request into
    /// the queue of the CPU that issues it.
    pub(crate) queues: Vec<(Queues, Ring)>,
    /// The rings of FUSE's worker pool, twice as many as the configured threads: some rings wait for the next request
    /// on one CPU while requests arrive on another CPU.
    pub(crate) pool: Vec<Ring>,
    /// Page size in bytes, which a confined process cannot query.
    pub(crate) page: usize,
}

impl Rings {
    /// `None` if this process cannot create rings, or the CPUs are unknown.
    pub(crate) fn new(threads: usize) -> Option<Self> {
        let with_ring = |queues: Queues| {
            let slots: usize = queues.iter().map(|(_, depth)| depth).sum();
            Some((queues, Ring::new(slots + EVENTS).ok()?))
        };
        let all = share(&cpus("online")?, &cpus("possible")?);
        let queues = all.into_iter().map(with_ring).collect::<Option<_>>()?;
        let pool = (0..2 * threads.max(1)).map(|_| Ring::new(1 + EVENTS).ok());
        let page = rustix::param::page_size();
        Some(Self { queues, pool: pool.collect::<Option<_>>()?, page })
    }

    /// Sets the two files that each ring accesses.
    pub(crate) fn open(&mut self, kernel: BorrowedFd<'_>, io_target: &IoTarget) -> io::Result<()> {
        // Marks a file in RAM as non-blocking: otherwise, each request to it would go through a worker thread. A ring
        // reads this mark only when the file is registered.
        let _ = never_waits(&io_target.file);
        let queues = self.queues.iter_mut().map(|(_, ring)| ring);
        queues.chain(&mut self.pool).try_for_each(|ring| ring.open(kernel, io_target))
    }
}

/// The CPUs that are `online` or `possible`; `None` if these are unknown.
pub(crate) fn cpus(which: &str) -> Option<Vec<usize>> {
    let list = std::fs::read_to_string(format!("/sys/devices/system/cpu/{which}"));
    list.ok().map(|list| cpu_list(list.trim())).filter(|cpus| !cpus.is_empty())
}

/// Maximum number of slots in a FUSE queue.
///
/// Requests beyond this number wait in the kernel, which delivers the next request with each reply, without a wake-up.
/// Up to 20 slots, small requests become faster, because more of these requests reach the disk concurrently. With 22 or
/// more slots, large reads were up to 20 % slower in measurements: all reads reach the disk and return together, so
/// that the disk and the CPUs work alternately.
const MOST: usize = 20;

/// With more than two CPUs each queue is shared by two rings, so that not all of a CPU's requests wait for the same
/// thread. With two CPUs, the other CPU is busy with the sender, and sharing only wakes more threads: each request then
/// took 5 to 15 % more CPU time.
fn share(online: &[usize], possible: &[usize]) -> Vec<Queues> {
    let rings = online.len().max(1);
    let sharers = if rings > 2 { 2 } else { 1 };
    let depth = depth(rings, MOST) / sharers;
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

/// Number of slots for each of this many queues, at most `most`. Each slot can use up to
/// [`MAX_REQUEST`](super::MAX_REQUEST) bytes of memory.
pub(crate) fn depth(queues: usize, most: usize) -> usize {
    (256 / queues).clamp(8, most)
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
    fn every_queue_has_its_slots_and_absent_cpus_have_one() {
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
