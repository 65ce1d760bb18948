//! Block workloads with interleaved arms: one engine session, a slice at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cryptbench_blockdev::{IoMode, IoTarget};
use cryptbench_load::{BlockWork, Measurement, Slice};
use cryptbench_os::counters::Passed;
use cryptbench_record::{Accounting, DEVICE_FLUSH, DiskCounts, Observation, Slices, Threads};
use cryptbench_system::Target;

use super::Measured;
use super::lower_cache::{late, settle_below};
use super::numbers::{percentiles, scaled, share};
use super::requests::{asked, job, of_all, settle};
use super::slicing::Turns;
use crate::{Halt, RunError};

/// The sums over an arm's slices.
#[derive(Default)]
struct Sum {
    slices: Slices,
    passed: Passed,
    /// Time until its written data was on the device.
    flush: Duration,
}

impl Measured<'_> {
    /// Whether an arm can be interleaved: its requests bypass the page cache, both above and below the arm, and no arm
    /// has kernel parameters, because these apply to all arms.
    pub(super) fn can_take_turns(&self, arm: usize) -> bool {
        let prepared = self.arm(arm);
        let alike = self.arms().iter().all(|arm| arm.prepared.parameters.is_empty());
        alike && prepared.io_target.mode == IoMode::Direct && !prepared.cached_below
    }

    /// Runs a block workload on the arms of `turns`.
    pub(super) fn requests_by_turns(
        &mut self,
        work: &BlockWork,
        turns: &Turns,
        offsets: u64,
    ) -> Result<Vec<Observation>, Halt> {
        let io_targets: Vec<IoTarget> =
            turns.arms.iter().map(|&arm| self.scratch(work, arm, offsets)).collect();
        let job = job(work, (Duration::ZERO, turns.length), offsets, self.generation);
        let mut sums: Vec<Sum> = turns.arms.iter().map(|_| Sum::default()).collect();
        let mut slices = self.prepared.claimed.engine.slices(&io_targets, &job)?;
        let (mut counted, stop) = (None, self.stop());
        for (i, &turn) in turns.order.iter().enumerate() {
            let arm = turns.arms[turn];
            let before = counted.take().unwrap_or_else(|| self.begin_counting(arm));
            let at = self.prepared.claimed.clock.elapsed();
            let slice =
                slices.carry(&mut self.prepared.claimed.engine, turn, turns.length, stop)?;
            let next = turns.order.get(i + 1).map(|&turn| turns.arms[turn]);
            let passed = if next.is_some_and(|next| self.count_alike(arm, next)) {
                let (passed, next) = self.prepared.claimed.counters.lap(&before);
                counted = Some(next);
                passed
            } else {
                self.passed(&before)
            };
            sums[turn].add(at, &slice, &passed);
            if slice.interrupted {
                return Err(Halt::Interrupted);
            }
        }
        let measured = slices.finish();
        if work.direction.writes() {
            self.flush_turns(turns, &io_targets, &measured, &mut sums)?;
        }
        let counts = self.counts_flush(work);
        let observed = |(m, sum): (&Measurement, Sum)| sum.observed(m, asked(work, m), counts);
        Ok(measured.iter().zip(sums).map(observed).collect())
    }

    /// The flush of plain storage empties the device's cache of the data of all arms, so its time is divided among
    /// the arms in proportion to their bytes. Additional time of an arm with its own file counts only for that arm.
    fn flush_turns(
        &self,
        turns: &Turns,
        io_targets: &[IoTarget],
        measured: &[Measurement],
        sums: &mut [Sum],
    ) -> Result<(), RunError> {
        let shares = |turn: usize| self.arms()[turns.arms[turn]].spec.target == Target::Plain;
        let bytes_of = |turn: usize| if shares(turn) { measured[turn].total_bytes } else { 0 };
        let all: u64 = (0..measured.len()).map(bytes_of).sum();
        let whole = self.flush(&io_targets[0], turns.arms[0])?;
        for (turn, sum) in sums.iter_mut().enumerate() {
            sum.flush += whole.mul_f64(of_all(bytes_of(turn), all));
        }
        // In the order of the arms' first turns; this order is random.
        let mut flushed = vec![false; measured.len()];
        for &turn in &turns.order {
            if std::mem::replace(&mut flushed[turn], true) {
                continue;
            }
            if !Arc::ptr_eq(&io_targets[turn].file, &io_targets[0].file) {
                sums[turn].flush += self.flush(&io_targets[turn], turns.arms[turn])?;
            }
        }
        Ok(())
    }

    /// Time until data written to an arm's I/O target was on the device.
    fn flush(&self, io_target: &IoTarget, arm: usize) -> Result<Duration, RunError> {
        let settled = || {
            let began = Instant::now();
            settle(io_target)?;
            settle_below(self.arm(arm));
            Ok::<_, RunError>(began.elapsed())
        };
        Ok(late(settled, || ())?.0)
    }
}

impl Sum {
    fn add(&mut self, at: Duration, slice: &Slice, passed: &Passed) {
        let us = |d: Duration| u64::try_from(d.as_micros()).unwrap_or(u64::MAX);
        self.slices.at_us.push(us(at));
        self.slices.elapsed_us.push(us(slice.elapsed));
        self.slices.ios.push(slice.ios);
        self.passed.add(passed);
    }

    /// The observation of the slices, with this many `asked` requests; includes the flush if it `counts`.
    fn observed(self, measured: &Measurement, asked: u64, counts: bool) -> Observation {
        let share = share(measured.elapsed.as_secs_f64(), &self.passed);
        let flush = self.flush.mul_f64(of_all(measured.bytes, measured.total_bytes));
        let later = if counts { flush } else { Duration::ZERO };
        let parts = (!later.is_zero()).then(|| (DEVICE_FLUSH.to_owned(), later.as_secs_f64()));
        Observation {
            elapsed_s: (measured.elapsed + later).as_secs_f64(),
            ios: measured.ios,
            bytes: measured.bytes,
            latency: percentiles(&measured.latency),
            cpu_process_s: measured.cpu.as_secs_f64(),
            cpu_machine_s: self.passed.busy_s * share,
            device: self
                .passed
                .device
                .map(|d| scaled(d.into(), measured.bytes, measured.total_bytes)),
            disk: self.passed.device.map(|d| DiskCounts::of(&d, asked, measured.total_bytes)),
            threads: Threads::of(&self.passed, asked),
            accounting: Some(Accounting::of(&self.passed, share)),
            samples: None,
            parts: parts.into_iter().collect(),
            slices: Some(self.slices),
        }
    }
}
