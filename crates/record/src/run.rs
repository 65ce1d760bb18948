//! What was planned, on what it ran, and why it ended.

use serde::{Deserialize, Serialize};

use crate::{Results, Trial};

/// One run of the program: its plan, its surroundings, its raw trials and what follows from them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// [`crate::SCHEMA`] of the writer.
    pub schema: String,
    /// Version of the program that measured.
    pub program_version: String,
    /// Unique name of the run; also the name of its directory.
    pub run_id: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// Wall-clock seconds from start to end.
    pub elapsed_s: f64,
    /// True when the run was interrupted: the trials are sound, but fewer than planned.
    pub partial: bool,
    /// What was to be measured.
    pub plan: Plan,
    /// The machine it was measured on.
    pub machine: Machine,
    /// The file system and device under the scratch file.
    pub target: Target,
    /// Every trial in the order in which it ran, discarded ones included.
    pub trials: Vec<Trial>,
    /// Why each workload's trials ended.
    pub stops: Vec<WorkloadStop>,
    /// Remarks a reader must know, in sentences (fallbacks, what could not be read here).
    pub notes: Vec<String>,
    /// Estimates and verdicts derived from `trials`; absent until they were computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Results>,
}

/// What is measured, how long, and in which order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Name of the workload profile.
    pub profile: String,
    /// The workloads, in the order of the profile.
    pub workloads: Vec<Workload>,
    /// The arms; the first is always plain storage.
    pub arms: Vec<Arm>,
    /// Seed of the schedule: the same seed repeats it.
    pub seed: u64,
    /// Wall-clock bound in seconds.
    pub budget_s: f64,
    /// Measured seconds of one trial.
    pub trial_s: f64,
    /// Fewest pairs per workload before it may stop on precision.
    pub min_pairs: u32,
    /// Most pairs per workload.
    pub max_pairs: u32,
    /// Target half-width of the interval, as a fraction (0.03 means 3 %).
    pub target_half_width: f64,
    /// Confidence of all intervals, for instance 0.95.
    pub confidence: f64,
}

/// One workload of a profile.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Workload {
    /// Identifier within the record, such as `seq-read-1m-q1`.
    pub id: String,
    /// How people call it, such as `sequential read 1 MiB QD1`.
    pub label: String,
    /// `read` or `write`.
    pub operation: String,
    /// `sequential` or `random`.
    pub pattern: String,
    /// Bytes per request.
    pub block_size: u64,
    /// Requests in flight.
    pub queue_depth: u32,
    /// The figure that people quote for it: `bandwidth` or `iops`.
    pub headline: String,
}

/// What an arm is compared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArmRole {
    /// Plain storage, the baseline.
    Plain,
    /// Plain storage again; its distance from `Plain` is the noise floor.
    PlainAgain,
    /// The software path of a system without its cipher.
    NullLayer,
    /// Encrypted storage.
    Encrypted,
}

/// One contender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Arm {
    /// Identifier within the record, such as `builtin/aes-256-xts/512`.
    pub id: String,
    /// How tables call it, such as `AES-256-XTS 512 B`.
    pub label: String,
    /// What it is compared as.
    pub role: ArmRole,
    /// System that provides it, such as `plain` or `builtin`.
    pub system: String,
    /// Cipher and mode, such as `aes-256-xts`; absent where nothing is encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cipher: Option<String>,
    /// Bytes under one tweak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_unit: Option<u32>,
    /// The format whose sector layout is used, such as `VeraCrypt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// The cipher kernel that really ran, such as `vaes-avx2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_tier: Option<String>,
}

/// The machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// CPU model as the kernel names it.
    pub cpu_model: String,
    /// Processors that this process may use.
    pub cpus: u32,
    /// CPU features that matter to ciphers and are usable here.
    pub cpu_features: Vec<String>,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Kernel name, release and version.
    pub kernel: String,
    /// The distribution, from os-release.
    pub os: String,
    /// Name of the hypervisor or container, when one is recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtualisation: Option<String>,
    /// Busy fraction of the whole machine (0 to 1) before the run, while this process was idle.
    pub idle_baseline: f64,
    /// One-minute load average at the start.
    pub load_average: f64,
}

/// The storage that was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Target {
    /// Directory in which the scratch file lay.
    pub directory: String,
    /// File system type.
    pub filesystem: String,
    /// Mount options that were in force.
    pub mount_options: String,
    /// What is mounted there (a device path or a name).
    pub source: String,
    /// The block device beneath, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// The scratch file.
    pub scratch: Scratch,
    /// What carried the requests.
    pub engine: Engine,
}

/// The block device whose counters were read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Device {
    /// Kernel name, such as `nvme0n1p2`.
    pub name: String,
    /// Model, where the kernel knows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Bytes.
    pub size_bytes: u64,
    /// Whether the kernel takes it for a spinning disk (virtual disks often claim so).
    pub rotational: bool,
    /// Logical block size in bytes.
    pub logical_block_size: u32,
    /// Physical block size in bytes.
    pub physical_block_size: u32,
    /// The I/O scheduler in use.
    pub scheduler: String,
    /// `write back` or `write through`.
    pub write_cache: String,
}

/// The file shared by all arms.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scratch {
    /// Bytes.
    pub size_bytes: u64,
    /// Why this size, in words.
    pub size_reason: String,
    /// Extents on the device, where the file system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents: Option<u32>,
}

/// What carried the requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Engine {
    /// `io_uring` or `threads`.
    pub name: String,
    /// Why not io_uring, when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_reason: Option<String>,
    /// Whether the page cache was bypassed (`O_DIRECT`).
    pub direct: bool,
}

/// Why a workload's trials ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// Every interval is at most the target wide to each side.
    Precision,
    /// `max_pairs` was reached.
    PairCap,
    /// The time budget ended.
    Budget,
    /// A signal ended the run.
    Interrupted,
}

/// Why and when one workload ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkloadStop {
    /// Workload identifier.
    pub workload: String,
    /// The reason.
    pub reason: StopReason,
    /// Complete blocks (pairs per arm) that were measured.
    pub pairs: u32,
}
