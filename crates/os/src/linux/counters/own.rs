//! CPU time of this process by purpose: submitting the load, serving the load, or kernel work for either.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::task::{self, TaskClock, Waits, used};
use crate::counters::Switches;

/// Prefix of the names of the load engine's threads.
const LOAD: &str = "load-";

/// Prefixes of the names of io_uring's threads (Linux, io_uring/io-wq.c and io_uring/sqpoll.c): tasks of this process
/// that never leave the kernel. The prefix is followed by the ID of the thread for which they work.
const KERNEL: [&str; 2] = ["iou-wrk-", "iou-sqp-"];

/// The purpose of a thread of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Generator,
    Server,
    Kernel,
    Other,
}

/// Distinguishes the threads of this process.
pub(super) struct OwnThreads {
    /// `/proc/self/task`.
    tasks: PathBuf,
    clock: TaskClock,
    /// The first thread of the process, and the thread that created this value. Both threads only wait while other
    /// threads work.
    issuing: [u32; 2],
    /// Prefixes of the names of threads that serve an encryption system.
    serving: Vec<String>,
}

/// The process and its live threads at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnReading {
    process_ns: u64,
    threads: BTreeMap<u32, (Part, u64)>,
    /// How often the serving threads have given up a CPU.
    switches: BTreeMap<u32, Switches>,
    /// Nanoseconds for which the threads could run but had no CPU.
    pub(super) waits: Waits,
}

/// CPU nanoseconds of this process between two readings, by purpose. The sum over all purposes is the CPU time of the
/// process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnUsed {
    /// Threads that submit the load, and all threads that exited between the readings.
    pub(super) generator: u64,
    pub(super) servers: u64,
    /// io_uring's threads that do not work for a serving thread.
    pub(super) kernel: u64,
    pub(super) other: u64,
    /// The live threads that submit the load, and the live threads that serve.
    pub(super) generating: Vec<(u32, u64)>,
    pub(super) serving: Vec<(u32, u64)>,
    pub(super) switches: Option<Switches>,
}

impl OwnThreads {
    pub(super) fn new(proc: &Path, clock: TaskClock, serving: &[&str]) -> Self {
        let issuing = [rustix::process::getpid(), rustix::thread::gettid()]
            .map(|id| id.as_raw_nonzero().get().unsigned_abs());
        let serving = serving.iter().map(|b| (*b).to_owned()).collect();
        Self { tasks: proc.join("self/task"), clock, issuing, serving }
    }

    pub(super) fn read(&self) -> OwnReading {
        // Reading this clock also brings the calling thread's account up to date.
        let process_ns = task::process_ns();
        let first = self.name(self.issuing[0]);
        let mut waits = Waits::new();
        let threads: BTreeMap<u32, (Part, u64)> = task::ids(&self.tasks)
            .into_iter()
            .filter_map(|tid| {
                let name = self.name(tid);
                let master = master(&name).map(|tid| self.name(tid)).unwrap_or_default();
                let spent = self.clock.read(&self.directory(tid))?;
                waits.extend(spent.waited_ns.map(|ns| (tid, ns)));
                Some((tid, (self.part(tid, &name, &master, &first), spent.ns)))
            })
            .collect();
        let serving = threads.iter().filter(|(_, (part, _))| *part == Part::Server);
        let switches = serving
            .filter_map(|(tid, _)| Some((*tid, task::switches(&self.directory(*tid))?)))
            .collect();
        OwnReading { process_ns, threads, switches, waits }
    }

    /// The difference between two readings. `since` is the time of the first reading in boot ticks.
    pub(super) fn used(&self, before: &OwnReading, now: &OwnReading, since: u64) -> OwnUsed {
        let mut sum = OwnUsed::default();
        for (tid, (part, ns)) in &now.threads {
            let earlier = before.threads.get(tid).map(|(_, ns)| *ns);
            let used = used(earlier, *ns, &self.directory(*tid), since);
            match part {
                Part::Generator => {
                    sum.generator += used;
                    sum.generating.push((*tid, used));
                }
                Part::Server => {
                    sum.servers += used;
                    sum.serving.push((*tid, used));
                    let of = |reading: &OwnReading| reading.switches.get(tid).copied();
                    task::add_switches(&mut sum.switches, of(before), of(now));
                }
                Part::Kernel => sum.kernel += used,
                Part::Other => sum.other += used,
            }
        }
        // The process's clock includes threads that exited.
        let living = sum.generator + sum.servers + sum.kernel + sum.other;
        let whole = now.process_ns.saturating_sub(before.process_ns);
        sum.generator += whole.saturating_sub(living);
        sum
    }

