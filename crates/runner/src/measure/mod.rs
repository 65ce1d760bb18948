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

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cryptbench_load::Work;
use cryptbench_os::counters::Snapshot;
use cryptbench_record::Line;

use self::schedule::drive_on;
pub use self::slicing::Turns;
use crate::prepare::Session;
use crate::recorder::Recorder;
use crate::{Bench, Halt, Observation, Observer as _, RunError};

/// How often a pause checks the stop flag.
const STOP_POLL: Duration = Duration::from_millis(50);

impl Session<'_> {
    /// Measures block by block up to the plan's limits, and records why each workload ended.
    ///
    /// # Errors
    /// [`Halt`]; the trials before it are valid.
    pub(crate) fn measure(&mut self, recorder: &mut Recorder<'_>) -> Result<(), Halt> {
        let plan = self.recorded.clone();
        let earlier = recorder.so_far().trials.clone();
        let course = drive_on(&plan, earlier, self, recorder);
        recorder.log(&Line::Stops(course.stops));
        course.halt.map_or(Ok(()), Err)
    }

    /// Sets the kernel's parameters for trials on `arm`: its own, and all others as they were before the run.
    fn set_parameters(&self, arm: usize) -> Result<(), Halt> {
        let own = self.arms.get(arm).map_or(&[][..], |arm| &arm.parameters);
        for any in self.arms.iter().flat_map(|arm| &arm.parameters) {
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
        let device = |arm| self.target_of(self.specs.get(arm)).counted_by;
        let daemons = |arm: usize| self.arms.get(arm).map_or(&[][..], |a| &a.daemons);
        device(arm) == device(other) && daemons(arm) == daemons(other)
    }

    /// Takes a snapshot before a trial on `arm`, whose daemons are counted separately from now on.
    fn begin_counting(&mut self, arm: usize) -> Snapshot {
        let counted_by = self.target_of(self.specs.get(arm)).counted_by;
        self.counters.forget_watched();
        self.counters.use_device(counted_by);
        if let Some(prepared) = self.arms.get(arm) {
            for &pid in &prepared.daemons {
                self.counters.watch(pid);
            }
        }
        self.counters.snapshot()
    }
}

impl Bench for Session<'_> {
    fn trial(&mut self, workload: usize, arm: usize, offsets: u64) -> Result<Observation, Halt> {
        self.generation += 1;
        self.set_parameters(arm)?;
        match &self.plan.workloads[workload].work {
            Work::Block(work) => self.requests(work, arm, offsets),
            Work::Files(work) => self.small_files(work, arm, offsets),
            Work::Unlock(work) => self.open_volume(work, arm),
        }
    }

    fn takes_turns(&self, workload: usize, arm: usize) -> bool {
        matches!(self.plan.workloads[workload].work, Work::Block(_)) && self.can_take_turns(arm)
    }

    fn turns(
        &mut self,
        workload: usize,
        turns: &Turns,
        offsets: u64,
    ) -> Result<Vec<Observation>, Halt> {
        self.generation += 1;
        match &self.plan.workloads[workload].work {
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
        self.clock.elapsed()
    }

    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
