//! The options of `cryptbench run`, each defined once: name, help, default and what it goes with.
//!
//! An option lies in the group that says where it belongs. From the groups follow the sections of the help, of the manual
//! page and of the shell's completion, the tables of docs/options.md (`options_page.rs`), what the local page offers
//! ([`offered`]), and what goes with `--resume` ([`go_with_resume`]).

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, Args, Command, ValueEnum};
use cryptbench_catalog::DeviceKind;
use cryptbench_runner::EngineChoice;
use cryptbench_serve::Offered;

use crate::args::StudyArg;
use crate::units::{bytes, device_kind, duration, pause, percent, setting};

// Headings name the pages of docs/ that tell more; the help of an option names its own, if it has one.
const PLACE: &str = "Target (docs/safety.md, docs/systems/paired.md)";
const WHAT: &str = "Choices and workloads (docs/choosing.md, docs/profiles.md)";
const HOW: &str = "Duration and method (docs/methodology.md)";
const RESULT: &str = "Result (docs/report.md, docs/record.md)";

#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub consent: ConsentArgs,
    #[command(flatten)]
    pub what: WhatArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub result: ResultArgs,
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// The target of a run.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = PLACE)]
pub struct PlaceArgs {
    /// Directory on the disk to measure, or path of a scratch file to create there (its name must have an extension).
    /// With --destroy, a file, partition or disk to overwrite
    #[arg(default_value = ".", help_heading = None::<&'static str>)]
    pub target: PathBuf,
    /// Compare locations that you have prepared yourself: directories or, with --destroy, devices. NAME=PATH names an
    /// encrypted location
    #[arg(long, num_args = 2.., action = ArgAction::Set, value_names = ["PLAIN", "ENCRYPTED"], conflicts_with = "target")]
    pub pair: Vec<PathBuf>,
    /// Name of the encrypted location in tables, if there is only one [default: its file system and path]
    #[arg(long, value_name = "NAME", requires = "pair")]
    pub pair_name: Option<String>,
    /// Measure encryption that is in use, read-only: compare an open dm-crypt device (LUKS, VeraCrypt, BitLocker) with
    /// its underlying device. DEVICE can be a directory on it [default: the only open one]
    #[arg(
        long,
        value_name = "DEVICE",
        num_args = 0..=1,
        conflicts_with_all = ["target", "pair", "emulate", "destroy", "system", "builtin_only", "split", "cipher",
            "data_unit", "set", "sweep", "buffered", "verify", "precondition", "study"]
    )]
    #[expect(clippy::option_option, reason = "the option may stand without a value")]
    pub existing: Option<Option<PathBuf>>,
    /// Measure an emulated device instead of a real one: hdd-7200, hdd-laptop, sshd, sata-ssd, sata-mlc, usb-flash,
    /// sd-card, nvme, or a model file; all results are labelled EMULATED (docs/devices.md)
    #[arg(long, value_name = "MODEL|FILE", conflicts_with_all = ["target", "pair", "destroy"])]
    pub emulate: Option<PathBuf>,
    /// Store the emulated device's data in a file in DIR [default: in memory]
    #[arg(long, value_name = "DIR", requires = "emulate")]
    pub emulate_backing: Option<PathBuf>,
    /// Kind of device that the target is on, if it cannot be detected: hdd, sshd, sata-ssd, nvme, ssd, usb-stick,
    /// memory-card, emmc or virtual (docs/studies.md)
    #[arg(long, value_name = "KIND", value_parser = device_kind, conflicts_with = "emulate")]
    pub device_kind: Option<DeviceKind>,
    /// Only read TARGET, a disk or partition that may be in use. Compares plain storage with ciphers that run in this
    /// process
    #[arg(long, conflicts_with_all = ["pair", "emulate", "destroy", "existing", "buffered", "verify", "precondition"])]
    pub read_only: bool,
}

/// Consent to overwrite.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = PLACE)]
pub struct ConsentArgs {
    /// Confirm a target that is a file or device by repeating its path: all data on it may be lost (repeatable)
    #[arg(long, value_name = "PATH")]
    pub destroy: Vec<PathBuf>,
    /// Allow overwriting a device with this signature, as reported by blkid: ext4, crypto_LUKS, gpt ... (repeatable)
    #[arg(long, value_name = "SIGNATURE", value_delimiter = ',')]
    pub yes_erase: Vec<String>,
}

