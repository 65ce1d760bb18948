//! Block workloads: runs the load engine on an arm's I/O target.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cryptbench_blockdev::{Extent, IoMode, IoTarget, cached_share};
use cryptbench_load::{
    Acknowledged, Amount, BlockWork, Cache, Content, FileUse, Flush, Job, LoadError, Measurement,
    WorkAmount,
};
use cryptbench_record::{Accounting, DEVICE_FLUSH, DiskCounts, FLUSH, Observation, Threads};

use super::Measured;
use super::fresh::FreshFile;
use super::lower_cache::{drop_below, late, settle_below};
use super::numbers::{percentiles, samples, scaled, share};
use crate::prepare::ActiveRange;
use crate::{Halt, RunError};

impl Measured<'_> {
    /// Runs a block workload.
    pub(super) fn requests(
        &mut self,
        work: &BlockWork,
        arm: usize,
        offsets: u64,
    ) -> Result<Observation, Halt> {
        let prepared = self.arm(arm);
        let (io_target, fresh) = match work.file {
            FileUse::Scratch(_) => (self.scratch(work, arm, offsets), None),
            FileUse::Fresh(bytes) => {
                let fresh = FreshFile::create(prepared, bytes, self.generation)?;
                (fresh.io_target.clone(), Some(fresh))
            }
        };
        let is_only_read = self.plan().storage.is_only_read();
        if !is_only_read && (prepared.cached_below || prepared.stored.is_some()) {
            // Data that others or earlier trials have written must not count for this trial. Once it is written
            // back, it can be dropped from the cache.
            settle(&io_target)?;
            settle_below(prepared);
        }
        if work.cache == Cache::Cold {
            // A mounted system may put the data of requests into a lower page cache, although the requests bypass the
            // upper page cache. Cached data that belongs to a device's other users is kept.
            if fresh.is_none() && !is_only_read {
                drop_cache(&io_target);
            }
            drop_below(prepared);
        }
        let job = job(work, self.lengths(), offsets, self.generation);
        let cached_before = cached(&io_target);
        let before = self.begin_counting(arm);
        let traced = self.plan().verify && stamps(work);
        let (mut acknowledged, stop) = (None, self.stop());
        let engine = &mut self.prepared.claimed.engine;
        let measured = if work.stdio {
            engine.run_stdio(&io_target, &job, stop)?
        } else if traced {
            let map = Arc::new(Acknowledged::nothing(io_target.extent.len, work.block_size)?);
            engine.run_traced(&io_target, &job, acknowledged.insert(map), stop)?
        } else {
            engine.run(&io_target, &job, stop)?
        };
        // CPU time covers the measured time and its ramp, not the time after it.
        let passed = self.passed(&before);
        if measured.interrupted {
            return Err(Halt::Interrupted);
        }
        let (mut passed, mut later, mut parts) = (passed, Duration::ZERO, BTreeMap::new());
        if work.direction.writes() {
            // Empties the device's write cache between trials, outside the measured time, so that
            // one arm's writes do not burden the next arm.
            let prepared = self.arm(arm);
            let settled = || {
                let began = Instant::now();
                settle(&io_target)?;
                settle_below(prepared);
                Ok::<_, RunError>(began.elapsed())
            };
            if io_target.mode == IoMode::Buffered {
                settled()?;
                // Data in the page cache counts for this trial.
                passed.device = self.passed(&before).device;
            } else if (prepared.cached_below || self.counts_flush(work)) && !work.stdio {
                // Direct writes may still be in the device's cache or in a page cache below; they count once they
                // are on the device.
                let (rest, then) = late(settled, || self.passed(&before))?;
                passed = then;
                later = rest.mul_f64(of_all(measured.bytes, measured.total_bytes));
                let part = if prepared.cached_below { FLUSH } else { DEVICE_FLUSH };
                parts.insert(part.to_owned(), later.as_secs_f64());
            } else {
                settled()?;
            }
        }
        if let Some(map) = acknowledged {
            self.read_back(&map, &io_target)?;
        }
        drop(fresh);
        let elapsed_s = (measured.elapsed + later).as_secs_f64();
        let share = share(elapsed_s, &passed);
        Ok(Observation {
            elapsed_s,
            ios: measured.ios,
            bytes: measured.bytes,
            latency: percentiles(&measured.latency),
            cpu_process_s: measured.cpu.as_secs_f64(),
            cpu_machine_s: passed.busy_s * share,
            device: passed.device.map(|d| scaled(d.into(), measured.bytes, measured.total_bytes)),
            disk: passed
                .device
                .map(|d| DiskCounts::of(&d, asked(work, &measured), measured.total_bytes)),
            threads: Threads::of(&passed, asked(work, &measured)),
            accounting: Some(Accounting { cached_before, ..Accounting::of(&passed, share) }),
            samples: samples(&measured.samples),
            parts,
            slices: None,
        })
    }
}

