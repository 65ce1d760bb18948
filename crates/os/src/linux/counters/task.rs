//! CPU time of one task, which is a thread or a process, from /proc.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

use crate::counters::{Switches, ThreadTime};
pub(super) use crate::linux::process::{Stat, read, ticks_per_s};

/// Nanoseconds per second.
const SECOND: u64 = 1_000_000_000;

/// The source of a task's CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskClock {
    /// `schedstat`: nanoseconds (Linux, Documentation/scheduler/sched-stats.rst). For a task that
    /// is running on another CPU, the value lags by up to one scheduler tick.
    Scheduler,
    /// `stat`, for kernels built without `schedstat`: clock ticks.
    Ticks,
}

impl TaskClock {
    /// Determines which of these sources the kernel provides: without scheduler statistics, `schedstat` is missing or
    /// remains 0.
    pub(super) fn detect(proc: &Path) -> Self {
        // Reading the thread's clock makes the kernel update the thread's account.
        let _ = clock_gettime(ClockId::ThreadCPUTime);
        match schedstat(&proc.join("thread-self")) {
            Some(spent) if spent.ns > 0 => Self::Scheduler,
            _ => Self::Ticks,
        }
    }

    /// The time of the task with this directory (`/proc/PID/task/TID`).
    pub(super) fn read(self, task: &Path) -> Option<Spent> {
        match self {
            Self::Scheduler => schedstat(task),
            Self::Ticks => Some(Spent { ns: ns(Stat::read(task)?.cpu_ticks), waited_ns: None }),
        }
    }

    /// Opens the account of the task with this directory for repeated reading.
    pub(super) fn open(self, task: &Path) -> Option<Account> {
        let name = match self {
            Self::Scheduler => "schedstat",
            Self::Ticks => "stat",
        };
        Some(Account { clock: self, file: File::open(task.join(name)).ok()? })
    }
}

/// The time of a task so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    /// CPU nanoseconds, user and system.
    pub(super) ns: u64,
    /// Nanoseconds for which the task could run but had no CPU; only the scheduler's statistics have them.
    pub(super) waited_ns: Option<u64>,
}

/// Nanoseconds for which tasks could run but had no CPU.
pub(super) type Waits = BTreeMap<u32, u64>;

/// The open account of a task. It remains the account of that task even if another task gets the same ID.
#[derive(Debug)]
pub(super) struct Account {
    clock: TaskClock,
    file: File,
}

impl Account {
    /// CPU nanoseconds, user and system; `None` once the task has exited.
    pub(super) fn read(&self) -> Option<u64> {
        let mut buffer = [0; 1024];
        let len = self.file.read_at(&mut buffer, 0).ok()?;
        let text = buffer.get(..len)?;
        match self.clock {
            TaskClock::Scheduler => numbers(text)?.next(),
            TaskClock::Ticks => Some(ns(Stat::parse(text)?.cpu_ticks)),
        }
    }
}

/// Nanoseconds that a task has used since an earlier reading.
///
/// A task without an earlier reading counts in full if it started after `since` (boot ticks). Otherwise the task does
/// not count: it existed before but was missed, because the list of children is incomplete while some of the children
/// exit. The same applies if a new task has the ID of an earlier task.
pub(super) fn used(before: Option<u64>, now: u64, task: &Path, since: u64) -> u64 {
    match before {
        Some(before) if before <= now => now - before,
        _ => Stat::read(task).filter(|s| s.start_ticks >= since).map_or(0, |_| now),
    }
}

/// How often a task has given up a CPU so far (proc(5), /proc/PID/status).
pub(super) fn switches(task: &Path) -> Option<Switches> {
    let mut buffer = [0; 4096];
    let status = std::str::from_utf8(read(&task.join("status"), &mut buffer)?).ok()?;
    let number =
        |name: &str| status.lines().find_map(|l| l.strip_prefix(name))?.trim().parse().ok();
    Some(Switches {
        voluntary: number("voluntary_ctxt_switches:")?,
        involuntary: number("nonvoluntary_ctxt_switches:")?,
    })
}

