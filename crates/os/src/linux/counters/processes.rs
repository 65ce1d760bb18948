//! CPU time of an encryption system's processes and all their descendants.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::task::{self, Stat, TaskClock, Waits, ns, used};
use crate::counters::Switches;

/// User and system time are each rounded down to a tick.
const ROUNDING: u64 = 2;

/// Reads the process trees below some roots.
pub(super) struct Processes {
    proc: PathBuf,
    clock: TaskClock,
    roots: Vec<u32>,
}

/// The live processes of the trees, by PID.
pub(super) type ProcessReading = BTreeMap<u32, Process>;

/// One process at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    stat: Stat,
    /// CPU nanoseconds of the live threads.
    threads: BTreeMap<u32, u64>,
    /// How often these threads have given up a CPU.
    switches: BTreeMap<u32, Switches>,
    /// Nanoseconds for which these threads could run but had no CPU.
    pub(super) waits: Waits,
}

impl Processes {
    pub(super) fn new(proc: &Path, clock: TaskClock) -> Self {
        Self { proc: proc.to_owned(), clock, roots: Vec::new() }
    }

    /// Must not be called for this process itself, whose threads are distinguished by name.
    pub(super) fn watch(&mut self, pid: u32) {
        if !self.roots.contains(&pid) {
            self.roots.push(pid);
        }
    }

    pub(super) fn forget(&mut self) {
        self.roots.clear();
    }

    pub(super) fn read(&self) -> ProcessReading {
        let mut found = ProcessReading::new();
        // This process represents the children that it waits for: programs that are run by the trial. This process's
        // own time does not count as a daemon's.
        if let Some(stat) = Stat::read(&self.proc.join("self")) {
            let stat = Stat { cpu_ticks: 0, ..stat };
            found.insert(std::process::id(), Process { stat, ..Process::default() });
        }
        let mut next = self.roots.clone();
        // The parent of every process, for kernels without lists of children.
        let mut parents: Option<Vec<(u32, u32)>> = None;
        while let Some(pid) = next.pop() {
            if found.contains_key(&pid) {
                continue;
            }
            let directory = self.directory(pid);
            let Some(stat) = Stat::read(&directory) else { continue };
            let mut process = Process { stat, ..Process::default() };
            for tid in task::ids(&directory.join("task")) {
                if let Some(spent) = self.clock.read(&self.thread(pid, tid)) {
                    process.threads.insert(tid, spent.ns);
                    process.waits.extend(spent.waited_ns.map(|ns| (tid, ns)));
                }
                let switches = task::switches(&self.thread(pid, tid));
                process.switches.extend(switches.map(|switches| (tid, switches)));
                if let Some(children) = task::children(&self.proc, pid, tid) {
                    next.extend(children);
                } else {
                    let parents = parents.get_or_insert_with(|| self.parents());
                    next.extend(parents.iter().filter(|(_, p)| *p == pid).map(|(child, _)| *child));
                }
            }
            found.insert(pid, process);
        }
        found
    }

    /// Nanoseconds between two readings. `since` is the time of the first reading in boot ticks.
    ///
    /// Threads and children that exited in between, including those of this process, are counted in clock ticks. The
    /// time of processes that no process in the trees waited for is lost.
    pub(super) fn used(&self, before: &ProcessReading, now: &ProcessReading, since: u64) -> u64 {
        let mut sum = 0;
        let mut waited = 0;
        for (pid, process) in now {
            let same = |p: &&Process| p.stat.start_ticks == process.stat.start_ticks;
            let earlier = before.get(pid).filter(same);
            if earlier.is_none() && process.stat.start_ticks < since {
                continue;
            }
            sum += self.process_used(*pid, earlier, process, since);
            let earlier = earlier.map_or(0, |p| p.stat.waited_ticks);
            waited += process.stat.waited_ticks.saturating_sub(earlier);
        }
        // For processes with an earlier reading, part of this time was already counted.
        let known: u64 = before
            .iter()
            .filter(|(pid, _)| !now.contains_key(pid) && waited_for(**pid, before, now))
            .map(|(_, p)| p.stat.cpu_ticks + p.stat.waited_ticks)
            .sum();
        sum + ns(waited.saturating_sub(known))
    }

    /// Nanoseconds of each live thread between two readings, and how often these threads gave up a CPU.
    pub(super) fn threads(
        &self,
        before: &ProcessReading,
        now: &ProcessReading,
        since: u64,
    ) -> (Vec<(u32, u64)>, Option<Switches>) {
        let (mut all, mut switches) = (Vec::new(), None);
        for (pid, process) in now {
            let earlier =
                before.get(pid).filter(|p| p.stat.start_ticks == process.stat.start_ticks);
            for (tid, ns) in &process.threads {
                let read = earlier.and_then(|p| p.threads.get(tid)).copied();
                all.push((*tid, used(read, *ns, &self.thread(*pid, *tid), since)));
                let of = |process: &Process| process.switches.get(tid).copied();
                task::add_switches(&mut switches, earlier.and_then(of), of(process));
            }
        }
        (all, switches)
    }

    /// One process without its children.
    fn process_used(&self, pid: u32, before: Option<&Process>, now: &Process, since: u64) -> u64 {
        let living: u64 = now
            .threads
            .iter()
            .map(|(tid, ns)| {
                let earlier = before.and_then(|p| p.threads.get(tid)).copied();
                used(earlier, *ns, &self.thread(pid, *tid), since)
            })
            .sum();
        // The process's own counter includes threads that exited, but only in ticks.
        let ticks = now.stat.cpu_ticks.saturating_sub(before.map_or(0, |p| p.stat.cpu_ticks));
        if ns(ticks) > living + ns(ROUNDING) { ns(ticks) } else { living }
    }

