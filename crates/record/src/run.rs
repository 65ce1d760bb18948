//! The plan and the environment of a run, and why it ended.

use std::collections::BTreeMap;

use cryptbench_catalog::{Headline, Presentation};
use cryptbench_os::machine::VIRTUAL_MACHINE;
use serde::{Deserialize, Serialize};

use crate::{
    DiskCounts, Evidence, InRam, KindOfDevice, Limits, Operation, Pattern, PlaceKind, Results,
    Trial, Uncounted, Why,
};

/// One run of the program: its plan, its surroundings, its raw trials and the results derived from
/// them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Record {
    /// Name and version of the document format.
    #[cfg_attr(test, schemars(extend("const" = crate::SCHEMA)))]
    pub schema: String,
    /// Version of the program that made the measurement.
    pub program_version: String,
    /// Unique name of the run; also the name of its directory.
    pub run_id: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// Wall-clock seconds from start to end.
    pub elapsed_s: f64,
    /// Whether the run was interrupted: the trials are valid, but fewer than planned.
    pub partial: bool,
    /// The planned measurements.
    pub plan: Plan,
    /// The machine that ran the measurements.
    pub machine: Machine,
    /// The file system and device that hold the scratch file.
    pub target: Target,
    /// Every trial in order of execution, including discarded ones.
    pub trials: Vec<Trial>,
    /// Why each workload's trials ended.
    pub stops: Vec<WorkloadStop>,
    /// Remarks that a reader must know, as sentences (fallbacks, values that could not be read).
    pub notes: Vec<String>,
    /// Evidence from the storage after the trials, one entry per examined arm; records from earlier versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Ciphers and key derivation in RAM, if they were measured with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_ram: Option<InRam>,
    /// The data that explains costs, in addition to the trials; absent in older records, with `--no-why`, and
    /// if there was too little time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// Estimates and verdicts derived from `trials`; absent until they are computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Results>,
    /// Names of the machine and of the plan, if the run belongs to a fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Node>,
    /// The user's [title](crate::title), which is stored next to the document and is not part of it.
    #[serde(skip)]
    pub title: Option<String>,
}

/// The machine that made a run of a fleet, and the fleet's plan. Together the four fields identify the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Node {
    /// Name of the machine in its cluster.
    pub name: String,
    /// 16 hexadecimal digits of a hash from which the machine ID cannot be derived; empty if the machine has no ID.
    pub machine: String,
    /// The first 8 hexadecimal digits of the machine's boot ID; empty if it has none.
    pub boot: String,
    /// 16 hexadecimal digits of the SHA-256 of the task.
    pub plan: String,
    /// Number of machines that measured in parallel, if a plan compares that.
    #[serde(default)]
    pub at_once: Option<u32>,
}

/// The measurements to make, their duration and their order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Plan {
    /// Name of the workload profile.
    pub profile: String,
    /// The workloads, in the order of the profile.
    pub workloads: Vec<Workload>,
    /// The arms; the first is always plain storage.
    pub arms: Vec<Arm>,
    /// Seed of the schedule; the same seed gives the same order.
    pub seed: u64,
    /// Maximum duration of the run in wall-clock seconds.
    pub budget_s: f64,
    /// Measured seconds of one trial.
    pub trial_s: f64,
    /// Minimum number of pairs per workload before it may stop on precision.
    pub min_pairs: u32,
    /// Maximum number of pairs per workload.
    pub max_pairs: u32,
    /// Half-width of the intervals at which a workload stops, as a fraction (0.013 means 1.3 %).
    pub target_half_width: f64,
    /// The smallest difference from plain to detect, as a fraction (0.03 means 3 %); also the margin of equivalence.
    /// Older records lack it, because they did not distinguish it from the half-width.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_find: Option<f64>,
    /// Confidence of all intervals, for instance 0.95.
    pub confidence: f64,
    /// The presentation of results that the profile's users know: `table`, `bars`, `curve`, `grid`, `heatmap`,
    /// `copies`, `files` or `unlock`; absent means `table`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presentation: Option<String>,
    /// The estimator that the profile's users know: `mean`, `trimmed-mean`, `best` or
    /// `cellwise-percent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimator: Option<String>,
    /// Seconds of pause before each trial.
    #[serde(default)]
    pub pause_s: f64,
    /// Seconds of pause between two rounds of all workloads.
    #[serde(default)]
    pub round_pause_s: f64,
    /// Unmeasured seconds before each time-based trial.
    #[serde(default)]
    pub ramp_s: f64,
    /// Minimum length of a slice in seconds, if the arms of a block are interleaved. Absent if trials are not
    /// sliced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_s: Option<f64>,
    /// The set of arms that the program chose, if the user did not specify a system: `builtin-only`, or `default/`
    /// with the chosen systems (`default/dm-crypt+gocryptfs`; `default/floor` without any), and `/split` if
    /// pass-throughs were added. Absent if the user specified the systems, and in all older records.
    /// [`Plan::arm_set`] reads both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// The systems that a chosen set lacks, in the order in which the program considered them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// A system that is missing from the set that the program chose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Name in the registry, such as `dm-crypt`.
    pub system: String,
    /// Why the run did not measure it.
    pub reason: String,
    /// What to do so that the run measures it.
    pub remedy: String,
    /// A budget in seconds that would suffice for the system, if the system was left out for lack of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enough_s: Option<f64>,
}

