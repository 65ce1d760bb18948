//! Workloads on many small files.

use std::collections::BTreeMap;

use cryptbench_load::{FileAction, FileSet, FileWork, LoadError};
use cryptbench_record::Accounting;

use super::Storage;
use super::below::{drop_below, settle_below};
use super::numbers::percentiles;
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
        match set.prepare(&directory, work, self.stop) {
            Err(LoadError::Interrupted) => return Ok(None),
            other => other?,
        }
        // What was written before is not billed to this trial, and can be dropped.
        settle_below(&self.contenders[arm]);
        if work.action != FileAction::Create {
            drop_below(&self.contenders[arm]);
        }
        let before = self.begin_account(arm);
        let set = self.files.get_mut(&arm).expect("just made");
        let measured = match set.run(&directory, work, place, self.stop) {
            Err(LoadError::Interrupted) => return Ok(None),
            other => other?,
        };
        settle_below(&self.contenders[arm]);
        let passed = self.accountant.passed(&before);
        if measured.interrupted {
            return Ok(None);
        }
        let elapsed_s = measured.elapsed.as_secs_f64();
        Ok(Some(Outcome {
            elapsed_s,
            ios: measured.files,
            bytes: measured.bytes,
            latency: percentiles(&measured.latency),
            cpu_process_s: measured.cpu.as_secs_f64(),
            // All of it: the flush that follows, and the look at what was read, cannot be told apart.
            cpu_machine_s: passed.busy_s,
            device: passed.device.map(Into::into),
            accounting: Some(Accounting::of(&passed, 1.0)),
            samples: None,
            parts: BTreeMap::new(),
        }))
    }
}
