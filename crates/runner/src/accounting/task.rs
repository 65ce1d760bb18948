//! CPU time of one task, thread or process, as the kernel tells it in /proc.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// Where the CPU time of a task is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskClock {
    /// `schedstat`: nanoseconds (Linux, Documentation/scheduler/sched-stats.rst). The time of a task that
    /// runs on another processor right now lags by up to one scheduler tick.
    Scheduler,
    /// `stat`, where the kernel was built without the former: clock ticks.
    Ticks,
}

impl TaskClock {
    /// Tries which one this kernel keeps: without scheduler statistics `schedstat` is absent or stays 0.
    pub(super) fn detect(proc: &Path) -> Self {
        // Asking for the thread's clock makes the kernel bring the thread's account up to date.
        let _ = clock_gettime(ClockId::ThreadCPUTime);
        match schedstat(&proc.join("thread-self")) {
            Some(ns) if ns > 0 => Self::Scheduler,
            _ => Self::Ticks,
        }
    }

    /// CPU nanoseconds, user and system, of the task with this directory (`/proc/PID/task/TID`).
    pub(super) fn read(self, task: &Path) -> Option<u64> {
        match self {
            Self::Scheduler => schedstat(task),
            Self::Ticks => Some(ns(Stat::read(task)?.cpu_ticks)),
        }
    }
}

/// What of `stat` is used (proc(5), /proc/PID/stat); times in clock ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) parent: u32,
    /// `PF_*` of the kernel.
    pub(super) flags: u64,
    /// User and system time: of the one thread in `/proc/PID/task/TID`, of all threads, ended ones
    /// included, in `/proc/PID`.
    pub(super) cpu_ticks: u64,
    /// The same of children that ended and were waited for, and of theirs.
    pub(super) waited_ticks: u64,
    /// Start, since boot.
    pub(super) start_ticks: u64,
}

impl Stat {
    pub(super) fn read(task: &Path) -> Option<Self> {
        // 52 numbers and a name: far below this size.
        let mut buffer = [0; 2048];
        Self::parse(read(&task.join("stat"), &mut buffer)?)
    }

    /// The name in parentheses may hold anything, further parentheses included.
    fn parse(stat: &[u8]) -> Option<Self> {
        let end = stat.iter().rposition(|b| *b == b')')?;
        let rest = std::str::from_utf8(&stat[end + 1..]).ok()?;
        // Fields are counted from 1 in proc(5); the first after the name is the third.
        let fields: Vec<&str> = rest.split_ascii_whitespace().take(20).collect();
        let field = |n: usize| fields.get(n - 3)?.parse::<u64>().ok();
        Some(Self {
            parent: u32::try_from(field(4)?).ok()?,
            flags: field(9)?,
            cpu_ticks: field(14)? + field(15)?,
            waited_ticks: field(16)? + field(17)?,
            start_ticks: field(22)?,
        })
    }
}

/// What a task used since a reading of it, nanoseconds.
///
/// A task without an earlier reading counts in full when it started since (`since`, boot ticks), and
/// not at all otherwise: it was there before and was only not seen (the list of children is not
/// complete while some of them end). The same goes for a number that a new task has taken over.
pub(super) fn used(before: Option<u64>, now: u64, task: &Path, since: u64) -> u64 {
    match before {
        Some(before) if before <= now => now - before,
        _ => Stat::read(task).filter(|s| s.start_ticks >= since).map_or(0, |_| now),
    }
}

/// Ids of the children of a thread; `None` where the kernel keeps no such list
/// (`CONFIG_PROC_CHILDREN`).
pub(super) fn children(proc: &Path, pid: u32, tid: u32) -> Option<Vec<u32>> {
    let list = proc.join(format!("{pid}/task/{tid}/children"));
    let text = std::fs::read_to_string(list).ok()?;
    Some(text.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect())
}

/// The numbers among the names in a directory: processes in /proc, threads in /proc/PID/task.
pub(super) fn ids(directory: &Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

/// The first bytes of a small file that the kernel makes up in one piece.
pub(super) fn read<'b>(path: &Path, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let len = File::open(path).ok()?.read(buffer).ok()?;
    Some(&buffer[..len])
}

/// Clock ticks per second, in which /proc counts.
pub(super) fn ticks_per_s() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

/// Nanoseconds of so many clock ticks.
pub(super) fn ns(ticks: u64) -> u64 {
    ticks * (SECOND / ticks_per_s())
}

/// Clock ticks since boot, the time base of [`Stat::start_ticks`].
pub(super) fn boot_ticks() -> u64 {
    nanoseconds(ClockId::Boottime) / (SECOND / ticks_per_s())
}

/// CPU nanoseconds of all threads of this process, ended ones included.
pub(super) fn process_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

pub(super) fn nanoseconds(clock: ClockId) -> u64 {
    let t = clock_gettime(clock);
    u64::try_from(t.tv_sec).unwrap_or(0) * SECOND + u64::try_from(t.tv_nsec).unwrap_or(0)
}

/// The first of its three numbers is the CPU time.
fn schedstat(task: &Path) -> Option<u64> {
    let mut buffer = [0; 80];
    let text = std::str::from_utf8(read(&task.join("schedstat"), &mut buffer)?).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_of_a_name_with_parentheses() {
        let line = b"4321 (a) b (c\xff) S 17 4321 4321 0 -1 4194560 9 8 7 6 150 50 30 12 20 0 1 0 9876 1 2";
        let expected = Stat {
            parent: 17,
            flags: 4_194_560,
            cpu_ticks: 200,
            waited_ticks: 42,
            start_ticks: 9876,
        };
        assert_eq!(Stat::parse(line), Some(expected));
        assert_eq!(Stat::parse(b"1 (cut) S 17 4321"), None);
        assert_eq!(Stat::parse(b""), None);
    }

    #[test]
    fn only_a_new_task_counts_in_full() {
        let dir = tempfile::tempdir().unwrap();
        let stat = "9 (x) S 2 0 0 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 500 1 2";
        std::fs::write(dir.path().join("stat"), stat).unwrap();
        assert_eq!(used(Some(40), 100, dir.path(), 600), 60);
        assert_eq!(used(None, 100, dir.path(), 500), 100);
        assert_eq!(used(None, 100, dir.path(), 501), 0);
        // The number was taken over by a task that has run for less.
        assert_eq!(used(Some(400), 100, dir.path(), 500), 100);
        assert_eq!(used(Some(400), 100, dir.path(), 501), 0);
        assert_eq!(used(None, 100, &dir.path().join("gone"), 0), 0);
    }

    #[test]
    fn a_thread_finds_its_own_time() {
        let proc = Path::new("/proc");
        let clock = TaskClock::detect(proc);
        let begin = nanoseconds(ClockId::ThreadCPUTime);
        let before = clock.read(&proc.join("thread-self")).unwrap();
        while nanoseconds(ClockId::ThreadCPUTime) < begin + 50_000_000 {
            std::hint::spin_loop();
        }
        let now = clock.read(&proc.join("thread-self")).unwrap();
        let used = used(Some(before), now, proc, 0);
        assert!(used.abs_diff(50_000_000) <= 2 * ns(1), "{clock:?}: {used}");
    }
}
