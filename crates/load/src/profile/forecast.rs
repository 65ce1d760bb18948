//! Predicts how much a profile would write and read, and how long this would take.

use std::collections::BTreeMap;

use super::{
    BlockWork, FileAction, FileSizes, FileUse, FileWork, Profile, Work, WorkAmount, WorkloadSpec,
};
use crate::{Direction, Flush, Rate};

/// Number of discarded trials per workload and arm: one trial if trials are timed.
fn discarded(work: &Work) -> u64 {
    u64::from(matches!(work, Work::Block(block) if block.amount == WorkAmount::Time))
}

/// Number of requests of a time-based trial outside its measured time, as a multiple of the queue depth.
const QUEUES: f64 = 3.0;

/// Speeds of the storage, measured or assumed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Rate of large reads, bytes per second.
    pub read: f64,
    /// Rate of large writes, bytes per second.
    pub write: f64,
    /// Fixed time per request in seconds, in addition to the time for its bytes.
    pub request_s: f64,
    /// Number of small files per second, for any action.
    pub files: f64,
    /// Seconds to open a volume.
    pub unlock_s: f64,
}

impl Default for Rates {
    /// A SATA SSD in an ordinary computer.
    fn default() -> Self {
        Self { read: 500e6, write: 400e6, request_s: 100e-6, files: 5000.0, unlock_s: 2.0 }
    }
}

/// The assumptions of a forecast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assumptions {
    /// Number of arms, including plain storage.
    pub arms: u32,
    /// Number of measured trials of each workload on each arm.
    pub pairs: u32,
    /// Measured time of a timed trial, in seconds.
    pub trial_s: f64,
    /// Unmeasured ramp before a timed trial in seconds, unless the profile specifies it.
    pub ramp_s: f64,
    /// Size of the scratch file in bytes.
    pub scratch_bytes: u64,
    /// Number of times that the scratch file is filled: once if all arms share its extents.
    pub fills: u32,
    /// Speeds of the storage.
    pub rates: Rates,
}

/// The amounts of data and the times of a run. Timed trials take exactly the given time. Their amounts of data, and the
/// times of all other trials, are calculated from the assumed speeds. Caches reduce both amounts and times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forecast {
    /// Number of trials, including discarded trials.
    pub trials: u64,
    /// Bytes written, including the filling of the scratch file.
    pub bytes_written: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Seconds, including pauses.
    pub seconds: f64,
    /// Maximum number of bytes that are occupied on the storage at any time.
    pub scratch_bytes: u64,
}

/// The cost of one trial, or of its preparation.
#[derive(Clone, Copy, Default)]
struct Cost {
    written: f64,
    read: f64,
    seconds: f64,
}

impl Cost {
    fn times(self, n: f64) -> Self {
        Self { written: self.written * n, read: self.read * n, seconds: self.seconds * n }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            written: self.written + other.written,
            read: self.read + other.read,
            seconds: self.seconds + other.seconds,
        }
    }
}

impl Profile {
    /// Predicts what a run of this profile would write and read, and how long it would take.
    pub fn forecast(&self, assumptions: &Assumptions) -> Forecast {
        let (arms, pairs) = (f64::from(assumptions.arms), u64::from(assumptions.pairs));
        let ramp_s = self.ramp_s.unwrap_or(assumptions.ramp_s);
        let timed_s = ramp_s + assumptions.trial_s;
        let rates = &assumptions.rates;
        let uses_scratch = self.scratch_needed() > 0;
        let scratch = if uses_scratch { assumptions.scratch_bytes } else { 0 };

        let fill = scratch as f64;
        let mut sum = Cost { written: fill, read: 0.0, seconds: fill / rates.write }
            .times(f64::from(assumptions.fills));
        let (mut fresh, mut sets, mut trials) = (0, BTreeMap::new(), 0);
        for WorkloadSpec { work, .. } in &self.workloads {
            let trial = match work {
                Work::Block(block) => {
                    if let FileUse::Fresh(bytes) = block.file {
                        fresh = fresh.max(bytes);
                    }
                    block_trial(block, timed_s, scratch, rates)
                }
                Work::Files(files) => {
                    let set = sets.entry(set_of(files)).or_insert((files, false, false));
                    set.1 |= files.action == FileAction::Create;
                    set.2 |= files.action == FileAction::Delete;
                    files_trial(files, rates)
                }
                Work::Unlock(_) => Cost { seconds: rates.unlock_s, ..Cost::default() },
            };
            let rest = Cost { seconds: self.pause_s, ..Cost::default() };
            let runs = pairs + discarded(work);
            trials += runs;
            sum = sum.plus(trial.plus(rest).times(arms * runs as f64));
        }
        let mut kept = 0u64;
        for (files, created, deleted) in sets.into_values() {
            kept = kept.saturating_add(set_bytes(files));
            // If no trial creates the files, they are created for the first trial, and again after
            // each trial that deletes them.
            let made = match (created, deleted) {
                (true, _) => 0,
                (false, true) => pairs,
                (false, false) => 1,
            };
            sum = sum.plus(create(files, rates).times(arms * made as f64));
        }
        let rounds = pairs.saturating_sub(1) as f64;
        Forecast {
            trials: trials * u64::from(assumptions.arms),
            bytes_written: sum.written.round() as u64,
            bytes_read: sum.read.round() as u64,
            seconds: sum.seconds + self.round_pause_s * rounds,
            scratch_bytes: scratch
                .saturating_add(fresh)
                .saturating_add(kept.saturating_mul(u64::from(assumptions.arms))),
        }
    }
}

