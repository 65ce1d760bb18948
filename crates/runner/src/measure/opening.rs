//! Workloads that open volumes.

use std::collections::BTreeMap;

use cryptbench_load::UnlockWork;
use cryptbench_record::{Accounting, DiskCounts, Observation, Percentiles, Threads};

use super::Measured;
use crate::Halt;

impl Measured<'_> {
    /// Opens the arm's volume once.
    pub(super) fn open_volume(
        &mut self,
        work: &UnlockWork,
        arm: usize,
    ) -> Result<Observation, Halt> {
        let before = self.begin_counting(arm);
        let volumes = self.prepared.up.volumes.as_ref();
        let volumes = volumes.expect("made for a plan that opens volumes");
        let Some(time) = volumes.unlock(arm, work, self.stop())? else {
            return Err(Halt::Interrupted);
        };
        let passed = self.passed(&before);
        let us = time.total.as_secs_f64() * 1e6;
        Ok(Observation {
            elapsed_s: time.total.as_secs_f64(),
            ios: 1,
            bytes: 0,
            latency: Percentiles { mean_us: us, p50_us: us, max_us: us, ..Percentiles::default() },
            // The threads of the derivation exit at its end, and their CPU time counts as the load's.
            cpu_process_s: passed.generator_s,
            cpu_machine_s: passed.busy_s,
            device: passed.device.map(Into::into),
            disk: passed.device.map(|d| DiskCounts::of(&d, 1, 0)),
            threads: Threads::of(&passed, 1),
            accounting: Some(Accounting::of(&passed, 1.0)),
            parts: BTreeMap::from([
                ("derivation".to_owned(), time.derivation.as_secs_f64()),
                ("rest".to_owned(), time.rest.as_secs_f64()),
            ]),
            ..Observation::default()
        })
    }
}