/// Name of the set that `--builtin-only` selects, which was the default set in earlier versions.
pub const BUILTIN_ONLY: &str = "builtin-only";

/// The arms of [`BUILTIN_ONLY`].
const BUILTIN_ONLY_ARMS: [&str; 5] =
    ["plain", "plain-again", "builtin/null", "builtin/aes-256-xts/512", "builtin/aes-256-xts/4096"];

impl Plan {
    /// The set of arms for comparisons between runs, which never mix sets: [`Plan::set`], or for older records
    /// the set derived from the arms. `None` if the user specified the systems.
    pub fn arm_set(&self) -> Option<&str> {
        let is_builtin_only = || self.arms.iter().map(|arm| arm.id.as_str()).eq(BUILTIN_ONLY_ARMS);
        self.set.as_deref().or_else(|| is_builtin_only().then_some(BUILTIN_ONLY))
    }

    /// The identifiers of the plain arms with which `arm` is compared: plain and, for all arms except the repeated
    /// plain arm, also the repeated plain arm. A control should be measured more often than each of the many arms
    /// that are compared with it (Dunnett 1955). Empty if no arm is plain.
    pub fn baseline(&self, arm: &Arm) -> Vec<&str> {
        let plain = |a: &&Arm| match a.role {
            ArmRole::Plain => true,
            ArmRole::PlainAgain => arm.role != ArmRole::PlainAgain,
            _ => false,
        };
        let mut found: Vec<&Arm> = self.arms.iter().filter(plain).collect();
        found.sort_by_key(|a| a.role != ArmRole::Plain);
        found.into_iter().map(|a| a.id.as_str()).collect()
    }

    /// The presentation that the profile's users know; a table if this version does not support it.
    pub fn form(&self) -> Presentation {
        self.presentation.as_deref().and_then(Presentation::of).unwrap_or_default()
    }

    /// The smallest difference to detect, as a fraction; also the margin of equivalence.
    pub fn margin(&self) -> f64 {
        self.to_find.unwrap_or(self.target_half_width)
    }

    /// Trials of the whole run including discarded ones, if the plan fixes their number.
    pub fn fixed_trials(&self) -> Option<u32> {
        let of = |w: &Workload| {
            let arms = self.arms.iter().filter(|a| self.includes(w, a)).count() as u32;
            arms * (self.max_pairs + u32::from(w.is_timed()))
        };
        (self.min_pairs == self.max_pairs).then(|| self.workloads.iter().map(of).sum())
    }

    /// Whether `arm` takes part in `workload`: requests must be whole data units, and small files need a file
    /// system above the arm's system.
    pub fn includes(&self, workload: &Workload, arm: &Arm) -> bool {
        match workload.pattern {
            Pattern::Unlock => true,
            Pattern::Files => arm.attachment.as_deref() != Some("inline"),
            _ => arm.data_unit.is_none_or(|unit| workload.block_size.is_multiple_of(unit.into())),
        }
    }
}

