//! Measures: the schedule drives each kind of work on the prepared arms.

mod files;
mod fresh;
pub(crate) mod lower_cache;
mod numbers;
mod opening;
mod requests;
pub(crate) mod schedule;
mod slicing;
mod turns;
mod unlock;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptbench_load::{FileSet, Work};
use cryptbench_os::counters::{Passed, Snapshot};
use cryptbench_record::Observation;
use cryptbench_system::PreparedArm;

use self::schedule::drive;
pub use self::slicing::Turns;
use crate::decide::fit::trial_s;
use crate::decide::{Plan, limits};
use crate::prepare::{ActiveRange, Arm, Prepared};
use crate::recorder::Recorder;
use crate::{Bench, Halt, RunError, verify};

/// Interval at which a pause checks the stop flag.
const STOP_POLL: Duration = Duration::from_millis(50);

/// The arms and targets of a run, during the measurement and after it.
pub(crate) struct Measured<'a> {
    /// Number of the latest job; the verify headers of its data contain it.
    generation: u64,
    /// The sets of small files of each arm, as far as they were needed. They are stored in the arms' file systems.
    pub(crate) files: BTreeMap<usize, FileSet>,
    pub(crate) prepared: Prepared<'a>,
}

impl<'a> Prepared<'a> {
    /// Measures block by block up to the plan's limits, and records why each workload ended; does nothing if
    /// preparation was halted. After a halt, the trials before it are valid.
    pub(crate) fn measure(self, recorder: &mut Recorder<'_>) -> Measured<'a> {
        let mut measured = Measured { generation: 0, files: BTreeMap::new(), prepared: self };
        if measured.prepared.halt.is_none() {
            let plan = measured.prepared.recorded.clone();
            let earlier = measured.plan().earlier.as_deref();
            let earlier = earlier.map_or(&[][..], |earlier| &earlier.trials);
            measured.prepared.claimed.end_within(limits::MEASURED_WITHIN);
            measured.prepared.halt = drive(&plan, earlier, &mut measured, recorder).err();
        }
        measured
    }
}

impl<'a> Measured<'a> {
    fn plan(&self) -> &'a Plan {
        self.prepared.claimed.plan
    }

    fn stop(&self) -> &'a AtomicBool {
        self.prepared.claimed.stop
    }

    /// The time and counters since a snapshot.
    fn passed(&self, before: &Snapshot) -> Passed {
        self.prepared.claimed.counters.passed(before)
    }

    fn arms(&self) -> &[Arm] {
        &self.prepared.up.arms
    }

    /// A system's preparations for an arm under load.
    fn arm(&self, arm: usize) -> &PreparedArm {
        &self.prepared.up.arms[arm].prepared
    }

    /// Number of the device whose counters apply to `arm`.
    fn counted_by(&self, arm: usize) -> usize {
        let spec = self.arms().get(arm).map(|arm| &arm.spec);
        self.prepared.claimed.target_of(spec).counted_by
    }

    /// The processes that serve an arm; a volume has none.
    fn daemons(&self, arm: usize) -> &[u32] {
        self.arms().get(arm).map_or(&[], |arm| &arm.prepared.daemons)
    }

    /// Sets the kernel's parameters for trials on `arm`: its own, and all others as they were before the run.
    fn set_parameters(&self, arm: usize) -> Result<(), Halt> {
        let own = self.arms().get(arm).map_or(&[][..], |arm| &arm.prepared.parameters);
        for any in self.arms().iter().flat_map(|arm| &arm.prepared.parameters) {
            match own.iter().find(|parameter| parameter.is_of(any)) {
                Some(set) => set.set(),
                None => any.put_back(),
            }
            .map_err(RunError::from)?;
        }
        Ok(())
    }

    /// Whether the same device and daemons are counted for both arms.
    fn count_alike(&self, arm: usize, other: usize) -> bool {
        self.counted_by(arm) == self.counted_by(other) && self.daemons(arm) == self.daemons(other)
    }

    /// Takes a snapshot before a trial on `arm`, whose daemons are counted separately from now on.
    fn begin_counting(&mut self, arm: usize) -> Snapshot {
        let counted_by = self.counted_by(arm);
        let Prepared { up, claimed, .. } = &mut self.prepared;
        let counters = &mut claimed.counters;
        counters.forget_watched();
        counters.use_device(counted_by);
        let daemons = up.arms.get(arm).map_or(&[][..], |arm| &arm.prepared.daemons);
        daemons.iter().for_each(|&pid| counters.watch(pid));
        counters.snapshot()
    }
}

impl Bench for Measured<'_> {
    fn trial(&mut self, workload: usize, arm: usize, offsets: u64) -> Result<Observation, Halt> {
        self.generation += 1;
        self.set_parameters(arm)?;
        // Trials change `self`, but not its workloads.
        let work = self.prepared.claimed.workloads[workload].work.clone();
        match &work {
            Work::Block(work) => self.requests(work, arm, offsets),
            Work::Files(work) => self.small_files(work, arm, offsets),
            Work::Unlock(work) => self.open_volume(work, arm),
        }
    }

    fn takes_turns(&self, workload: usize, arm: usize) -> bool {
        matches!(self.plan().workloads[workload].work, Work::Block(_)) && self.can_take_turns(arm)
    }

    fn turns(
        &mut self,
        workload: usize,
        turns: &Turns,
        offsets: u64,
    ) -> Result<Vec<Observation>, Halt> {
        self.generation += 1;
        match &self.plan().workloads[workload].work {
            Work::Block(work) => self.requests_by_turns(work, turns, offsets),
            Work::Files(_) | Work::Unlock(_) => unreachable!("nobody takes turns"),
        }
    }

    fn pause(&mut self, length: Duration) {
        let until = Instant::now() + length;
        while let Some(left) = until.checked_duration_since(Instant::now())
            && !self.interrupted()
        {
            std::thread::sleep(left.min(STOP_POLL));
        }
    }

    fn elapsed(&self) -> Duration {
        self.prepared.claimed.clock.elapsed()
    }

    fn stopped(&mut self) -> Duration {
        self.prepared.claimed.time.gaps()
    }

    fn interrupted(&self) -> bool {
        self.stop().load(Ordering::Relaxed)
    }

    fn out_of_time(&self) -> bool {
        self.prepared.claimed.time.is_over()
    }

    fn reserve(&self) -> Duration {
        match self.plan().earlier {
            Some(_) => Duration::ZERO,
            None => {
                let inspecting_s = verify::usual_s(&self.prepared);
                Duration::from_secs_f64(limits::reserve(
                    self.plan().recorded.budget_s,
                    inspecting_s,
                ))
            }
        }
    }

    fn expected(&self, workload: usize) -> Duration {
        let (claimed, recorded) = (&self.prepared.claimed, &self.prepared.recorded);
        let len = claimed.plain.range.as_ref().map_or(0, ActiveRange::len);
        let timed_s = recorded.trial_s + recorded.ramp_s;
        let spec = &claimed.workloads[workload];
        let seconds = claimed
            .file_pace
            .trial_s(workload, spec)
            .unwrap_or_else(|| trial_s(spec, timed_s, len, &claimed.pace));
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}