    /// `master` is the name of the thread for which an io_uring thread works; `first` is the name of the process's
    /// first thread.
    fn part(&self, tid: u32, name: &[u8], master: &[u8], first: &[u8]) -> Part {
        let begins = |with: &str| name.starts_with(with.as_bytes());
        let serves =
            |name: &[u8]| self.serving.iter().any(|with| name.starts_with(with.as_bytes()));
        if begins(LOAD) || self.issuing.contains(&tid) {
            Part::Generator
        } else if serves(name) || serves(master) {
            Part::Server
        } else if KERNEL.into_iter().any(begins) {
            Part::Kernel
        } else if name == first {
            // A thread that was not given a name has the name of the thread that started it.
            Part::Generator
        } else {
            Part::Other
        }
    }

    fn name(&self, tid: u32) -> Vec<u8> {
        // TASK_COMM_LEN is 16, including the terminating zero.
        let mut buffer = [0; 64];
        let name = task::read(&self.directory(tid).join("comm"), &mut buffer).unwrap_or_default();
        name.trim_ascii_end().to_vec()
    }

    fn directory(&self, tid: u32) -> PathBuf {
        self.tasks.join(tid.to_string())
    }
}

/// The ID of the thread for which an io_uring thread works.
fn master(name: &[u8]) -> Option<u32> {
    let number = KERNEL.iter().find_map(|with| name.strip_prefix(with.as_bytes()))?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> OwnThreads {
        let serving = ["fuse-", "nbd"];
        let own = OwnThreads::new(Path::new("/nowhere"), TaskClock::Scheduler, &serving);
        OwnThreads { issuing: [10, 11], ..own }
    }

    #[test]
    fn threads_are_told_apart_by_name() {
        let part = |tid, name: &str| own().part(tid, name.as_bytes(), b"", b"cryptbench");
        assert_eq!(part(10, "cryptbench"), Part::Generator);
        assert_eq!(part(11, "anything"), Part::Generator);
        assert_eq!(part(12, "load-3"), Part::Generator);
        assert_eq!(part(12, "cryptbench"), Part::Generator);
        for serving in ["fuse-0", "fuse-ring-1", "nbd", "nbd-2"] {
            assert_eq!(part(12, serving), Part::Server, "{serving}");
        }
        assert_eq!(part(12, "iou-wrk-10"), Part::Kernel);
        assert_eq!(part(12, "iou-sqp-10"), Part::Kernel);
        let of = |master: &[u8]| own().part(12, b"iou-wrk-10", master, b"cryptbench");
        assert_eq!((of(b"fuse-ring-1"), of(b"load-3")), (Part::Server, Part::Kernel));
        assert_eq!((master(b"iou-wrk-10"), master(b"iou-sqp-7")), (Some(10), Some(7)));
        assert_eq!((master(b"fuse-ring-1"), master(b"iou-wrk-")), (None, None));
        assert_eq!(part(12, "progress"), Part::Other);
        assert_eq!(part(12, "reload-1"), Part::Other);
    }

    #[test]
    fn threads_that_ended_are_the_generators() {
        let reading = |process_ns, threads: &[(u32, Part, u64)]| OwnReading {
            process_ns,
            threads: threads.iter().map(|(tid, part, ns)| (*tid, (*part, *ns))).collect(),
            waits: Waits::new(),
            switches: [(12, Switches { voluntary: process_ns / 10, involuntary: 3 })].into(),
        };
        let before = reading(
            1000,
            &[(10, Part::Generator, 500), (12, Part::Server, 100), (13, Part::Generator, 50)],
        );
        let now = reading(
            2000,
            &[(10, Part::Generator, 600), (12, Part::Server, 400), (14, Part::Kernel, 70)],
        );
        // 14 has no directory among the tasks, so nothing shows that it is new.
        let used = own().used(&before, &now, 0);
        let expected = OwnUsed {
            generator: 100 + 600,
            servers: 300,
            generating: vec![(10, 100)],
            serving: vec![(12, 300)],
            switches: Some(Switches { voluntary: 100, involuntary: 0 }),
            ..OwnUsed::default()
        };
        assert_eq!(used, expected);
        assert_eq!(used.generator + used.servers, 1000);
    }
}
