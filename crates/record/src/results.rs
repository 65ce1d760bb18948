//! Results derived from the trials: one cell per workload and arm, with estimate and verdict.

use serde::{Deserialize, Serialize};

/// Everything derived from the trials of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Results {
    /// One cell per workload and arm, including plain, in plan order.
    pub cells: Vec<Cell>,
    /// The answer in a sentence or two, with its scope; records from earlier versions lack it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headline: Vec<String>,
    /// The verdict in sentences: the cost, then its reliability.
    pub sentences: Vec<String>,
    /// Advice: which system and settings to choose, the uses for which each system is suited, and known risks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
    /// The time that each arm adds to the requests of a sweep over block sizes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additions: Vec<Addition>,
}

/// Additional time of a request as a function of block size, `per_request_s` + `per_byte_s` · bytes, fitted by
/// least squares weighted with the standard errors.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Addition {
    /// Arm identifier.
    pub arm: String,
    /// The sweep, such as `random reads QD1`.
    pub sweep: String,
    /// Workload identifiers of the sweep, from the smallest block size to the largest.
    pub workloads: Vec<String>,
    /// Seconds: value, low and high end of the interval.
    pub per_request_s: [f64; 3],
    /// Seconds per byte: value, low and high end of the interval.
    pub per_byte_s: [f64; 3],
    /// Sum of squared residuals in standard errors, per degree of freedom.
    pub misfit: f64,
    /// Largest deviation of a size's time from the line, as a fraction of the larger of the two values.
    pub worst: f64,
    /// Whether the line fits the measured times.
    pub describes: bool,
}

/// One workload on one arm.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cell {
    /// Workload identifier.
    pub workload: String,
    /// Arm identifier.
    pub arm: String,
    /// Number of trials included.
    pub trials: u32,
    /// Median bytes per second.
    pub bandwidth: f64,
    /// Median requests per second.
    pub iops: f64,
    /// Median over the trials of each latency percentile.
    pub latency: Latency,
    /// CPU cost.
    pub cpu: CpuCost,
    /// Median bytes transferred by the device per requested byte; `None` if the device does not count them.
    pub device_ratio: Option<f64>,
    /// Whether far fewer bytes reached the device than were requested: the data came from a cache, so the cell
    /// gets no verdict.
    pub cached: bool,
    /// Difference between two plain *trials*: the 95th percentile of |ln(P'/P)| over this workload's pairs, as a
    /// loss of speed (a fraction below 1).
    pub noise_floor: Option<f64>,
    /// Difference between two plain *arms* with this number of pairs: the noise floor divided, in the log domain,
    /// by the square root of the number of pairs. A smaller difference is never called a cost.
    #[serde(default)]
    pub noise_of_mean: Option<f64>,
    /// Speed relative to plain; absent for plain itself and without enough pairs.
    pub kept: Option<Estimate>,
    /// The verdict; absent for plain itself.
    pub verdict: Option<Verdict>,
}

/// Speed relative to plain, with its interval. 1 means the same speed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Estimate {
    /// exp(mean of ln(E/P)).
    pub ratio: f64,
    /// Lower end of the interval (t).
    pub low: f64,
    /// Upper end of the interval (t).
    pub high: f64,
    /// Hodges-Lehmann estimate of the same ratio.
    pub hodges_lehmann: f64,
    /// Lower end of the signed-rank interval, if there are enough pairs for one.
    pub signed_rank_low: Option<f64>,
    /// Upper end of the signed-rank interval.
    pub signed_rank_high: Option<f64>,
    /// p-value of "no difference" (t), before the Holm correction.
    pub p_value: f64,
    /// p-value after Holm's correction over the workloads of this arm.
    pub p_holm: f64,
    /// Number of pairs included.
    pub pairs: u32,
}

/// Verdict on a cell; percentages are positive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// Slower than plain, beyond the noise floor, after correction for multiple cells.
    Costs {
        /// Loss of speed.
        percent: f64,
    },
    /// Faster than plain, beyond the noise floor: probably the effect of a cache or the disk, not
    /// of encryption.
    Gains {
        /// Gain of speed.
        percent: f64,
    },
    /// Slower than plain according to its own interval, but within chance when all cells are considered.
    LikelyCosts {
        /// Loss of speed.
        percent: f64,
    },
    /// Faster than plain according to its own interval, but within chance when all cells are considered.
    LikelyGains {
        /// Gain of speed.
        percent: f64,
    },
    /// Equivalent to plain by two one-sided tests.
    Equivalent {
        /// The margin of equivalence.
        within_percent: f64,
    },
    /// A difference that chance explains, given this noise and this number of pairs.
    WithinNoise {
        /// The smallest difference that would count as a cost or a gain here.
        noise_percent: f64,
    },
    /// The interval is too wide for any of the above.
    Inconclusive {
        /// Total number of pairs that a verdict needs, given the spread observed so far.
        more_pairs: u32,
    },
    /// The bytes did not reach the device, because they came from a cache.
    Cached,
    /// Too few pairs for an interval.
    TooFewPairs,
}

impl Verdict {
    /// The verdict's name in the JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Costs { .. } => "costs",
            Self::Gains { .. } => "gains",
            Self::LikelyCosts { .. } => "likely-costs",
            Self::LikelyGains { .. } => "likely-gains",
            Self::Equivalent { .. } => "equivalent",
            Self::WithinNoise { .. } => "within-noise",
            Self::Inconclusive { .. } => "inconclusive",
            Self::Cached => "cached",
            Self::TooFewPairs => "too-few-pairs",
        }
    }
}

/// Medians over the trials of their latency percentiles, in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Latency {
    /// Median of the trial medians.
    pub p50_us: f64,
    /// Median of the 99th percentiles.
    pub p99_us: Option<f64>,
    /// Median of the 99.9th percentiles.
    pub p999_us: Option<f64>,
}

/// CPU cost of a cell.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuCost {
    /// CPU seconds of this process per GiB transferred.
    pub process_s_per_gib: f64,
    /// CPU seconds of the whole machine, less its idle baseline, per GiB transferred.
    pub machine_s_per_gib: f64,
    /// CPU seconds of the load generator, the system's daemons and the kernel's threads per GiB transferred; absent if
    /// the trials do not separate them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributed_s_per_gib: Option<f64>,
    /// Busy share of the whole machine in percent, less its idle baseline.
    pub machine_percent: f64,
    /// Share of all CPUs in percent that the load generator, the system's daemons and the kernel's threads
    /// used; absent if the trials do not separate them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributed_percent: Option<f64>,
    /// Joules of the CPU packages per GiB transferred, without subtracting any baseline; absent if a trial has
    /// no energy counter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joules_per_gib: Option<f64>,
    /// Joules that the whole machine drew from its batteries per GiB transferred; absent if it was on mains power
    /// during any trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub battery_joules_per_gib: Option<f64>,
}