impl Measured<'_> {
    /// The part of an arm's scratch file or device that a workload uses in the block with the seed `offsets`.
    pub(super) fn scratch(&self, work: &BlockWork, arm: usize, offsets: u64) -> IoTarget {
        let mut io_target = self.arm(arm).io_target.clone();
        if let Some(len) = self.prepared.claimed.plain.range.as_ref().and_then(ActiveRange::stretch)
        {
            io_target.extent = stretch(io_target.extent, len, (arm, self.arms().len()), offsets);
        }
        if let FileUse::Scratch(Some(bytes)) = work.file {
            io_target.extent.len = bytes.min(io_target.extent.len);
        }
        io_target
    }

    /// Whether the flush after a trial counts for its time, because written data must reach the device. False if
    /// the workload defines its own flushes, or if established figures for this work exclude flushes.
    pub(super) fn counts_flush(&self, work: &BlockWork) -> bool {
        work.amount == WorkAmount::Time
            && work.flush == Flush::Never
            && self.prepared.recorded.estimator.is_none()
    }

    /// Ramp and measured time of a trial.
    fn lengths(&self) -> (Duration, Duration) {
        let plan = &self.prepared.recorded;
        (Duration::from_secs_f64(plan.ramp_s), Duration::from_secs_f64(plan.trial_s))
    }

    /// Verifies the data that a trial wrote; an error if the storage does not contain it.
    fn read_back(&self, map: &Acknowledged, io_target: &IoTarget) -> Result<(), RunError> {
        let found = match map.verify(io_target, self.stop(), &mut |_| ()) {
            // The schedule checks the same flag.
            Err(LoadError::Interrupted) => return Ok(()),
            other => other?,
        };
        match found.findings.first() {
            None => Ok(()),
            Some(first) => Err(RunError::Verification {
                faults: found.faults(),
                fault: first.fault.as_str(),
                offset: first.offset,
            }),
        }
    }
}

/// The `len` bytes of `all` that one of several arms reads in a block. They are next to the bytes of the other
/// arms. Their offset is drawn for each block, as is the order of the arms.
fn stretch(all: Extent, len: u64, (arm, arms): (usize, usize), offsets: u64) -> Extent {
    let (arm, arms) = (arm as u64, arms as u64);
    let places = (all.len / (len * arms)).max(1);
    let (place, turn) = (offsets % places, offsets / places);
    Extent { offset: all.offset + (place * arms + (arm + turn % arms) % arms) * len, len }
}

/// Share of all bytes that were transferred in the measured time.
pub(super) fn of_all(measured: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { measured as f64 / all as f64 }
}

/// Number of requests of a job, including its ramp and its end.
pub(super) fn asked(work: &BlockWork, measured: &Measurement) -> u64 {
    measured.total_bytes.div_ceil(work.block_size.max(1))
}

/// Whether written data has verify headers.
fn stamps(work: &BlockWork) -> bool {
    work.direction.writes() && work.content != Content::Zeros && !work.stdio
}

pub(super) fn job(
    work: &BlockWork,
    (ramp, trial): (Duration, Duration),
    seed: u64,
    generation: u64,
) -> Job {
    Job {
        direction: work.direction,
        pattern: work.pattern,
        start: work.start,
        block_size: work.block_size,
        queue_depth: work.queue_depth,
        threads: work.threads,
        amount: match work.amount {
            WorkAmount::Time => Amount::Time { ramp, duration: trial },
            WorkAmount::Bytes(bytes) => Amount::Bytes(bytes),
            WorkAmount::Whole => unreachable!("a plan says how many bytes that is"),
        },
        flush: work.flush,
        content: work.content,
        rate: work.rate,
        samples: work.samples,
        seed,
        generation,
    }
}

/// Share of the I/O target in the page cache; `None` for direct I/O.
fn cached(io_target: &IoTarget) -> Option<f64> {
    (io_target.mode == IoMode::Buffered).then_some(())?;
    let Extent { offset, len } = io_target.extent;
    cached_share(&io_target.file, offset..offset + len)
}

/// Waits until written data is on the device.
pub(super) fn settle(io_target: &IoTarget) -> Result<(), RunError> {
    let flushed = io_target.file.sync_data();
    flushed.map_err(|source| RunError::Storage { act: "flush the scratch file", source })
}

/// Drops the clean pages of the scratch file from the page cache; requires no privileges.
fn drop_cache(io_target: &IoTarget) {
    // Advice only: if the kernel ignores it, the device's counters show it.
    cryptbench_os::files::forget(&io_target.file);
}

#[cfg(test)]
mod tests;
