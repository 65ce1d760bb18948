//! Fills the storage before the first trial.

use std::time::{Duration, Instant, SystemTime};

use cryptbench_blockdev::IoTarget;
use cryptbench_load::{Pattern, Precondition};
use cryptbench_record::{Event, Sink as _};
use cryptbench_text::human;

use super::Claimed;
use crate::Halt;
use crate::decide::sizes::least_scratch;
use crate::recorder::Recorder;

/// Bytes per request of preconditioning (SNIA PTS, workload-independent preconditioning).
const PRECONDITION_BLOCK: u64 = 128 << 10;

/// Largest share of the budget for filling the scratch file; a slower disk gets a smaller file.
const FILL_SHARE: f64 = 0.15;

/// The smallest part of a scratch file on which measuring makes sense.
const LEAST_FILLED: u64 = 64 << 20;

impl Claimed<'_> {
    /// Fills the active range of each target, and rewrites it as often as the user requested.
    ///
    /// # Errors
    /// [`Halt`].
    pub(super) fn fill(&mut self, recorder: &mut Recorder<'_>) -> Result<(), Halt> {
        if self.plan.storage.is_only_read() {
            return Ok(());
        }
        let filled = self.fill_plain(recorder)?;
        self.precondition(&self.plain.io_target(), recorder)?;
        (0..self.encrypted.len())
            .try_for_each(|number| self.fill_encrypted(number, filled, recorder))
    }

    /// Fills the range of encrypted target `number`, as far as the plain one is.
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

    /// Fills the plain range and returns its size in bytes, which is smaller on a disk too slow for
    /// the planned size.
    fn fill_plain(&mut self, recorder: &mut Recorder<'_>) -> Result<u64, Halt> {
        let Self { plain, engine, stop, plan, .. } = self;
        let recorded = &plan.recorded;
        let range = plain.range.as_mut().expect("systems are under a load");
        let total = range.len();
        let deadline = Instant::now() + Duration::from_secs_f64(recorded.budget_s * FILL_SHARE);
        // In steps, so that filling can stop early on a slow disk.
        let mut done = 0;
        let least = LEAST_FILLED.max(least_scratch(&plan.workloads)).max(range.least());
        let io_target = range.io_target();
        while done < total {
            // Writes nothing after an interruption.
            if stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(Halt::Interrupted);
            }
            if Instant::now() >= deadline && done >= least {
                range.shrink(done)?;
                let planned = human(total);
                plain.size_reason =
                    format!("reduced from {planned}: more cannot be written in the time available");
                break;
            }
            let end = (done + LEAST_FILLED).min(total);
            engine.prefill_part(&io_target, done..end, recorded.seed, stop, &mut |bytes| {
                recorder.take(&Event::Filling { done: done + bytes, total });
            })?;
            done = end;
        }
        Ok(range.len())
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
