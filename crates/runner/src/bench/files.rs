//! Workloads on many small files.

use std::collections::BTreeMap;

use cryptbench_load::{FileSet, FileWork};

use super::Storage;
use super::numbers::{percentiles, share};
use crate::accounting;
use crate::{Outcome, RunError};

impl Storage<'_> {
    /// Runs one action on a set of files; `None` when it was interrupted.
    pub(super) fn files(
        &mut self,
        work: &FileWork,
        arm: usize,
        place: u64,
    ) -> Result<Option<Outcome>, RunError> {
        let directory = self.contenders[arm].directory.clone();
        let seed = self.seed;
        let set = self.files.entry(arm).or_insert_with(|| FileSet::new(seed));
        set.prepare(&directory, work, self.stop)?;
        let before = self.begin_account(arm);
        let set = self.files.get_mut(&arm).expect("just made");
        let measured = set.run(&directory, work, place, self.stop)?;
        let passed = self.accountant.passed(&before);
        if measured.interrupted {
            return Ok(None);
        }
        let elapsed_s = measured.elapsed.as_secs_f64();
        let share = share(elapsed_s, &passed);
        Ok(Some(Outcome {
            elapsed_s,
            ios: measured.files,
            bytes: measured.bytes,
            latency: percentiles(&measured.latency),
            cpu_process_s: measured.cpu.as_secs_f64(),
            cpu_machine_s: passed.busy_s * share,
            device: passed.device,
            accounting: Some(accounting::scaled(&passed.accounting, share)),
            samples: None,
            parts: BTreeMap::new(),
        }))
    }
}