/// One workload of a profile.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Workload {
    /// Identifier within the record, such as `seq-read-1m-q1`.
    pub id: String,
    /// Label for users, such as `sequential read 1 MiB QD1`.
    pub label: String,
    /// `read`, `write` or `mixed`; for small files `create`, `stat`, `read`, `rename` or `delete`; for a
    /// volume `unlock`.
    #[cfg_attr(test, schemars(with = "String"))]
    pub operation: Operation,
    /// `sequential`, `random`, `zipf`, `permutation`, `backward`, `strided`, `same` or `sampled`;
    /// `files` for small files, `unlock` for a volume.
    #[cfg_attr(test, schemars(with = "String"))]
    pub pattern: Pattern,
    /// Bytes per request; mean bytes per file for small files; 0 for a volume.
    pub block_size: u64,
    /// Requests in flight per thread.
    pub queue_depth: u32,
    /// The main figure of the workload: `bandwidth`, `iops`, `latency`, `files` or `seconds`.
    pub headline: String,
    /// Threads that issue requests; absent means one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Percentage of reads in a mixed workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_percent: Option<u8>,
    /// Bytes of the used part of the scratch file, or of the new file; absent means the whole
    /// scratch file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// Whether each trial writes a new file.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fresh_file: bool,
    /// Bytes that a trial transfers, if its length is a number of bytes instead of a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial_bytes: Option<u64>,
    /// When written data must be on the device: `each-write`, `every <n>` or `at-end`; absent
    /// leaves it to the operating system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<String>,
    /// The written data, unless it is incompressible: `zeros` or `compressible <n> %`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Whether trials start with the page cache that earlier trials left.
    #[serde(default, skip_serializing_if = "is_false")]
    pub warm_cache: bool,
    /// Whether requests pass through a stdio buffer.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stdio: bool,
    /// Number of files, for small files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// Number of files in the profile, if the budget did not suffice for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_of_profile: Option<u32>,
    /// Why the workload's trials are not sliced in a run with slices, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsliced: Option<String>,
}

impl Workload {
    /// The main figure; `None` for a figure from a later version.
    pub fn figure(&self) -> Option<Headline> {
        Headline::of(&self.headline)
    }

    /// Whether the length of a trial is a time; otherwise it is a number of bytes or files, or a single action.
    pub fn is_timed(&self) -> bool {
        self.trial_bytes.is_none() && self.is_of_requests()
    }

    /// Whether the workload consists of requests to one file or device, and not of small files or
    /// of opening a volume.
    pub fn is_of_requests(&self) -> bool {
        !matches!(self.pattern, Pattern::Files | Pattern::Unlock)
    }

    /// Requests in flight over all threads.
    pub fn in_flight(&self) -> u32 {
        self.queue_depth.saturating_mul(self.threads.unwrap_or(1))
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The role of an arm in comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ArmRole {
    /// Plain storage, the baseline.
    #[default]
    Plain,
    /// Plain storage, repeated; its difference from `Plain` is the noise floor.
    PlainAgain,
    /// The software path of a system without its cipher.
    NullLayer,
    /// Encrypted storage.
    Encrypted,
}

/// One arm.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Arm {
    /// Identifier within the record, such as `builtin/aes-256-xts/512`.
    pub id: String,
    /// Label in tables, such as `AES-256-XTS 512 B`.
    pub label: String,
    /// The arm's role in comparisons.
    pub role: ArmRole,
    /// The system of the arm, such as `plain` or `builtin`.
    pub system: String,
    /// Cipher and mode, such as `aes-256-xts`; absent without encryption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cipher: Option<String>,
    /// Bytes under one tweak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_unit: Option<u32>,
    /// The format whose sector layout is used, such as `VeraCrypt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// The cipher code in use: a kernel of this program, such as `vaes-avx2`, or, if the operating system's kernel
    /// encrypts, its driver, such as `xts-aes-vaes-avx2`; the names for a cascade are joined by ` + `.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_tier: Option<String>,
    /// How the system is attached: `inline` in the process that issues the requests, or `mounted`
    /// as a separate file system; absent for plain storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment: Option<String>,
    /// The arm with the same software path but without the cipher, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null_layer: Option<String>,
    /// Further settings of the arm, such as mount options or a PRF, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// The machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Machine {
    /// CPU model as reported by the kernel.
    pub cpu_model: String,
    /// CPUs that this process may use.
    pub cpus: u32,
    /// CPU features that matter to ciphers and can be used here.
    pub cpu_features: Vec<String>,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Kernel name, release and version.
    pub kernel: String,
    /// The distribution, from os-release.
    pub os: String,
    /// Name of the hypervisor or container, if recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtualisation: Option<String>,
    /// The emulator of the machine, if its speed does not represent hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<String>,
    /// Busy fraction of the whole machine (0 to 1) before the run, while this process was idle.
    pub idle_baseline: f64,
    /// One-minute load average at the start.
    pub load_average: f64,
    /// The governors of the CPU clock rate at the start; records from earlier versions lack it.
    #[serde(default, skip_serializing_if = "Power::is_unknown")]
    pub power: Power,
    /// The limits of a container; records from earlier versions lack them.
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
}

impl Machine {
    /// Whether a hypervisor provides it.
    pub fn is_of_a_hypervisor(&self) -> bool {
        self.virtualisation.as_deref().is_some_and(|name| name.contains(VIRTUAL_MACHINE))
    }
}

/// How the machine saves power, in the system's terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Power {
    /// The policies that choose the CPU clock rates, such as `powersave`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The driver that sets the rates, such as `intel_pstate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The preference given to the CPU, such as `balance_performance`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preference: Option<String>,
    /// Whether the machine ran on a battery; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_battery: Option<bool>,
}

