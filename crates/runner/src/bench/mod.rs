//! The bench of a real run: each kind of work on the contenders that were set up.

pub(crate) mod below;
mod block;
mod files;
mod fresh;
mod numbers;
mod unlock;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptbench_load::{Engine, FileSet, Work, WorkloadSpec};
use cryptbench_os::counters::{Counters, Snapshot};
use cryptbench_system::Contender;

use crate::unlock::Unlocker;
use crate::{Bench, Outcome, RunError};

/// How often a rest looks at the stop flag.
const STOP_POLL: Duration = Duration::from_millis(50);

/// What a run measures on.
pub(crate) struct Storage<'a> {
    pub(crate) engine: Engine,
    /// One per arm of the plan.
    pub(crate) contenders: Vec<Contender>,
    pub(crate) workloads: Vec<WorkloadSpec>,
    pub(crate) accountant: Counters,
    /// Of each arm the place whose device it is on, as the accountant numbers them.
    pub(crate) places: Vec<usize>,
    /// The sets of small files of each arm, as far as they were needed.
    pub(crate) files: BTreeMap<usize, FileSet>,
    /// The volumes, where opening them is the work.
    pub(crate) unlocker: Option<Unlocker>,
    pub(crate) trial: Duration,
    pub(crate) ramp: Duration,
    /// Seed of the run, from which the contents of files follow: all arms get the same ones.
    pub(crate) seed: u64,
    /// Whether what is written is read back after each trial.
    pub(crate) verify: bool,
    pub(crate) started: Instant,
    /// What an earlier part of the run took.
    pub(crate) before: Duration,
    pub(crate) stop: &'a AtomicBool,
    /// Number of the latest job, which is stamped into what it writes.
    pub(crate) generation: u64,
}

impl Storage<'_> {
    /// Counters before a trial on `arm`, whose daemons are from here on told apart.
    fn begin_account(&mut self, arm: usize) -> Snapshot {
        self.accountant.forget_watched();
        self.accountant.use_device(self.places.get(arm).copied().unwrap_or(0));
        if let Some(contender) = self.contenders.get(arm) {
            for &pid in &contender.daemons {
                self.accountant.watch(pid);
            }
        }
        self.accountant.snapshot()
    }
}

impl Bench for Storage<'_> {
    fn trial(
        &mut self,
        workload: usize,
        arm: usize,
        place: u64,
    ) -> Result<Option<Outcome>, RunError> {
        self.generation += 1;
        match self.workloads[workload].work.clone() {
            Work::Block(work) => self.block(&work, arm, place),
            Work::Files(work) => self.files(&work, arm, place),
            Work::Unlock(work) => self.unlock(&work, arm),
        }
    }

    fn rest(&mut self, pause: Duration) {
        let until = Instant::now() + pause;
        while let Some(left) = until.checked_duration_since(Instant::now())
            && !self.interrupted()
        {
            std::thread::sleep(left.min(STOP_POLL));
        }
    }

    fn elapsed(&self) -> Duration {
        self.before + self.started.elapsed()
    }

    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