/// Choices and workloads.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = WHAT)]
pub struct WhatArgs {
    /// Measure this system, or `all` that can run here (repeatable; see `cryptbench systems` and docs/systems/README.md)
    /// [default: AES-256 alone and the first two of LUKS2, VeraCrypt, gocryptfs, cryptbench mount and others that can
    /// run here]
    #[arg(long, visible_alias = "systems", value_name = "NAME", value_delimiter = ',')]
    pub system: Vec<String>,
    /// Measure only AES-256, with 512- and 4096-byte sectors, and its pass-through, but no systems
    #[arg(long, conflicts_with_all = ["system", "study"])]
    pub builtin_only: bool,
    /// Also measure the pass-throughs of the default systems: the same path without the cipher (included by default
    /// for systems chosen with --system)
    #[arg(long)]
    pub split: bool,
    /// Measure this cipher: one from `cryptbench ciphers --list`, a BitLocker cipher such as bitlocker-aes-128-xts, or
    /// filevault-aes-128-xts (repeatable)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub cipher: Vec<String>,
    /// Measure only this sector size, in bytes: 512 (VeraCrypt) or 4096 (LUKS2) (repeatable)
    #[arg(long, visible_alias = "sector-size", value_name = "BYTES", value_delimiter = ',')]
    pub data_unit: Vec<u32>,
    /// Change a setting of a system. If it is given several values, each is measured as a separate choice (repeatable;
    /// see `cryptbench systems`)
    #[arg(long, value_name = "NAME=VALUE,...", value_parser = setting)]
    pub set: Vec<(String, Vec<String>)>,
    /// Measure every value of a setting: cipher, data-unit, sector-size, workqueues ... (repeatable)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub sweep: Vec<String>,
    /// Profile `mount`: measure only volumes with this PRF, or with argon2id (repeatable)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub prf: Vec<String>,
    /// Profile `mount`: use this PIM for VeraCrypt volumes; 0 is the default cost (repeatable)
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub pim: Vec<u32>,
    /// Profile `mount`: use only this format: veracrypt, truecrypt, luks1, luks2 (repeatable)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub volume_format: Vec<String>,
    /// A workload profile: a name from `cryptbench profiles`, or a file (TOML, or a fio job)
    #[arg(long, value_name = "NAME|FILE", default_value = "quick")]
    pub profile: PathBuf,
    /// Skip files of the profile that are larger than SIZE
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub max_file: Option<u64>,
    /// Reproduce a published study on this machine with its profiles, its systems (or substitutes) and its number of
    /// trials, and print its table (docs/studies.md)
    #[arg(
        long,
        value_enum,
        ignore_case = true,
        value_name = "A|B|C|D",
        conflicts_with = "profile"
    )]
    pub study: Option<StudyArg>,
    /// Repeat the run of this record with its choices, settings, workloads, trials and seed, as far as this machine
    /// allows; then show what differs and whether its result was reproduced (docs/compare.md)
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["study", "system", "builtin_only", "split", "cipher",
        "data_unit", "set", "sweep", "existing", "read_only", "fleet", "resume"])]
    pub like: Option<PathBuf>,
}

/// Duration and method.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = HOW)]
pub struct HowArgs {
    /// Time budget for the whole run, or for each profile of a study [default: 2m for up to 5 choices, longer for more,
    /// or as long as the profile's trials need]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub budget: Option<Duration>,
    /// Smallest loss to detect. A workload stops when its intervals are narrow enough for that (±1.3 % for 3 % in 8
    /// workloads), or show that there is no such loss. This option also shortens trials, so that workloads can stop
    /// early
    /// [default: 3%, with trials that fill the budget]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub precision: Option<f64>,
    /// Trials per workload and choice [default: set by the profile, or as many as the precision requires]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub trials: Option<u32>,
    /// Measuring time per trial [default: derived from the budget]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub trial: Option<Duration>,
    /// Pause before each trial [default: set by the profile]
    #[arg(long, value_name = "TIME", value_parser = pause)]
    pub pause: Option<Duration>,
    /// Maximum number of pairs per workload
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub max_pairs: u32,
    /// Size of the scratch file [default: derived from device size and free space]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub size: Option<u64>,
    /// First overwrite the scratch file this many times in random order, for flash that has never been full
    #[arg(long, value_name = "PASSES", default_value_t = 0, hide_default_value = true)]
    pub precondition: u32,
    /// After each trial, read back the data that it wrote, and stop if anything differs
    #[arg(long)]
    pub verify: bool,
    /// Seed for the schedule; the same seed reproduces the order of trials and the offsets
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run each trial in one piece instead of in slices that alternate between the choices
    #[arg(long)]
    pub no_slices: bool,
    /// Skip the short measurements that explain costs: plain storage at several queue depths and request sizes
    #[arg(long)]
    pub no_why: bool,
    /// The I/O engine
    #[arg(long, value_enum, default_value_t = EngineArg::Auto)]
    pub engine: EngineArg,
    /// Use the page cache even if direct I/O works
    #[arg(long, overrides_with = "direct")]
    pub buffered: bool,
    /// Bypass the page cache even if the profile uses it
    #[arg(long)]
    pub direct: bool,
}

