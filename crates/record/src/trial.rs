//! One observation: a single trial of a workload on an arm.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{DiskCounts, Record, StopReason, Threads};

/// Name of the [part](Trial::parts) of a block workload's time in which writes cached below an encrypted file system
/// were written to the device.
pub const FLUSH: &str = "flush";

/// The [part](Trial::parts) of a block workload's time in which the device's own cache was written to the medium.
pub const DEVICE_FLUSH: &str = "device-flush";

/// One trial. A trial, never an individual request, is the unit of observation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trial {
    /// Position in the order of execution, from 0.
    pub sequence: u32,
    /// Block (pair number) within its workload, from 0; discarded trials have none.
    pub block: Option<u32>,
    /// Workload identifier.
    pub workload: String,
    /// Arm identifier.
    pub arm: String,
    /// Start of the trial, in seconds since the start of the run.
    pub at_s: f64,
    /// The measurements of the trial.
    #[serde(flatten)]
    pub measured: Observation,
}

/// What a trial measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Observation {
    /// Measured seconds.
    pub elapsed_s: f64,
    /// Requests completed in the measured time.
    pub ios: u64,
    /// Bytes completed in the measured time.
    pub bytes: u64,
    /// Latency of the requests.
    pub latency: Percentiles,
    /// CPU seconds of this process, user and system.
    pub cpu_process_s: f64,
    /// CPU seconds of the whole machine less its idle baseline, counted in clock ticks. Negative if other programs used
    /// more CPU time before the run; earlier versions then wrote 0.
    pub cpu_machine_s: f64,
    /// The device's own counters during the trial, if it has any, scaled to the measured bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceMoved>,
    /// What reached the disk, according to its device's counters, if it has any; always absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskCounts>,
    /// The busiest threads, if the system reports them; always absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<Threads>,
    /// How the CPU time of the trial is divided, and the state of the machine during it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounting: Option<Accounting>,
    /// Offset and latency of individual requests, if the workload records them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<Samples>,
    /// Parts of the time by name, in seconds, if the workload has parts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, f64>,
    /// The slices that make up the trial, if the arms of its block were interleaved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<Slices>,
}

/// The slices of a trial in their order: three lists of the same length.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Slices {
    /// Start of each slice, in microseconds since the start of the run.
    pub at_us: Vec<u64>,
    /// Measured microseconds of each.
    pub elapsed_us: Vec<u64>,
    /// Requests that each counted.
    pub ios: Vec<u64>,
}

/// How the CPU time of a trial is divided, and the state of the machine during it. Values that this machine cannot
/// provide are absent. CPU seconds are scaled to the measured time, like `cpu_machine_s`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Accounting {
    /// CPU seconds of the threads that issue the load, including inline layers.
    pub generator_s: f64,
    /// CPU seconds of the encryption system's own processes and serving threads.
    pub daemons_s: f64,
    /// CPU seconds of kernel threads (kworker, kcryptd, loop, io-wq and so on), less their idle baseline; can be
    /// negative, like `cpu_machine_s`.
    pub kernel_s: f64,
    /// CPU seconds of everything else, including interrupts: the machine's busy time less the three
    /// values above and the idle baseline. It can be slightly negative, because the machine counts
    /// in ticks.
    pub other_s: f64,
    /// Share of the file in the page cache at the start of the trial, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_before: Option<f64>,
    /// Energy used by the CPU packages in joules, without subtracting any baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<f64>,
    /// Energy in joules that the whole machine, including its screen, drew from its batteries: the mean of the power at
    /// both ends times the duration. Absent on mains power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub battery_j: Option<f64>,
    /// Highest CPU temperature at the end, in degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<f64>,
    /// Mean CPU frequency at the end, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_mhz: Option<f64>,
    /// Share of the time in which a task waited for a CPU (PSI), 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_pressure: Option<f64>,
    /// Share of the time in which a task waited for I/O (PSI), 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_pressure: Option<f64>,
    /// Share of the time in which a task waited for memory (PSI), 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_pressure: Option<f64>,
    /// CPU seconds that the hypervisor withheld from this machine (steal).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_s: Option<f64>,
}

impl Slices {
    /// When each slice began, in seconds since the start of the run, and its requests per second.
    pub fn course(&self) -> impl Iterator<Item = (f64, f64)> {
        let times = self.at_us.iter().zip(&self.elapsed_us);
        times
            .zip(&self.ios)
            .map(|((at, elapsed), ios)| (*at as f64 / 1e6, *ios as f64 / (*elapsed as f64 / 1e6)))
    }
}

