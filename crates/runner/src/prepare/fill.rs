//! Fills the storage before the first trial.

use std::time::{Instant, SystemTime};

use cryptbench_blockdev::IoTarget;
use cryptbench_load::{Pattern, Precondition, WorkloadSpec};
use cryptbench_record::{Event, Sink as _, budget_option, longer_budget};
use cryptbench_system::ArmSpec;
use cryptbench_text::human;

use super::pace::RecentRate;
use super::{ActiveRange, Claimed};
use crate::decide::fit::{SMALL, least_for_any, size};
use crate::decide::limits::{FIRST_PLANNED, SET_UP_PLANNED};
use crate::decide::sizes::{least_scratch, uses_range};
use crate::recorder::Recorder;
use crate::{Halt, RunError};

/// Bytes per request of preconditioning (SNIA PTS, workload-independent preconditioning).
const PRECONDITION_BLOCK: u64 = 128 << 10;

/// Bytes that are written before the disk's speed is checked: few bytes at first, because a slow disk can need seconds
/// even for these.
const FIRST_STEP: u64 = 4 << 20;
const LONGEST_STEP: u64 = 64 << 20;

const MIB: u64 = 1 << 20;

impl Claimed<'_> {
    /// Fills the active range of each target, and rewrites it as often as the user requested.
    pub(super) fn fill(&mut self, recorder: &mut Recorder<'_>) -> Result<(), Halt> {
        if self.plan.storage.is_only_read() {
            return self.look_at_pace();
        }
        self.look_at_cipher();
        let filled = self.fill_plain(recorder)?;
        self.look_at_pace()?;
        self.precondition(&self.plain.io_target(), recorder)?;
        (0..self.encrypted.len())
            .try_for_each(|number| self.fill_encrypted(number, filled, recorder))
    }

    /// Fills the range of encrypted target `number` to the same size as the plain one.
    fn fill_encrypted(
        &mut self,
        number: usize,
        filled: u64,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), Halt> {
        self.go_on()?;
        let encrypted = &mut self.encrypted[number];
        let began = SystemTime::now();
        let range = encrypted.range.as_mut().expect("systems are under a load");
        if filled < range.len() {
            range.shrink(filled)?;
        }
        let io_target = range.io_target();
        let total = io_target.extent.len;
        let mut tell = |done| recorder.take(&Event::Filling { done, total });
        self.engine.prefill(&io_target, self.plan.recorded.seed, self.stop, &mut tell)?;
        encrypted.find_stored(began, filled).into_iter().for_each(|note| recorder.tell(note));
        self.precondition(&io_target, recorder)
    }

    /// Fills the plain range and returns its size in bytes, which is smaller than planned if the disk or the cipher is
    /// too slow.
    fn fill_plain(&mut self, recorder: &mut Recorder<'_>) -> Result<u64, Halt> {
        let total = self.plain_range().len();
        let (mut done, mut step, mut rate) = (0, FIRST_STEP, RecentRate::default());
        while done < total {
            // Writes nothing after an interruption.
            self.go_on()?;
            let end = (done + step).min(total);
            let began = Instant::now();
            let Self { engine, plain, stop, plan, .. } = self;
            let io_target = plain.range.as_ref().expect("systems are under a load").io_target();
            engine.prefill_part(&io_target, done..end, plan.recorded.seed, stop, &mut |bytes| {
                recorder.take(&Event::Filling { done: done + bytes, total });
            })?;
            self.pace.write = rate.with(end - done, began.elapsed());
            done = end;
            let fitting = self.fitting(total)?;
            if done >= fitting {
                if done < total {
                    self.shrink(done, recorder)?;
                }
                break;
            }
            step =
                (2 * step).min(LONGEST_STEP).min((fitting - done).next_multiple_of(MIB)).max(MIB);
        }
        Ok(self.plain_range().len())
    }

    fn plain_range(&mut self) -> &mut ActiveRange {
        self.plain.range.as_mut().expect("systems are under a load")
    }

    /// Reduces the plain range to `len` bytes, and notes the consequence.
    fn shrink(&mut self, len: u64, recorder: &mut Recorder<'_>) -> Result<(), Halt> {
        let planned = human(self.plain_range().len());
        self.plain_range().shrink(len)?;
        self.plain.size_reason = format!("reduced from {planned}: there is no time to write more");
        if len < SMALL {
            recorder.tell(format!(
                "The scratch file has only {}, because there is no time to write more: a cache in the drive may hold \
                 all of it, and the system's counters do not show this. A larger --budget allows a larger file.",
                human(len)
            ));
        }
        Ok(())
    }

    /// The size of the range, at most `planned`, with which the whole set-up stays within its share of the budget
    /// at the current speed.
    ///
    /// # Errors
    /// [`RunError::NoTime`] if there is not enough time to write the minimum that any workload needs.
    fn fitting(&mut self, planned: u64) -> Result<u64, Halt> {
        let plan = self.plan;
        if let Some(earlier) = plan.earlier.as_deref() {
            // The trials of a resumed run continue on the same range.
            return Ok(earlier.target.scratch.size_bytes.min(planned));
        }
        let least = least_for_any(&plan.workloads).max(self.plain_range().least()).min(planned);
        let files = (1 + self.encrypted.len()) as f64;
        let writes = files * (1.0 + f64::from(plan.precondition));
        let (pace, budget_s) = (self.pace, plan.recorded.budget_s);
        let takes = |arms: &[ArmSpec], len: u64| {
            writes * len as f64 / pace.write + self.system_s(arms, len)
        };
        let least_s = writes * least as f64 / pace.write;
        if least_s > budget_s * FIRST_PLANNED {
            let what = format!(
                "filling {} at {:.1} MB/s takes {least_s:.0} s",
                human(least),
                pace.write / 1e6
            );
            let enough = budget_option(longer_budget(least_s / FIRST_PLANNED, budget_s));
            return Err(RunError::NoTime { budget_s, what, enough }.into());
        }
        let share = budget_s * SET_UP_PLANNED;
        // If there is no time for a second system, the first gets the time of both.
        let first = plan.choices.as_ref().and_then(|choices| choices.taken().first());
        let arms = match first.filter(|_| takes(plan.arms.systems(), least) > share) {
            Some(first) => &first.arms[..],
            None => plan.arms.systems(),
        };
        let fits = size(least, planned, share, |len| takes(arms, len));
        // If only work on new files is left, nothing needs the range.
        let fits_in = |w: &WorkloadSpec| least_scratch(std::slice::from_ref(w)) <= fits;
        let (of_range, others): (Vec<_>, Vec<_>) =
            plan.workloads.iter().partition(|w| uses_range(&w.work));
        match others.is_empty() || of_range.into_iter().any(fits_in) {
            true => Ok(fits),
            false => Ok(MIB.max(self.plain_range().least()).min(fits)),
        }
    }

    /// Rewrites a filled range in random order.
    fn precondition(
        &mut self,
        io_target: &IoTarget,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), Halt> {
        let passes = self.plan.precondition;
        if passes == 0 {
            return Ok(());
        }
        self.go_on()?;
        let total = io_target.extent.len * u64::from(passes);
        let how = Precondition {
            pattern: Pattern::Permutation,
            passes,
            block_size: PRECONDITION_BLOCK,
            seed: self.plan.recorded.seed,
        };
        let mut tell = |done| recorder.take(&Event::Filling { done, total });
        Ok(self.engine.precondition(io_target, &how, self.stop, &mut tell)?)
    }
}