impl Power {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// The measured storage.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Target {
    /// Directory of the scratch file or, without one, the overwritten file or device.
    pub directory: String,
    /// The kind of target: `directory`, or the overwritten `file`, `device` or `partition`; absent
    /// means `directory`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The backing file of an overwritten loop device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_file: Option<String>,
    /// Signatures, such as `ext4`, that the user specified and the run overwrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub erased: Vec<String>,
    /// Whether the target was only read, and nothing was written to it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub only_read: bool,
    /// File system type.
    pub filesystem: String,
    /// Active mount options.
    pub mount_options: String,
    /// The mounted source (a device path or a name).
    pub source: String,
    /// Properties of the target that a file system on a disk does not have; records from earlier versions lack them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub place: Vec<PlaceKind>,
    /// The underlying block device, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// The kind of device that its disk is; absent in records from earlier versions, and for emulated devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_kind: Option<KindOfDevice>,
    /// What its disk reports about self-encryption (OPAL), if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_encrypting: Option<String>,
    /// The activity of its disk before the run, while the run did not use it; absent if it is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_disk: Option<DiskCounts>,
    /// Why the requests that reach its disk are unknown, if they are; always absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncounted: Option<Uncounted>,
    /// Existing encryption of the target, if any was detected: "plain" is then also encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encrypted_by: Option<EncryptedBy>,
    /// The scratch file.
    pub scratch: Scratch,
    /// The engine that issued the requests.
    pub engine: Engine,
    /// The second target of a run on a pair of targets, which the user declares to be encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<PairedTarget>,
    /// Further encrypted targets of the same run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_paired: Vec<PairedTarget>,
    /// The device model, if the device is emulated; absent means hardware, or a device that the machine presents as
    /// hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<EmulatedDevice>,
}

/// The kind of a target in which a scratch file is created.
pub const DIRECTORY: &str = "directory";

impl Target {
    /// Whether the target is a directory, in which a scratch file was created.
    pub fn is_directory(&self) -> bool {
        self.kind.as_deref().is_none_or(|kind| kind == DIRECTORY)
    }

    /// The targets that the user encrypted and that were compared with this target.
    pub fn places(&self) -> impl Iterator<Item = &PairedTarget> {
        self.paired.iter().chain(&self.also_paired)
    }

    /// The evidence that the file system compresses; in older records, only its mount options.
    pub fn compression(&self) -> Option<&str> {
        let found = self.place.iter().find_map(|kind| match kind {
            PlaceKind::Compresses { how } => Some(how.as_str()),
            _ => None,
        });
        let told = || compression_option(&self.filesystem, &self.mount_options);
        found.or_else(told)
    }

    /// Whether the file system compressed the data of a workload, so that less reached the disk than was written.
    pub fn compresses(&self, workload: &Workload) -> bool {
        workload.content.is_some() && self.compression().is_some()
    }
}

/// The mount option with which a file system compresses all files.
pub fn compression_option<'a>(file_system: &str, options: &'a str) -> Option<&'a str> {
    let names: &[&str] = match file_system {
        "btrfs" => &["compress", "compress-force"],
        "bcachefs" => &["compression", "background_compression"],
        "ubifs" => &["compr"],
        "ntfs3" => &["compress"],
        _ => return None,
    };
    options.split(',').find(|option| {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        names.contains(&name) && !["no", "none"].contains(&value)
    })
}