/// Offset and latency of individual requests, in order of completion.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Samples {
    /// Bytes from the start of the extent.
    pub offset: Vec<u64>,
    /// Microseconds.
    pub latency_us: Vec<f32>,
}

/// Bytes and requests counted by the device itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceMoved {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
}

/// Total latency of requests in microseconds, from submission to completion, including the inline
/// layer.
///
/// Percentiles without enough requests are absent: p99 needs 1,000 requests, p99.9 needs 10,000.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// Mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: Option<f64>,
    /// 99.9th percentile.
    pub p999_us: Option<f64>,
    /// Largest.
    pub max_us: f64,
}

impl Observation {
    /// What reached the disk, over the time that these requests take at the measured rate.
    pub fn disk_while_measured(&self) -> Option<DiskCounts> {
        Some(self.disk?.at_rate(self.ios as f64 / self.elapsed_s))
    }

    /// CPU seconds of the load, the system and the kernel's threads, according to the scheduler's accounting, which
    /// other programs do not affect; `None` in records that do not have it.
    pub fn cpu_attributed_s(&self) -> Option<f64> {
        self.accounting.as_ref().map(|a| a.generator_s + a.daemons_s + a.kernel_s)
    }
}

impl Trial {
    /// Bytes per second.
    pub fn bandwidth(&self) -> f64 {
        self.measured.bytes as f64 / self.measured.elapsed_s
    }

    /// Requests per second.
    pub fn iops(&self) -> f64 {
        self.measured.ios as f64 / self.measured.elapsed_s
    }

    /// When each of its slices began, in seconds since the start of the run, and its requests per second; the trial
    /// itself if it has no slices.
    pub fn course(&self) -> Vec<(f64, f64)> {
        match &self.measured.slices {
            None => vec![(self.at_s, self.iops())],
            Some(slices) => slices.course().collect(),
        }
    }
}

impl Record {
    /// Whether the run is partial because its budget ran out. A killed run has not recorded why its workloads ended.
    pub fn time_ran_out(&self) -> bool {
        let is = |reason| self.stops.iter().any(|stop| stop.reason == reason);
        self.partial && is(StopReason::Budget) && !is(StopReason::Interrupted)
    }

    /// The measured trials of one workload and arm by block: `(block, trial)`, ascending.
    pub fn trials_of<'a>(&'a self, workload: &str, arm: &str) -> Vec<(u32, &'a Trial)> {
        trials_of(&self.trials, workload, arm)
    }

    /// ln(rate of `arm` / geometric mean of the rates of `baseline`) for each block in which `arm` and any of
    /// `baseline` ran, in block order.
    pub fn log_ratios(&self, workload: &str, arm: &str, baseline: &[&str]) -> Vec<f64> {
        log_ratios(&self.trials, workload, arm, baseline)
    }
}

/// Number of complete blocks of a workload, which are numbered from 0 without gaps.
pub fn complete_blocks(trials: &[Trial], workload: &str) -> u32 {
    let of = trials.iter().filter(|trial| trial.workload == workload);
    of.filter_map(|trial| trial.block).max().map_or(0, |last| last + 1)
}

/// Like [`Record::trials_of`], for trials that are not in a record yet.
pub fn trials_of<'a>(
    trials: impl IntoIterator<Item = &'a Trial>,
    workload: &str,
    arm: &str,
) -> Vec<(u32, &'a Trial)> {
    let mut found: Vec<_> = trials
        .into_iter()
        .filter(|t| t.workload == workload && t.arm == arm)
        .filter_map(|t| t.block.map(|b| (b, t)))
        .collect();
    found.sort_by_key(|(b, _)| *b);
    found
}

/// Like [`Record::log_ratios`], for trials that are not in a record yet.
pub fn log_ratios<'a>(
    trials: impl IntoIterator<Item = &'a Trial> + Clone,
    workload: &str,
    arm: &str,
    baseline: &[&str],
) -> Vec<f64> {
    let base: Vec<_> =
        baseline.iter().map(|plain| trials_of(trials.clone(), workload, plain)).collect();
    let log_rate = |trials: &Vec<(u32, &Trial)>, block| {
        let i = trials.binary_search_by_key(&block, |(b, _)| *b).ok()?;
        Some(trials[i].1.iops().ln())
    };
    let of_block = |(block, t): (u32, &Trial)| {
        let logs: Vec<f64> = base.iter().filter_map(|trials| log_rate(trials, block)).collect();
        let d = t.iops().ln() - logs.iter().sum::<f64>() / logs.len() as f64;
        d.is_finite().then_some(d)
    };
    trials_of(trials, workload, arm).into_iter().filter_map(of_block).collect()
}