    fn parents(&self) -> Vec<(u32, u32)> {
        task::ids(&self.proc)
            .into_iter()
            .filter_map(|pid| Some((pid, Stat::read(&self.directory(pid))?.parent)))
            .collect()
    }

    fn directory(&self, pid: u32) -> PathBuf {
        self.proc.join(pid.to_string())
    }

    fn thread(&self, pid: u32, tid: u32) -> PathBuf {
        self.proc.join(format!("{pid}/task/{tid}"))
    }
}

/// Whether a live ancestor waited for the process that exited, possibly through other processes that exited.
fn waited_for(pid: u32, before: &ProcessReading, now: &ProcessReading) -> bool {
    let mut at = pid;
    // Processes can change while they are read, so the parents need not form a tree. The loop is therefore bounded.
    for _ in 0..before.len() {
        let Some(process) = before.get(&at) else { return false };
        at = process.stat.parent;
        if now.contains_key(&at) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(n: u64) -> Switches {
        Switches { voluntary: n, involuntary: 2 * n }
    }

    fn process(parent: u32, cpu: u64, waited: u64, threads: &[(u32, u64)]) -> Process {
        Process {
            stat: Stat { parent, cpu_ticks: cpu, waited_ticks: waited, ..Stat::default() },
            threads: threads.iter().map(|(tid, ticks)| (*tid, ns(*ticks))).collect(),
            switches: threads.iter().map(|(tid, n)| (*tid, switches(*n))).collect(),
            waits: Waits::new(),
        }
    }

    /// Values in clock ticks. No task counts as new, because none has a directory.
    fn used(before: &[(u32, Process)], now: &[(u32, Process)]) -> u64 {
        let processes = Processes::new(Path::new("/nowhere"), TaskClock::Scheduler);
        let reading = |p: &[(u32, Process)]| p.iter().cloned().collect();
        processes.used(&reading(before), &reading(now), 0) / ns(1)
    }

    #[test]
    fn each_thread_has_its_own_time() {
        let reading = |p: &[(u32, Process)]| p.iter().cloned().collect::<ProcessReading>();
        let before = reading(&[(10, process(1, 100, 0, &[(10, 60), (11, 40)]))]);
        let now = reading(&[(10, process(1, 130, 0, &[(10, 75), (11, 55), (12, 9)]))]);
        let processes = Processes::new(Path::new("/nowhere"), TaskClock::Scheduler);
        let (threads, found) = processes.threads(&before, &now, 0);
        // 12 has no directory, so nothing shows that it is new.
        assert_eq!(threads, [(10, ns(15)), (11, ns(15)), (12, 0)]);
        assert_eq!(found, Some(switches(30)));
        assert_eq!(processes.threads(&before, &ProcessReading::new(), 0), (Vec::new(), None));
    }

    #[test]
    fn threads_that_live_and_threads_that_ended() {
        let before = [(10, process(1, 100, 0, &[(10, 60), (11, 40)]))];
        assert_eq!(used(&before, &[(10, process(1, 130, 0, &[(10, 75), (11, 55)]))]), 30);
        // Thread 11 ended after another 15 ticks.
        assert_eq!(used(&before, &[(10, process(1, 130, 0, &[(10, 75)]))]), 30);
        // Rounding does not count as a thread that ended.
        assert_eq!(used(&before, &[(10, process(1, 102, 0, &[(10, 60), (11, 40)]))]), 0);
    }

    #[test]
    fn children_that_ended_and_were_waited_for() {
        let before = [
            (10, process(1, 100, 5, &[(10, 100)])),
            (20, process(10, 50, 3, &[(20, 50)])),
            (30, process(20, 7, 0, &[(30, 7)])),
        ];
        // 30 ended after 1 more tick, then 20 after 10 more. The time waited for is 50 + 10 + 3 + 7
        // + 1.
        let now = [(10, process(1, 100, 5 + 71, &[(10, 100)]))];
        assert_eq!(used(&before, &now), 11);
        // No process of the tree waited for 20 and 30: their time is lost, and none is invented.
        assert_eq!(used(&before, &[(10, process(1, 100, 5, &[(10, 100)]))]), 0);
    }

    #[test]
    fn a_strangers_child_that_ended_takes_nothing_from_the_others() {
        let before = [(10, process(1, 100, 0, &[(10, 100)])), (20, process(1, 90, 0, &[(20, 90)]))];
        let now = [(20, process(1, 96, 30, &[(20, 96)]))];
        assert_eq!(used(&before, &now), 6 + 30);
    }

    #[test]
    fn a_number_that_was_taken_over_is_another_process() {
        let processes = Processes::new(Path::new("/nowhere"), TaskClock::Scheduler);
        let before = ProcessReading::from([(10, process(1, 100, 0, &[(10, 100)]))]);
        let mut late = process(1, 30, 4, &[]);
        late.stat.start_ticks = 700;
        let now = ProcessReading::from([(10, late)]);
        assert_eq!(processes.used(&before, &now, 600), ns(30 + 4));
        assert_eq!(processes.used(&before, &now, 701), 0);
    }
}
