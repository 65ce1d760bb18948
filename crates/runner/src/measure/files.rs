//! Workloads on many small files.

use cryptbench_load::{FileAction, FileSet, FileWork};
use cryptbench_record::{Accounting, DiskCounts, Observation, Threads};

use super::Measured;
use super::lower_cache::{drop_below, settle_below};
use super::numbers::percentiles;
use crate::Halt;

impl Measured<'_> {
    /// Runs one action on a set of files.
    pub(super) fn small_files(
        &mut self,
        work: &FileWork,
        arm: usize,
        offsets: u64,
    ) -> Result<Observation, Halt> {
        let directory = self.arm(arm).directory.clone();
        let (seed, stop) = (self.prepared.recorded.seed, self.stop());
        let set = self.files.entry(arm).or_insert_with(|| FileSet::new(seed));
        set.prepare(&directory, work, stop)?;
        // Data that was written earlier must not count for this trial. Once it is written back, it can be dropped
        // from the cache.
        settle_below(self.arm(arm));
        if work.action != FileAction::Create {
            drop_below(self.arm(arm));
        }
        let before = self.begin_counting(arm);
        let set = self.files.get_mut(&arm).expect("just made");
        let measured = set.run(&directory, work, offsets, stop)?;
        settle_below(self.arm(arm));
        let passed = self.passed(&before);
        if measured.interrupted {
            return Err(Halt::Interrupted);
        }
        let elapsed_s = measured.elapsed.as_secs_f64();
        Ok(Observation {
            elapsed_s,
            ios: measured.files,
            bytes: measured.bytes,
            latency: percentiles(&measured.latency),
            cpu_process_s: measured.cpu.as_secs_f64(),
            // The whole time, because the flush that follows and the verification of read data cannot be separated
            // from it.
            cpu_machine_s: passed.busy_s,
            device: passed.device.map(Into::into),
            disk: passed.device.map(|d| DiskCounts::of(&d, measured.files, measured.bytes)),
            threads: Threads::of(&passed, measured.files),
            accounting: Some(Accounting::of(&passed, 1.0)),
            ..Observation::default()
        })
    }
}
