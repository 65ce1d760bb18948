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
const PLACE: &str = "Where (docs/safety.md, docs/systems/paired.md)";
const WHAT: &str = "What is measured (docs/choosing.md, docs/profiles.md)";
const HOW: &str = "How long, and how (docs/methodology.md)";
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

/// Where it is measured.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = PLACE)]
pub struct PlaceArgs {
    /// A directory on the disk to measure, or the path of a scratch file to make there, whose name needs an extension. With
    /// --destroy: a file, partition or disk, which is overwritten
    #[arg(default_value = ".", help_heading = None::<&'static str>)]
    pub target: PathBuf,
    /// Compare places that you have prepared in any way: directories, or with --destroy devices. An encrypted one may
    /// have a name: NAME=PATH
    #[arg(long, num_args = 2.., action = ArgAction::Set, value_names = ["PLAIN", "ENCRYPTED"], conflicts_with = "target")]
    pub pair: Vec<PathBuf>,
    /// What tables call the encrypted place, if there is only one [default: its file system and path]
    #[arg(long, value_name = "NAME", requires = "pair")]
    pub pair_name: Option<String>,
    /// Measure the encryption in use, reading only: an open dm-crypt device (LUKS, VeraCrypt, BitLocker) beside the device
    /// below it. DEVICE can be a directory on it [default: the only one that is open]
    #[arg(
        long,
        value_name = "DEVICE",
        num_args = 0..=1,
        conflicts_with_all = ["target", "pair", "emulate", "destroy", "system", "builtin_only", "split", "cipher",
            "data_unit", "set", "sweep", "buffered", "verify", "precondition", "study"]
    )]
    #[expect(clippy::option_option, reason = "the option may stand without a value")]
    pub existing: Option<Option<PathBuf>>,
    /// Measure a modelled device instead of this machine's: hdd-7200, hdd-laptop, sshd, sata-ssd, sata-mlc,
    /// usb-flash, sd-card, nvme, or a model's file; everything is labelled EMULATED (docs/devices.md)
    #[arg(long, value_name = "MODEL|FILE", conflicts_with_all = ["target", "pair", "destroy"])]
    pub emulate: Option<PathBuf>,
    /// Keep an emulated device's bytes in a file in DIR [default: in memory]
    #[arg(long, value_name = "DIR", requires = "emulate")]
    pub emulate_backing: Option<PathBuf>,
    /// Say what kind of device the target is on, where this machine cannot tell: hdd, sshd, sata-ssd, nvme, ssd, usb-stick,
    /// memory-card, emmc or virtual (docs/studies.md)
    #[arg(long, value_name = "KIND", value_parser = device_kind, conflicts_with = "emulate")]
    pub device_kind: Option<DeviceKind>,
    /// Read TARGET and write nothing: a disk or partition, which may be in use. Compares plain with ciphers in this process
    #[arg(long, conflicts_with_all = ["pair", "emulate", "destroy", "existing", "buffered", "verify", "precondition"])]
    pub read_only: bool,
}

/// What may be overwritten.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = PLACE)]
pub struct ConsentArgs {
    /// Name the target again, if it is a file or device: everything on it may be lost (repeatable)
    #[arg(long, value_name = "PATH")]
    pub destroy: Vec<PathBuf>,
    /// Allow a device with this signature to be overwritten, as blkid names it: ext4, crypto_LUKS, gpt ... (repeatable)
    #[arg(long, value_name = "SIGNATURE", value_delimiter = ',')]
    pub yes_erase: Vec<String>,
}

/// What is measured.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = WHAT)]
pub struct WhatArgs {
    /// Measure this system, or `all` that can run here (repeatable; see `cryptbench systems` and docs/systems/README.md)
    /// [default: AES-256 alone and the first two that can run here of LUKS2, VeraCrypt, gocryptfs, this program's own mount
    /// and others]
    #[arg(long, visible_alias = "systems", value_name = "NAME", value_delimiter = ',')]
    pub system: Vec<String>,
    /// Measure no system, only AES-256 alone, in sectors of 512 and 4096 bytes, and its pass-through
    #[arg(long, conflicts_with_all = ["system", "study"])]
    pub builtin_only: bool,
    /// Also measure the default systems' pass-throughs: the same path without the cipher (named systems bring theirs)
    #[arg(long)]
    pub split: bool,
    /// Measure this cipher: one of `cryptbench ciphers --list`, of BitLocker's, such as bitlocker-aes-128-xts, or
    /// filevault-aes-128-xts (repeatable)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub cipher: Vec<String>,
    /// Measure only this sector size, in bytes: 512 (VeraCrypt) or 4096 (LUKS2) (repeatable)
    #[arg(long, visible_alias = "sector-size", value_name = "BYTES", value_delimiter = ',')]
    pub data_unit: Vec<u32>,
    /// Set a system's setting, or several values of it, each a choice of its own (repeatable; see `cryptbench systems`)
    #[arg(long, value_name = "NAME=VALUE,...", value_parser = setting)]
    pub set: Vec<(String, Vec<String>)>,
    /// Measure every value of a setting: cipher, data-unit, sector-size, workqueues ... (repeatable)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub sweep: Vec<String>,
    /// Profile `mount`: only volumes with this PRF, or argon2id (repeatable)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub prf: Vec<String>,
    /// Profile `mount`: VeraCrypt volumes of this PIM; 0 is the default cost (repeatable)
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub pim: Vec<u32>,
    /// Profile `mount`: only this format: veracrypt, truecrypt, luks1, luks2 (repeatable)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub volume_format: Vec<String>,
    /// A workload profile: a name from `cryptbench profiles`, or a file (TOML, or a fio job)
    #[arg(long, value_name = "NAME|FILE", default_value = "quick")]
    pub profile: PathBuf,
    /// Skip larger files of a profile
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub max_file: Option<u64>,
    /// Repeat a published study here: its profiles, its systems or what stands in for them, its number of trials;
    /// and print its table (docs/studies.md)
    #[arg(
        long,
        value_enum,
        ignore_case = true,
        value_name = "A|B|C|D",
        conflicts_with = "profile"
    )]
    pub study: Option<StudyArg>,
    /// Measure what this record did: its choices, settings, workloads, trials and seed, as far as this machine has them; then say
    /// what differs, and whether its result was reproduced (docs/compare.md)
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["study", "system", "builtin_only", "split", "cipher",
        "data_unit", "set", "sweep", "existing", "read_only", "fleet", "resume"])]
    pub like: Option<PathBuf>,
}