/// Adds how often a task has given up a CPU since an earlier reading. Its activity before the first reading does not
/// count.
pub(super) fn add_switches(
    sum: &mut Option<Switches>,
    before: Option<Switches>,
    now: Option<Switches>,
) {
    if let (Some(before), Some(now)) = (before, now) {
        let since = Switches {
            voluntary: now.voluntary.saturating_sub(before.voluntary),
            involuntary: now.involuntary.saturating_sub(before.involuntary),
        };
        *sum = Some(sum.unwrap_or_default().and(since));
    }
}

/// The busiest of these threads, at most [`MOST`] of them, of which the first two have their names.
pub(super) fn busiest(proc: &Path, used: impl Iterator<Item = (u32, u64)>) -> Vec<ThreadTime> {
    let mut all: Vec<_> = used.filter(|(_, ns)| *ns > 0).collect();
    all.sort_unstable_by_key(|(id, ns)| (std::cmp::Reverse(*ns), *id));
    all.truncate(MOST);
    let name = |id: u32| {
        let mut buffer = [0; 64];
        let name = read(&proc.join(format!("{id}/comm")), &mut buffer).unwrap_or_default();
        String::from_utf8_lossy(name.trim_ascii_end()).into_owned()
    };
    let thread = |(place, (id, ns)): (usize, (u32, u64))| {
        let name = if place < NAMED { name(id) } else { String::new() };
        ThreadTime { id, name, ns, waited_ns: 0 }
    };
    all.into_iter().enumerate().map(thread).collect()
}

/// Maximum number of threads of a kind that are kept for a span, and maximum number of these threads whose names are
/// read. The numbers are limited because reading takes time between slices.
const MOST: usize = 16;
const NAMED: usize = 2;

/// IDs of a thread's children. `None` if the kernel keeps no such list (`CONFIG_PROC_CHILDREN`).
pub(super) fn children(proc: &Path, pid: u32, tid: u32) -> Option<Vec<u32>> {
    let list = proc.join(format!("{pid}/task/{tid}/children"));
    let text = std::fs::read_to_string(list).ok()?;
    Some(text.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect())
}