/// Encryption that the program did not set up, underneath plain storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EncryptedBy {
    /// Its kind, such as `LUKS2`, `VeraCrypt`, `fscrypt`.
    pub system: String,
    /// The location of the encryption: the device that decrypts, or the file system.
    pub at: String,
}

/// An emulated device: its figures are not measurements of hardware.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EmulatedDevice {
    /// Name of the model.
    pub model: String,
    /// Description of the modelled device.
    pub about: String,
    /// The first 16 hexadecimal digits of the SHA-256 of the model's file.
    pub parameters: String,
    /// Where the data was stored, in words.
    pub backing: String,
    /// Size of the device in bytes.
    pub size_bytes: u64,
    /// Whether these bytes represented the whole device; otherwise they represented a file at its start.
    #[serde(default, skip_serializing_if = "is_false")]
    pub whole_surface: bool,
    /// Microseconds that a read of 4 KiB took through the same layers without delays; this time is subtracted from
    /// the delays.
    pub transport_us: f64,
    /// MiB per second of 1 MiB reads through the same layers without delays; the emulation cannot
    /// show higher rates.
    pub transport_mib_s: f64,
    /// Share of the requests that completed more than 50 µs later than in the model, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_share: Option<f64>,
    /// Mean delay of these requests in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_us: Option<f64>,
}

/// A target that the user prepared for comparison with the plain target.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PairedTarget {
    /// Name in tables.
    pub name: String,
    /// The arm that used this target.
    pub arm: String,
    /// As in [`Target::directory`].
    pub directory: String,
    /// `directory`, `file`, `device` or `partition`.
    pub kind: String,
    /// File system type; empty if a file or device was overwritten.
    pub filesystem: String,
    /// Active mount options.
    pub mount_options: String,
    /// The mounted source.
    pub source: String,
    /// The block device whose counters apply to this arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// Whether this target is on a different disk from the plain target, so that data about plain storage's disk does
    /// not apply.
    #[serde(default, skip_serializing_if = "is_false")]
    pub on_another_disk: bool,
    /// As in [`Target::idle_disk`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_disk: Option<DiskCounts>,
    /// As in [`Target::uncounted`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncounted: Option<Uncounted>,
    /// As in [`Target::backing_file`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_file: Option<String>,
    /// As in [`Target::erased`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub erased: Vec<String>,
    /// Set if this target is a dm-crypt device in use, and the plain target is its underlying device: both were only
    /// read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use: Option<InUse>,
}

/// A dm-crypt device in use, from the kernel's table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InUse {
    /// What opened it: `LUKS2`, `VeraCrypt`, and so on.
    pub system: String,
    /// Cipher and mode as the kernel calls them, such as `aes-xts-plain64`.
    pub cipher: String,
    /// Bits of the key, including both halves for XTS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_bits: Option<u32>,
    /// Bytes that are encrypted under one tweak.
    pub sector_size: u32,
    /// Kernel name of the underlying device.
    pub below: String,
    /// Offset of the payload on the underlying device, in bytes.
    pub offset_bytes: u64,
    /// Bytes of the payload.
    pub size_bytes: u64,
}

/// The block device whose counters apply.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Device {
    /// Kernel name, such as `nvme0n1p2`.
    pub name: String,
    /// Model, if the kernel knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Bytes.
    pub size_bytes: u64,
    /// Whether the kernel reports the disk as rotational (virtual disks often claim to be).
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
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scratch {
    /// Bytes.
    pub size_bytes: u64,
    /// The reason for this size, in words.
    pub size_reason: String,
    /// Number of extents on the device, if the file system reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents: Option<u32>,
}

/// The engine that issued the requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Engine {
    /// `io_uring` or `threads`.
    pub name: String,
    /// Why io_uring was not used, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_reason: Option<String>,
    /// Whether requests bypassed the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Details of the engine: kernel features used and denied, kind of memory pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// Why a workload's trials ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// Every interval reached the target half-width.
    Precision,
    /// The number of pairs reached `max_pairs`.
    PairCap,
    /// The time budget was used up.
    Budget,
    /// A signal stopped the run.
    Interrupted,
}

/// Why and when one workload ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkloadStop {
    /// Workload identifier.
    pub workload: String,
    /// The reason.
    pub reason: StopReason,
    /// Number of complete blocks (pairs per arm).
    pub pairs: u32,
    /// Seconds that the minimum number of repeats would have taken, if the budget left no time for any of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_s: Option<f64>,
}
