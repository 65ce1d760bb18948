//! What was planned, on what it ran, and why it ended.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Evidence, Results, Trial};

/// One run of the program: its plan, its surroundings, its raw trials and what follows from them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// Name and version of this form of document.
    #[schemars(extend("const" = crate::SCHEMA))]
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
    /// What was found on the storage after the trials, one for each arm that was looked at; records of earlier
    /// versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Estimates and verdicts derived from `trials`; absent until they were computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Results>,
}

/// What is measured, how long, and in which order.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
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
    /// Half-width of the intervals at which a workload ends, as a fraction (0.013 means 1.3 %).
    pub target_half_width: f64,
    /// The difference from plain that is to be found, as a fraction (0.03 means 3 %): the margin of what is
    /// called equivalent. Records from before it was told apart from the half-width lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_find: Option<f64>,
    /// Confidence of all intervals, for instance 0.95.
    pub confidence: f64,
    /// The form in which the profile's users know its results: `table`, `bars`, `curve`, `grid`,
    /// `heatmap`, `copies`, `files` or `unlock`; absent means `table`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presentation: Option<String>,
    /// How the profile's users condense trials: `mean`, `trimmed-mean`, `best` or `cellwise-percent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimator: Option<String>,
    /// Seconds of rest before each trial.
    #[serde(default)]
    pub pause_s: f64,
    /// Seconds of rest between two rounds of all workloads.
    #[serde(default)]
    pub round_pause_s: f64,
    /// Unmeasured seconds before each trial that is measured by time.
    #[serde(default)]
    pub ramp_s: f64,
    /// Seconds of a slice, where the arms of a block take turns: the shortest that is used. Absent where each trial is
    /// measured in one piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_s: Option<f64>,
}

impl Plan {
    /// The difference that is to be found, as a fraction: the margin of what is called equivalent.
    pub fn margin(&self) -> f64 {
        self.to_find.unwrap_or(self.target_half_width)
    }

    /// Trials of the whole run, discarded ones included, where the plan fixes their number.
    pub fn fixed_trials(&self) -> Option<u32> {
        let of = |w: &Workload| {
            let arms = self.arms.iter().filter(|a| self.includes(w, a)).count() as u32;
            arms * (self.max_pairs + u32::from(w.is_timed()))
        };
        (self.min_pairs == self.max_pairs).then(|| self.workloads.iter().map(of).sum())
    }

    /// Whether `arm` takes part in `workload`: requests must be whole data units, and small files need a
    /// file system that passes the arm's system.
    pub fn includes(&self, workload: &Workload, arm: &Arm) -> bool {
        match workload.pattern.as_str() {
            "unlock" => true,
            "files" => arm.attachment.as_deref() != Some("inline"),
            _ => arm.data_unit.is_none_or(|unit| workload.block_size.is_multiple_of(unit.into())),
        }
    }
}

/// One workload of a profile.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Identifier within the record, such as `seq-read-1m-q1`.
    pub id: String,
    /// How people call it, such as `sequential read 1 MiB QD1`.
    pub label: String,
    /// `read`, `write` or `mixed`; for small files `create`, `stat`, `read`, `rename` or `delete`; for a
    /// volume `unlock`.
    pub operation: String,
    /// `sequential`, `random`, `zipf`, `permutation`, `backward`, `strided`, `same` or `sampled`;
    /// `files` for small files, `unlock` for a volume.
    pub pattern: String,
    /// Bytes per request; mean bytes per file for small files; 0 for a volume.
    pub block_size: u64,
    /// Requests in flight of each thread.
    pub queue_depth: u32,
    /// The figure that people quote for it: `bandwidth`, `iops`, `latency`, `files` or `seconds`.
    pub headline: String,
    /// Threads that issue requests; absent means one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Share of reads in percent of a mixed workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_percent: Option<u8>,
    /// Bytes of the part of the scratch file, or of the new file, that is used; absent means the whole
    /// scratch file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// Whether each trial writes a new file.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fresh_file: bool,
    /// Bytes that a trial moves, where it is measured by bytes and not by time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial_bytes: Option<u64>,
    /// When written data must be on the device: `each-write`, `every <n>` or `at-end`; absent means when
    /// the system likes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<String>,
    /// What is written, where it is not incompressible: `zeros` or `compressible <n> %`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Whether the page cache keeps what earlier trials left there.
    #[serde(default, skip_serializing_if = "is_false")]
    pub warm_cache: bool,
    /// Whether requests pass a stdio buffer.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stdio: bool,
    /// Number of files, for small files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// Why its trials are not cut into slices in a run that slices, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsliced: Option<String>,
}

