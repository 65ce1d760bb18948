//! The bench of a real run: the load engine on the surfaces of the systems.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptbench_blockdev::{IoMode, Surface};
use cryptbench_load::{Engine, Job, Operation, WorkloadSpec};
use cryptbench_record::{DeviceMoved, Percentiles};
use hdrhistogram::Histogram;

use crate::accounting::{Accountant, Passed};
use crate::{Bench, Outcome, RunError};

/// Requests that a percentile needs in its trial (docs/methodology.md).
const FOR_P99: u64 = 1_000;
const FOR_P999: u64 = 10_000;

/// Unmeasured lead-in of a trial: the queue fills, the device turns to the new work.
const RAMP: Duration = Duration::from_millis(20);

pub(crate) struct Storage<'a> {
    pub(crate) engine: Engine,
    pub(crate) surfaces: Vec<Surface>,
    pub(crate) workloads: Vec<WorkloadSpec>,
    pub(crate) accountant: Accountant,
    pub(crate) trial: Duration,
    pub(crate) started: Instant,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) generation: u64,
}

impl Bench for Storage<'_> {
    fn trial(
        &mut self,
        workload: usize,
        arm: usize,
        place: u64,
    ) -> Result<Option<Outcome>, RunError> {
        let spec = &self.workloads[workload];
        let surface = &self.surfaces[arm];
        self.generation += 1;
        if surface.mode == IoMode::Buffered {
            drop_cache(surface);
        }
        let job = Job {
            operation: spec.operation,
            pattern: spec.pattern,
            block_size: spec.block_size,
            queue_depth: spec.queue_depth,
            ramp: RAMP.min(self.trial / 4),
            duration: self.trial,
            seed: place,
            generation: self.generation,
        };
        let before = self.accountant.snapshot();
        let measured = self.engine.run(surface, &job, self.stop)?;
        if surface.mode == IoMode::Buffered && spec.operation == Operation::Write {
            settle(surface)?;
        }
        let passed = self.accountant.passed(&before);
        if surface.mode == IoMode::Direct && spec.operation == Operation::Write {
            // The device's own write cache is emptied between trials, outside the measured time,
            // so that one arm's writes are not paid for by the next.
            settle(surface)?;
        }
        if measured.interrupted {
            return Ok(None);
        }
        let elapsed_s = measured.elapsed.as_secs_f64();
        Ok(Some(Outcome {
            elapsed_s,
            ios: measured.ios,
            bytes: measured.bytes,
            latency: percentiles(&measured.latency),
            cpu_process_s: measured.cpu.as_secs_f64(),
            cpu_machine_s: passed.busy_s * share(elapsed_s, &passed),
            device: passed.device.map(|d| scaled(d, measured.bytes, measured.total_bytes)),
        }))
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The measured part of the time that the machine-wide counters span (the ramp is in them too).
fn share(elapsed_s: f64, passed: &Passed) -> f64 {
    (elapsed_s / passed.wall_s).min(1.0)
}

/// The device's counters span the ramp as well: their share of the measured bytes.
fn scaled(d: DeviceMoved, measured: u64, total: u64) -> DeviceMoved {
    let part =
        |n: u64| if total == 0 { n } else { (n as f64 * measured as f64 / total as f64) as u64 };
    DeviceMoved {
        read_bytes: part(d.read_bytes),
        written_bytes: part(d.written_bytes),
        reads: part(d.reads),
        writes: part(d.writes),
    }
}

fn percentiles(h: &Histogram<u64>) -> Percentiles {
    let us = |ns: u64| ns as f64 / 1000.0;
    let at = |q: f64, needed: u64| (h.len() >= needed).then(|| us(h.value_at_quantile(q)));
    Percentiles {
        mean_us: h.mean() / 1000.0,
        p50_us: us(h.value_at_quantile(0.5)),
        p99_us: at(0.99, FOR_P99),
        p999_us: at(0.999, FOR_P999),
        max_us: us(h.max()),
    }
}

/// Waits until what was written is on the device.
fn settle(surface: &Surface) -> Result<(), RunError> {
    rustix::fs::fdatasync(&*surface.file)
        .map_err(|e| RunError::Storage { act: "flush the scratch file", source: e.into() })
}

/// Drops the scratch file's clean pages from the page cache; needs no privilege.
fn drop_cache(surface: &Surface) {
    // Advice: where it is not followed, the device counters show it.
    let _ = rustix::fs::fadvise(&*surface.file, 0, None, rustix::fs::Advice::DontNeed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_need_enough_requests() {
        let mut h = Histogram::<u64>::new(3).unwrap();
        h.record_n(100_000, 999).unwrap();
        assert_eq!(percentiles(&h).p99_us, None);
        h.record(100_000).unwrap();
        assert!((percentiles(&h).p99_us.unwrap() - 100.0).abs() < 0.2);
        assert_eq!(percentiles(&h).p999_us, None);
        h.record_n(100_000, 9_000).unwrap();
        assert!(percentiles(&h).p999_us.is_some());
    }

    #[test]
    fn counters_are_scaled_to_the_measured_part() {
        let d = DeviceMoved { read_bytes: 200, written_bytes: 0, reads: 20, writes: 0 };
        assert_eq!(scaled(d, 50, 100).read_bytes, 100);
        assert_eq!(scaled(d, 0, 0).read_bytes, 200);
    }
}