/// The numeric names in a directory: processes in /proc, threads in /proc/PID/task.
pub(super) fn ids(directory: &Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

/// Converts clock ticks to nanoseconds.
pub(super) fn ns(ticks: u64) -> u64 {
    ticks * (SECOND / ticks_per_s())
}

/// Clock ticks since boot, the time base of [`Stat::start_ticks`].
pub(super) fn boot_ticks() -> u64 {
    nanoseconds(ClockId::Boottime) / (SECOND / ticks_per_s())
}

/// CPU nanoseconds of all threads of this process, including those that exited.
pub(super) fn process_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

pub(super) fn nanoseconds(clock: ClockId) -> u64 {
    let t = clock_gettime(clock);
    u64::try_from(t.tv_sec).unwrap_or(0) * SECOND + u64::try_from(t.tv_nsec).unwrap_or(0)
}

/// The first two of the three numbers: the CPU time, and the time without a CPU.
fn schedstat(task: &Path) -> Option<Spent> {
    let mut buffer = [0; 80];
    let mut numbers = numbers(read(&task.join("schedstat"), &mut buffer)?)?;
    Some(Spent { ns: numbers.next()?, waited_ns: numbers.next() })
}

fn numbers(text: &[u8]) -> Option<impl Iterator<Item = u64>> {
    let words = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    Some(words.map_while(|word| word.parse().ok()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn only_a_new_task_counts_in_full() {
        let dir = tempfile::tempdir().unwrap();
        let stat = "9 (x) S 2 0 0 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 500 1 2";
        std::fs::write(dir.path().join("stat"), stat).unwrap();
        assert_eq!(used(Some(40), 100, dir.path(), 600), 60);
        assert_eq!(used(None, 100, dir.path(), 500), 100);
        assert_eq!(used(None, 100, dir.path(), 501), 0);
        // A task that has run for less has got the number.
        assert_eq!(used(Some(400), 100, dir.path(), 500), 100);
        assert_eq!(used(Some(400), 100, dir.path(), 501), 0);
        assert_eq!(used(None, 100, &dir.path().join("gone"), 0), 0);
    }

    #[test]
    fn a_thread_that_waits_leaves_its_processor() {
        let own = Path::new("/proc/thread-self");
        let before = switches(own).unwrap();
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let now = switches(own).unwrap();
        assert!(now.voluntary >= before.voluntary + 5, "{before:?} {now:?}");
        let mut sum = None;
        add_switches(&mut sum, Some(before), Some(now));
        add_switches(&mut sum, None, Some(now));
        assert_eq!(sum.unwrap().voluntary, now.voluntary - before.voluntary);
        assert_eq!(switches(Path::new("/nowhere")), None);
    }

    #[test]
    fn a_thread_beside_another_on_its_cpu_waits_for_the_cpu() {
        let clock = TaskClock::detect(Path::new("/proc"));
        if clock == TaskClock::Ticks {
            eprintln!("SKIPPED: this kernel keeps no scheduler statistics");
            return;
        }
        let mut one = rustix::thread::CpuSet::new();
        one.set(rustix::thread::sched_getcpu());
        let both_there = Barrier::new(2);
        let spins = || {
            rustix::thread::sched_setaffinity(None, &one).unwrap();
            both_there.wait();
            let until = std::time::Instant::now() + std::time::Duration::from_millis(200);
            while std::time::Instant::now() < until {
                std::hint::spin_loop();
            }
            let own = PathBuf::from(format!("/proc/self/task/{}", rustix::thread::gettid()));
            clock.read(&own).unwrap().waited_ns.unwrap()
        };
        let waits = std::thread::scope(|scope| {
            let both = [scope.spawn(spins), scope.spawn(spins)];
            both.map(|thread| thread.join().unwrap())
        });
        // Each has the CPU for half of the time.
        assert!(waits.iter().all(|ns| *ns > 50_000_000), "{waits:?}");
        assert!(clock.read(Path::new("/nowhere")).is_none());
    }

    #[test]
    fn the_busiest_threads_have_names() {
        let dir = tempfile::tempdir().unwrap();
        for (id, name) in [(3, "kworker/u8:1-kcryptd/253:0\n"), (4, "jbd2\n"), (5, "rest\n")] {
            std::fs::create_dir(dir.path().join(id.to_string())).unwrap();
            std::fs::write(dir.path().join(format!("{id}/comm")), name).unwrap();
        }
        let found = busiest(dir.path(), [(4, 20), (5, 7), (9, 0), (3, 90)].into_iter());
        let thread =
            |id, name: &str, ns| ThreadTime { id, name: name.to_owned(), ns, waited_ns: 0 };
        let expected =
            [thread(3, "kworker/u8:1-kcryptd/253:0", 90), thread(4, "jbd2", 20), thread(5, "", 7)];
        assert_eq!(found, expected);
        assert_eq!(busiest(dir.path(), (0..40).map(|id| (id, 1))).len(), MOST);
    }

    #[test]
    fn a_thread_finds_its_own_time() {
        let proc = Path::new("/proc");
        let clock = TaskClock::detect(proc);
        let begin = nanoseconds(ClockId::ThreadCPUTime);
        let before = clock.read(&proc.join("thread-self")).unwrap().ns;
        while nanoseconds(ClockId::ThreadCPUTime) < begin + 50_000_000 {
            std::hint::spin_loop();
        }
        let now = clock.read(&proc.join("thread-self")).unwrap().ns;
        let used = used(Some(before), now, proc, 0);
        assert!(used.abs_diff(50_000_000) <= 2 * ns(1), "{clock:?}: {used}");
    }
}