impl Workload {
    /// Whether a trial is measured by time; otherwise by bytes, files or one act.
    pub fn is_timed(&self) -> bool {
        self.trial_bytes.is_none() && self.is_of_requests()
    }

    /// Whether it is made of requests to one file or device, not of small files or openings of a volume.
    pub fn is_of_requests(&self) -> bool {
        !matches!(self.pattern.as_str(), "files" | "unlock")
    }

    /// Requests in flight of all threads together.
    pub fn in_flight(&self) -> u32 {
        self.queue_depth.saturating_mul(self.threads.unwrap_or(1))
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// What an arm is compared as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArmRole {
    /// Plain storage, the baseline.
    #[default]
    Plain,
    /// Plain storage again; its distance from `Plain` is the noise floor.
    PlainAgain,
    /// The software path of a system without its cipher.
    NullLayer,
    /// Encrypted storage.
    Encrypted,
}

/// One arm.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
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
    /// How the system comes between work and storage: `inline` in the process that issues the requests, or
    /// `mounted` as a file system of its own; absent for plain storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment: Option<String>,
    /// The arm that is its software path without its cipher, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null_layer: Option<String>,
    /// What the arm runs with besides, such as mount options or a PRF: name and value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// The machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
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
    /// What emulates the machine, where its speed says nothing about hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<String>,
    /// Busy fraction of the whole machine (0 to 1) before the run, while this process was idle.
    pub idle_baseline: f64,
    /// One-minute load average at the start.
    pub load_average: f64,
}

/// The storage that was measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// Directory in which the scratch file lay; where none was made, the file or device that was overwritten.
    pub directory: String,
    /// What was named: `directory`, or what was overwritten: `file`, `device` or `partition`; absent means
    /// `directory`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The file behind a loop device that was overwritten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_file: Option<String>,
    /// Signatures that the user had named and that the run overwrote, such as `ext4`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub erased: Vec<String>,
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
    /// The other target of a run on a pair of places, the one that its user calls encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<PairedTarget>,
    /// The model, where the device is none; absent means hardware, or what the machine takes for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<EmulatedDevice>,
}

/// A device that was modelled: nothing that was measured on it was measured on hardware.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct EmulatedDevice {
    /// Name of the model.
    pub model: String,
    /// What it stands for, in words.
    pub about: String,
    /// The first 16 hexadecimal digits of the SHA-256 of the model's file.
    pub parameters: String,
    /// What held the bytes, in words.
    pub backing: String,
    /// Bytes that were served.
    pub size_bytes: u64,
    /// Whether these bytes stood for the whole device, and not for a file at its start.
    #[serde(default, skip_serializing_if = "is_false")]
    pub whole_surface: bool,
    /// Microseconds that a read of 4 KiB took through the same layers without any delay: taken off the waits.
    pub transport_us: f64,
    /// MiB per second of reads of 1 MiB through the same layers without any delay: no more is shown.
    pub transport_mib_s: f64,
    /// Share of the requests that were done more than 50 µs later than the model, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_share: Option<f64>,
    /// By how many microseconds these were late on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_us: Option<f64>,
}

/// A place that was prepared by the user and stood beside the plain one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PairedTarget {
    /// How tables call it.
    pub name: String,
    /// The arm that was measured there.
    pub arm: String,
    /// As in [`Target::directory`].
    pub directory: String,
    /// `directory`, `file`, `device` or `partition`.
    pub kind: String,
    /// File system type; empty where a file or device was overwritten.
    pub filesystem: String,
    /// Mount options that were in force.
    pub mount_options: String,
    /// What is mounted there.
    pub source: String,
    /// The block device whose counters were read for its arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// As in [`Target::backing_file`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_file: Option<String>,
    /// As in [`Target::erased`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub erased: Vec<String>,
}

/// The block device whose counters were read.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Engine {
    /// `io_uring` or `threads`.
    pub name: String,
    /// Why not io_uring, when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_reason: Option<String>,
    /// Whether the page cache was bypassed (`O_DIRECT`).
    pub direct: bool,
    /// How requests were carried: kernel features used and denied, kind of memory pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// Why a workload's trials ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadStop {
    /// Workload identifier.
    pub workload: String,
    /// The reason.
    pub reason: StopReason,
    /// Complete blocks (pairs per arm) that were measured.
    pub pairs: u32,
}
