//! Speed of storage and CPU, measured on the filled storage.

use std::time::Duration;

use cryptbench_blockdev::IoMode;
use cryptbench_load::{Amount, Flush, Job, Operation, Pattern};
use cryptbench_system::ArmSpec;

use super::Claimed;
use super::why::cipher_rate;
pub(crate) use crate::decide::fit::Pace;
use crate::decide::fit::system_s;
use crate::decide::sizes::file_space;
use crate::{Halt, RunError};

/// Duration of one measurement, and request sizes in bytes.
const LOOK: Duration = Duration::from_millis(60);
const LARGE: u64 = 1 << 20;
const SMALL: u64 = 4 << 10;

/// Bytes per second of the latest steps. The previous step has half the weight of the last one, because the last may be
/// short or include a stall.
#[derive(Default)]
pub(super) struct RecentRate {
    bytes: f64,
    seconds: f64,
}

impl RecentRate {
    /// The rate after another step, which transferred `bytes`.
    pub(super) fn with(&mut self, bytes: u64, took: Duration) -> f64 {
        self.bytes = self.bytes / 2.0 + bytes as f64;
        self.seconds = self.seconds / 2.0 + took.as_secs_f64();
        self.bytes / self.seconds
    }
}

impl Claimed<'_> {
    /// Seconds to set up the arms of a system for a range of `len` bytes, at the speed measured so far.
    pub(super) fn system_s(&self, arms: &[ArmSpec], len: u64) -> f64 {
        let room = (file_space(&self.workloads), self.plain.target.free());
        system_s(arms, len, room, &self.pace)
    }

    /// Measures reads and small requests on the plain range, which was filled or is only read.
    pub(super) fn look_at_pace(&mut self) -> Result<(), Halt> {
        let is_direct = self.plain.io_target().mode == IoMode::Direct;
        let writes = !self.plan.storage.is_only_read();
        if is_direct {
            let (elapsed_s, ios) = self.look(Operation::Read, LARGE, Flush::Never)?;
            self.pace.read = ios.max(1) as f64 * LARGE as f64 / elapsed_s;
            self.pace.read_s = self.request_s(Operation::Read, Flush::Never)?;
        } else {
            // A cache would serve reads, and absorb writes until they must be durable.
            self.pace.read = self.pace.write;
        }
        if !writes {
            (self.pace.write, self.pace.request_s) = (self.pace.read, self.pace.read_s);
            return Ok(());
        }
        let flush = if is_direct { Flush::Never } else { Flush::EachWrite };
        let write_s = self.request_s(Operation::Write, flush)?;
        self.pace.request_s = write_s.max(self.pace.read_s);
        match is_direct {
            true => Ok(()),
            false => {
                self.pace.read_s = write_s;
                Ok(())
            }
        }
    }

    /// Seconds per small request. The first requests may wait for earlier writes.
    fn request_s(&mut self, operation: Operation, flush: Flush) -> Result<f64, Halt> {
        self.look(operation, SMALL, flush)?;
        let (elapsed_s, ios) = self.look(operation, SMALL, flush)?;
        Ok(elapsed_s / ios.max(1) as f64)
    }

    /// Measures the cipher; this needs no storage.
    pub(super) fn look_at_cipher(&mut self) {
        self.pace.cipher = cipher_rate(self.plan.tier);
    }

    /// Measures requests at queue depth 1; returns the seconds and the number of requests.
    fn look(&mut self, operation: Operation, block: u64, flush: Flush) -> Result<(f64, u64), Halt> {
        self.go_on()?;
        let io_target = self.plain.io_target();
        if io_target.extent.len < block {
            return Ok((0.0, 1));
        }
        let pattern = if block == LARGE { Pattern::Sequential } else { Pattern::Random };
        let amount = Amount::Time { ramp: Duration::ZERO, duration: LOOK };
        let seed = self.plan.recorded.seed;
        let job = Job { amount, seed, flush, ..Job::new(operation, pattern, block, 1) };
        let measured = self.engine.run(&io_target, &job, self.stop)?;
        if measured.interrupted {
            return Err(Halt::Interrupted);
        }
        if operation == Operation::Write {
            let flushed = io_target.file.sync_data();
            flushed
                .map_err(|source| RunError::Storage { act: "flush the scratch file", source })?;
        }
        Ok((measured.elapsed.as_secs_f64(), measured.ios))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_last_step_that_meets_a_stall_is_not_the_pace() {
        let mut rate = RecentRate::default();
        let s = Duration::from_secs_f64;
        for mib in [4, 8, 16, 32, 64] {
            rate.with(mib << 20, s(mib as f64 / 100.0));
        }
        let mib_s = rate.with(1 << 20, s(0.2)) / f64::from(1 << 20);
        assert!((50.0..100.0).contains(&mib_s), "{mib_s}");
        // A disk whose cache is full shows it within a few steps.
        let slow = (0..3).map(|_| rate.with(64 << 20, s(6.4)) / f64::from(1 << 20)).last();
        assert!(slow.is_some_and(|mib_s| mib_s < 12.0), "{slow:?}");
    }
}
