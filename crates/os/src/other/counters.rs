//! No counters.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::counters::Passed;

/// A moment.
#[derive(Clone, Debug)]
pub struct Snapshot(Instant);

/// Reads nothing but the clock.
#[derive(Default)]
pub struct Counters {
    devices: usize,
}

impl Counters {
    /// What would be counted is not known here.
    #[must_use]
    pub fn new(_device: Option<PathBuf>, _serving: &[&str]) -> Self {
        Self { devices: 1 }
    }

    /// Nothing is told of the process.
    pub fn watch(&mut self, _pid: u32) {}

    /// Nothing is watched.
    pub fn forget_watched(&mut self) {}

    /// Gives another device its number.
    pub fn add_device(&mut self, _device: Option<PathBuf>) -> usize {
        self.devices += 1;
        self.devices - 1
    }

    /// No device's counters are read.
    pub fn use_device(&mut self, _device: usize) {}

    /// None counts.
    #[must_use]
    pub fn device_counts(&self, _device: usize) -> bool {
        false
    }

    /// Waits, as the machine would be watched for `wait`; how busy it is, is not known.
    pub fn measure_baseline(&mut self, wait: Duration, _cpus: u32) -> f64 {
        std::thread::sleep(wait);
        0.0
    }

    /// This moment.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(Instant::now())
    }

    /// The time that passed.
    #[must_use]
    pub fn passed(&self, before: &Snapshot) -> Passed {
        Passed { wall_s: before.0.elapsed().as_secs_f64(), ..Passed::default() }
    }
}
