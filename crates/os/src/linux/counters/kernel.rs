//! CPU time of kernel threads: kworker, kcryptd, loop, jbd2 and so on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::task::{self, Account, Stat, TaskClock, used};

/// kthreadd, the parent of all kernel threads.
const KTHREADD: u32 = 2;

/// Flag that marks a kernel thread (Linux, include/linux/sched.h).
const PF_KTHREAD: u64 = 0x0020_0000;

/// Maximum number of accounts kept open, to stay below the process's limit on open files.
const MOST_OPEN: usize = 256;

/// Reads the CPU time of kernel threads.
pub(super) struct KernelThreads {
    proc: PathBuf,
    clock: TaskClock,
    /// Open accounts of earlier readings. Opening an account takes ten times as long as reading an open one again, and
    /// accounts are read between any two slices of a run.
    open: Mutex<BTreeMap<u32, Account>>,
}

/// CPU nanoseconds per thread.
pub(super) type KernelReading = BTreeMap<u32, u64>;

impl KernelThreads {
    pub(super) fn new(proc: &Path, clock: TaskClock) -> Self {
        Self { proc: proc.to_owned(), clock, open: Mutex::default() }
    }

    /// Reads all kernel threads. Empty if kernel threads are not visible: in a container's PID namespace, PID 2 is an
    /// ordinary process or does not exist.
    pub(super) fn read(&self) -> KernelReading {
        let kthreadd = Stat::read(&self.directory(KTHREADD));
        if kthreadd.is_none_or(|s| s.flags & PF_KTHREAD == 0) {
            return KernelReading::new();
        }
        let children = task::children(&self.proc, KTHREADD, KTHREADD).unwrap_or_else(|| {
            let mut all = task::ids(&self.proc);
            all.retain(|id| Stat::read(&self.directory(*id)).is_some_and(|s| s.parent == KTHREADD));
            all
        });
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let ids = children.into_iter().chain([KTHREADD]);
        ids.filter_map(|id| Some((id, self.time(&mut open, id)?))).collect()
    }

    /// CPU nanoseconds of one thread.
    fn time(&self, open: &mut BTreeMap<u32, Account>, id: u32) -> Option<u64> {
        if let Some(ns) = open.get(&id).and_then(Account::read) {
            return Some(ns);
        }
        // A thread not seen before, or a new thread with the same ID.
        open.remove(&id);
        let account = self.clock.open(&self.directory(id))?;
        let ns = account.read();
        if ns.is_some() && open.len() < MOST_OPEN {
            open.insert(id, account);
        }
        ns
    }

    /// CPU nanoseconds of each thread between two readings. `since` is the time of the first reading in boot ticks.
    ///
    /// The time of a thread that exited in between is lost. Workers exit after minutes without work.
    pub(super) fn used(
        &self,
        before: &KernelReading,
        now: &KernelReading,
        since: u64,
    ) -> Vec<(u32, u64)> {
        now.iter()
            .map(|(id, ns)| (*id, used(before.get(id).copied(), *ns, &self.directory(*id), since)))
            .collect()
    }

    fn directory(&self, id: u32) -> PathBuf {
        self.proc.join(id.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A fake entry of a process in /proc.
    fn process(proc: &Path, id: u32, parent: u32, flags: u64, ns: u64) {
        let dir = proc.join(id.to_string());
        fs::create_dir_all(&dir).unwrap();
        let stat = format!("{id} (x) S {parent} 0 0 0 -1 {flags} 0 0 0 0 1 1 0 0 20 0 1 0 500 1 2");
        fs::write(dir.join("stat"), stat).unwrap();
        fs::write(dir.join("schedstat"), format!("{ns} 7 7\n")).unwrap();
    }

    #[test]
    fn children_of_kthreadd_with_and_without_its_list() {
        let dir = tempfile::tempdir().unwrap();
        let proc = dir.path();
        process(proc, 1, 0, 0, 1);
        process(proc, 2, 0, PF_KTHREAD, 20);
        process(proc, 3, 2, PF_KTHREAD, 300);
        process(proc, 40, 2, PF_KTHREAD, 4000);
        process(proc, 50, 1, 0, 50_000);
        let threads = KernelThreads::new(proc, TaskClock::Scheduler);
        let all = KernelReading::from([(2, 20), (3, 300), (40, 4000)]);
        assert_eq!(threads.read(), all);
        fs::create_dir_all(proc.join("2/task/2")).unwrap();
        fs::write(proc.join("2/task/2/children"), "3 40 ").unwrap();
        assert_eq!(threads.read(), all);
        process(proc, 40, 2, PF_KTHREAD, 4500);
        let sum = |before, since| -> u64 {
            threads.used(before, &threads.read(), since).iter().map(|(_, ns)| ns).sum()
        };
        assert_eq!(sum(&all, 600), 500);
        // A thread that existed before but was not seen does not count; a new one does.
        let without = KernelReading::from([(2, 20), (3, 300)]);
        assert_eq!(sum(&without, 600), 0);
        assert_eq!(sum(&without, 500), 4500);
    }

    #[test]
    fn a_container_shows_none() {
        let dir = tempfile::tempdir().unwrap();
        let threads = KernelThreads::new(dir.path(), TaskClock::Scheduler);
        assert!(threads.read().is_empty());
        process(dir.path(), 2, 1, 0, 20);
        process(dir.path(), 3, 2, 0, 300);
        assert!(threads.read().is_empty());
    }
}