impl Work {
    /// Minimum duration in seconds of a trial whose measured time is `timed_s`. A timed trial also fills its queue,
    /// counts whole queues, and drains the queue at the end. `scratch` is the size of the scratch file in bytes.
    pub fn seconds(&self, timed_s: f64, scratch: u64, rates: &Rates) -> f64 {
        match self {
            Self::Block(work) => {
                let in_flight = f64::from(work.queue_depth) * f64::from(work.threads);
                let rate = if work.direction.writes() { rates.write } else { rates.read };
                let queue_s = in_flight * rates.request_s.max(work.block_size as f64 / rate);
                match work.amount {
                    WorkAmount::Time => timed_s + QUEUES * queue_s,
                    _ => {
                        let Cost { written, read, seconds } =
                            block_trial(work, timed_s, scratch, rates);
                        let flushed = match work.flush {
                            Flush::EachWrite => written / work.block_size as f64 * rates.request_s,
                            _ => 0.0,
                        };
                        let least = (written + read) / rate;
                        seconds.max(least) + flushed
                    }
                }
            }
            // The files are created first, unless they still exist from an earlier trial.
            Self::Files(work) => {
                let read_s = match work.action {
                    FileAction::Read => {
                        set_bytes(work) as f64 / rates.read
                            + f64::from(work.count) * rates.request_s
                    }
                    _ => 0.0,
                };
                create(work, rates).seconds + read_s
            }
            Self::Unlock(_) => rates.unlock_s,
        }
    }
}

fn block_trial(work: &BlockWork, timed_s: f64, scratch: u64, rates: &Rates) -> Cost {
    let reads = match work.direction {
        Direction::Read => 1.0,
        Direction::Write => 0.0,
        Direction::Mixed { read_percent } => f64::from(read_percent) / 100.0,
    };
    let speed = speed(work, reads, rates);
    let moved = |bytes: u64| (bytes as f64, bytes as f64 / speed);
    let (bytes, seconds) = match work.amount {
        WorkAmount::Time => (speed * timed_s, timed_s),
        WorkAmount::Bytes(bytes) => {
            moved(bytes.div_ceil(work.block_size).saturating_mul(work.block_size))
        }
        WorkAmount::Whole => moved(scratch / work.block_size * work.block_size),
    };
    Cost { written: bytes * (1.0 - reads), read: bytes * reads, seconds }
}

/// Bytes per second. Requests in flight increase the speed in proportion, up to the rate of large requests and the
/// workload's own limit.
fn speed(work: &BlockWork, reads: f64, rates: &Rates) -> f64 {
    let block = work.block_size as f64;
    let most = 1.0 / (reads / rates.read + (1.0 - reads) / rates.write);
    let in_flight = f64::from(work.queue_depth) * f64::from(work.threads);
    let speed = most.min(in_flight * block / (rates.request_s + block / most));
    match work.rate {
        Some(Rate::Bytes(bound)) => speed.min(bound),
        Some(Rate::Requests(bound)) => speed.min(bound * block),
        None => speed,
    }
}

fn files_trial(work: &FileWork, rates: &Rates) -> Cost {
    let (count, bytes) = (f64::from(work.count), set_bytes(work) as f64);
    let (written, read) = match work.action {
        FileAction::Create => (bytes, 0.0),
        FileAction::Read => (0.0, bytes),
        FileAction::Stat | FileAction::Rename | FileAction::Delete => (0.0, 0.0),
    };
    Cost { written, read, seconds: count / rates.files + written / rates.write + read / rates.read }
}

/// The cost of creating a set before the measured time.
fn create(work: &FileWork, rates: &Rates) -> Cost {
    files_trial(&FileWork { action: FileAction::Create, ..work.clone() }, rates)
}

fn set_bytes(work: &FileWork) -> u64 {
    work.sizes.mean().saturating_mul(u64::from(work.count))
}

/// The properties that distinguish one set of files from another.
fn set_of(work: &FileWork) -> (u32, u64, u64) {
    match work.sizes {
        FileSizes::Fixed(bytes) => (work.count, bytes, 0),
        FileSizes::LogNormal { median, sigma } => (work.count, median, sigma.to_bits()),
    }
}