/// Handling of the result.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = RESULT)]
pub struct ResultArgs {
    /// Print what the run would do, how much it would write and how long it would take, then exit
    #[arg(long)]
    pub dry_run: bool,
    /// Directory for record.json and report.html [default: a new one in the user's data directory]
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Write the record to a directory that the machines of a fleet share (docs/fleet.md). A second run of the same
    /// plan measures nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "resume", "study", "dry_run"])]
    pub fleet: Option<PathBuf>,
    /// Name of this machine in the fleet [default: its host name]
    #[arg(long, value_name = "NAME", requires = "fleet")]
    pub node: Option<String>,
    /// Number of machines that measure at the same time, if the fleet's plan compares that; stored in the record
    #[arg(long, value_name = "MACHINES", requires = "fleet")]
    pub at_once: Option<u32>,
    /// Continue an interrupted run in its directory, with the next repeat of the same plan on the same target
    #[arg(long, value_name = "RUN_DIRECTORY")]
    pub resume: Option<PathBuf>,
}

/// Output of a run.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = RESULT)]
pub struct ShownArgs {
    /// Print the record as JSON on standard output instead of the table
    #[arg(long)]
    pub json: bool,
    /// Print neither progress nor the table, only the headline and the recommendation
    #[arg(long, short)]
    pub quiet: bool,
    /// Form of the progress reports on standard error
    #[arg(long, value_enum, value_name = "HOW", default_value_t = ProgressArg::Auto)]
    pub progress: ProgressArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ProgressArg {
    /// A live table on a terminal, occasional lines elsewhere
    Auto,
    /// One line of JSON per event, for programs
    Json,
    /// Nothing
    None,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum EngineArg {
    /// io_uring, or threads if the kernel does not permit it
    Auto,
    /// io_uring or an error
    Uring,
    /// io_uring with polling for completions: direct I/O on devices with poll queues
    Polled,
    /// One thread per request in flight
    Threads,
}

impl From<EngineArg> for EngineChoice {
    fn from(arg: EngineArg) -> Self {
        match arg {
            EngineArg::Auto => Self::Auto,
            EngineArg::Uring => Self::Uring,
            EngineArg::Polled => Self::Polled,
            EngineArg::Threads => Self::Threads,
        }
    }
}

/// The options of `run` that the page offers, in the order of the help.
pub fn offered() -> Vec<Offered> {
    let run = RunArgs::augment_args(Command::new("run"));
    let is_offered = |arg: &&Arg| [WHAT, HOW].map(Some).contains(&arg.get_help_heading());
    run.get_arguments().filter(is_offered).map(offer).collect()
}

fn offer(arg: &Arg) -> Offered {
    let default = arg.get_default_values().first().filter(|_| arg.get_action().takes_values());
    Offered {
        name: arg.get_long().unwrap_or_default().to_owned(),
        label: String::new(),
        about: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        takes: arg
            .get_value_names()
            .map(|names| names[0].to_string())
            .filter(|_| arg.get_action().takes_values()),
        default: default.map(|value| value.to_string_lossy().into_owned()),
        repeats: matches!(arg.get_action(), ArgAction::Append),
    }
}

/// Names of the options that a resumed run accepts: output options, and consent to overwrite something, which must come
/// from the user and never from a file.
pub fn go_with_resume() -> Vec<String> {
    let groups = ShownArgs::augment_args(ConsentArgs::augment_args(Command::new("run")));
    let more = ["resume", "verbose"].map(ToOwned::to_owned);
    groups.get_arguments().map(|arg| arg.get_id().to_string()).chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_lies_in_a_group() {
        let run = RunArgs::augment_args(Command::new("run"));
        for arg in run.get_arguments().filter(|arg| !arg.is_positional()) {
            assert!(arg.get_help_heading().is_some(), "{}", arg.get_id());
        }
    }

    #[test]
    fn a_page_offers_neither_a_place_nor_an_output() {
        let names: Vec<_> = offered().into_iter().map(|option| option.name).collect();
        for name in ["budget", "cipher", "set", "trials", "no-slices", "profile"] {
            assert!(names.iter().any(|offered| offered == name), "{name} in {names:?}");
        }
        for name in ["destroy", "yes-erase", "output", "resume", "fleet", "pair", "json", ""] {
            assert!(names.iter().all(|offered| offered != name), "{name} in {names:?}");
        }
    }

    #[test]
    fn consent_and_what_is_shown_go_with_a_resumed_run() {
        let mut names = go_with_resume();
        names.sort();
        let expected = ["destroy", "json", "progress", "quiet", "resume", "verbose", "yes_erase"];
        assert_eq!(names, expected);
    }
}
