//! Counters on systems without support: only the clock.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::counters::Passed;

/// A moment in time.
#[derive(Clone, Debug)]
pub struct Snapshot(Instant);

/// Reads only the clock.
#[derive(Default)]
pub struct Counters {
    devices: usize,
}

impl Counters {
    /// Ignores its arguments.
    #[must_use]
    pub fn new(_device: Option<PathBuf>, _serving: &[&str]) -> Self {
        Self { devices: 1 }
    }

    /// Has no effect.
    pub fn watch(&mut self, _pid: u32) {}

    /// Has no effect.
    pub fn forget_watched(&mut self) {}

    /// Returns a number for another device.
    pub fn add_device(&mut self, _device: Option<PathBuf>) -> usize {
        self.devices += 1;
        self.devices - 1
    }

    /// Has no effect.
    pub fn use_device(&mut self, _device: usize) {}

    /// Always false.
    #[must_use]
    pub fn device_counts(&self, _device: usize) -> bool {
        false
    }

    /// Waits for `wait` as on other systems; how busy the machine is, is unknown.
    pub fn measure_baseline(&mut self, wait: Duration, _cpus: u32) -> f64 {
        std::thread::sleep(wait);
        0.0
    }

    /// The current moment.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(Instant::now())
    }

    /// The elapsed time.
    #[must_use]
    pub fn passed(&self, before: &Snapshot) -> Passed {
        Passed { wall_s: before.0.elapsed().as_secs_f64(), ..Passed::default() }
    }
}