/// How long, and how.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = HOW)]
pub struct HowArgs {
    /// Time that the whole run may take [default: 2m for up to 5 choices and more for more, or what the
    /// profile's number of trials takes]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub budget: Option<Duration>,
    /// The smallest loss to detect. A workload ends when its intervals are narrow enough for that (±1.3 % for 3 %
    /// in 8 workloads), or show that there is none. With this option trials are short, so that it ends soon
    /// [default: 3%, in trials that fill the budget]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub precision: Option<f64>,
    /// Trials per workload and choice [default: the profile's, or as many as the precision takes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub trials: Option<u32>,
    /// Measured time of one trial [default: from the budget]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub trial: Option<Duration>,
    /// Rest before each trial [default: the profile's]
    #[arg(long, value_name = "TIME", value_parser = pause)]
    pub pause: Option<Duration>,
    /// Most pairs per workload
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub max_pairs: u32,
    /// Size of the scratch file [default: from device size and free space]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub size: Option<u64>,
    /// First write the scratch file this many times in random order, for flash that was never full
    #[arg(long, value_name = "PASSES", default_value_t = 0, hide_default_value = true)]
    pub precondition: u32,
    /// Read back after each trial what it wrote, and stop if anything differs
    #[arg(long)]
    pub verify: bool,
    /// Seed of the schedule; the same seed repeats the order of trials and the offsets
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Measure each trial in one piece instead of in slices that the choices take in turns
    #[arg(long)]
    pub no_slices: bool,
    /// Leave out the short look at plain storage by queue depth and request size that explains costs
    #[arg(long)]
    pub no_why: bool,
    /// The I/O engine
    #[arg(long, value_enum, default_value_t = EngineArg::Auto)]
    pub engine: EngineArg,
    /// Go through the page cache even where direct I/O works
    #[arg(long, overrides_with = "direct")]
    pub buffered: bool,
    /// Bypass the page cache although the profile does not
    #[arg(long)]
    pub direct: bool,
}

/// What becomes of the result.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = RESULT)]
pub struct ResultArgs {
    /// Only say what the run would do, what it would write and how long it would take
    #[arg(long)]
    pub dry_run: bool,
    /// Directory for record.json and report.html [default: a new one under the user's data directory]
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Leave the record in a directory that a fleet's machines share (docs/fleet.md). A second run of the same plan
    /// measures nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "resume", "study", "dry_run"])]
    pub fleet: Option<PathBuf>,
    /// What the fleet calls this machine [default: its host name]
    #[arg(long, value_name = "NAME", requires = "fleet")]
    pub node: Option<String>,
    /// How many machines measure at the same time, where a fleet's plan compares that; kept in the record
    #[arg(long, value_name = "MACHINES", requires = "fleet")]
    pub at_once: Option<u32>,
    /// Continue an interrupted run in its directory, with the next repeat of the same plan on the same target
    #[arg(long, value_name = "RUN_DIRECTORY")]
    pub resume: Option<PathBuf>,
}

/// What is shown.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = RESULT)]
pub struct ShownArgs {
    /// Print the record as JSON on standard output instead of the table
    #[arg(long)]
    pub json: bool,
    /// No progress, no table: only the answer in a sentence, and what to take
    #[arg(long, short)]
    pub quiet: bool,
    /// How the run reports its progress on standard error
    #[arg(long, value_enum, value_name = "HOW", default_value_t = ProgressArg::Auto)]
    pub progress: ProgressArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ProgressArg {
    /// On a terminal a table that fills, elsewhere a line now and then
    Auto,
    /// A line of JSON for each event, for programs
    Json,
    /// Nothing
    None,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum EngineArg {
    /// io_uring, or threads where the kernel denies it
    Auto,
    /// io_uring or an error
    Uring,
    /// io_uring that polls for completions: direct I/O on devices with poll queues
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

/// The options of `run` that a page offers, in the order of the help.
pub fn offered() -> Vec<Offered> {
    let run = RunArgs::augment_args(Command::new("run"));
    let is_offered = |arg: &&Arg| [WHAT, HOW].map(Some).contains(&arg.get_help_heading());
    run.get_arguments().filter(is_offered).map(offer).collect()
}

fn offer(arg: &Arg) -> Offered {
    let default = arg.get_default_values().first().filter(|_| arg.get_action().takes_values());
    Offered {
        name: arg.get_long().unwrap_or_default().to_owned(),
        about: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        takes: arg
            .get_value_names()
            .map(|names| names[0].to_string())
            .filter(|_| arg.get_action().takes_values()),
        default: default.map(|value| value.to_string_lossy().into_owned()),
        repeats: matches!(arg.get_action(), ArgAction::Append),
    }
}

/// Names of the options that a resumed run accepts: those for what is shown, and the user's consent to overwrite something,
/// which no file can give.
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
