//! The command line as types, without any effect of its own.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use cryptbench_kdf::pim::VolumeKind;
use cryptbench_studies::Letter;

use crate::compare::args::CompareArgs;
use crate::exit;
use crate::fleet::args::FleetArgs;
use crate::history::args::HistoryArgs;
use crate::kdf::parse::{Multiplier, entropy, multiplier};
use crate::run::args::RunArgs;
use crate::serve::args::ServeArgs;
use crate::units::{bytes, cipher_rate, duration, not_negative, piece, threads};
use crate::volume::args::ConfinementArgs;
use crate::volume::args::VolumeCommand;

/// What does disk encryption cost, on my hardware, and which system and cipher should I take?
#[derive(Debug, Parser)]
#[command(name = "cryptbench", version, max_term_width = 100, after_long_help = exit::HELP)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
    /// Tell on standard error what is done, step by step: what is set up, called and undone; -vv tells more. Never a secret
    #[arg(long, short, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure plain against encrypted storage in a directory and say what encryption costs
    Run(Box<RunArgs>),
    /// Make the report of a run again from its record: a page, JSON, CSV, Markdown, charts
    Report(ReportArgs),
    /// Print the JSON Schema of a record
    Schema,
    /// Show what this machine can measure, what would disturb it, and what to install
    Doctor(DoctorArgs),
    /// List the encryption systems, and why one is not available here
    Systems,
    /// Measure how fast the ciphers are in RAM, and say which disks they keep up with
    Ciphers(CiphersArgs),
    /// Measure key derivation: time to open, largest PIM within a limit, an attacker's time
    Kdf(KdfArgs),
    /// List the workload profiles, or print one
    Profiles(ProfilesArgs),
    /// Predict what encryption costs on a device, from a model or a record, without running
    Predict(PredictArgs),
    /// Replay published studies: their tables derived again, their conclusions checked
    Studies(StudiesArgs),
    /// Compare two records, or results of other programs such as fio; unpaired, and labelled so
    Compare(CompareArgs),
    /// Keep records in a database, and tell a regression from noise
    History(HistoryArgs),
    /// Measure many machines: start a plan on them, pool their records, name those unlike the others
    Fleet(FleetArgs),
    /// Serve the local page: choose, start, watch and compare runs in a browser
    Serve(ServeArgs),
    /// Create, open, mount and serve encrypted volumes: VeraCrypt, TrueCrypt, LUKS, BitLocker, FileVault
    #[command(subcommand)]
    Volume(Box<VolumeCommand>),
    /// Remove what killed runs left behind
    Cleanup,
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages into a directory
    Manual(ManualArgs),
    /// Write a run's files for another process of this program, as it says on standard input
    #[command(hide = true, name = crate::output::keeper::COMMAND)]
    KeepRun,
}

#[derive(Clone, Debug, ClapArgs)]
pub struct ReportArgs {
    /// A record.json, the directory of a run or of a study, or `last` for the newest of yours (`last~1`: the one before)
    pub record: PathBuf,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = FormatArg::Html)]
    pub format: FormatArg,
    /// Where to write it [default: html to report.html beside the record, all else to standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Rows of csv and parquet
    #[arg(long, value_enum, value_name = "ROWS", default_value_t = TableArg::Trials)]
    pub table: TableArg,
    /// Also write every chart there as SVG, PDF and PNG
    #[arg(long, value_name = "DIR")]
    pub charts: Option<PathBuf>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Print all figures, not only the answer: every table, what it means, and what it is based on
    #[arg(long, conflicts_with_all = ["json", "explain"])]
    pub full: bool,
    /// Print only the first sentences and what to take
    #[arg(long, short, conflicts_with_all = ["json", "explain", "full"])]
    pub quiet: bool,
    /// Write a record to send to others instead: without names, paths and serial numbers
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "output", "table", "charts", "json", "full", "quiet"])]
    pub share: Option<PathBuf>,
    /// Write a ZIP archive to publish instead: the record as --share has it, tables, charts, a paragraph on methods, checksums
    /// and how to cite it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "output", "table", "charts", "json", "full", "quiet",
        "share", "explain"])]
    pub bundle: Option<PathBuf>,
    /// Print everything about one row instead. CELL is a workload's identifier or a part of its name; with /CHOICE, one
    /// choice of that row
    #[arg(long, value_name = "CELL", conflicts_with_all = ["format", "output", "table", "charts", "json", "share"])]
    pub explain: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// A page with charts; the answer is printed
    Html,
    /// The record with newly derived results
    Json,
    /// Comma-separated values, a row for each measured trial or each cell
    Csv,
    /// The answer as JSON: headline, table, what to take, what is open
    Answer,
    /// Verdict and one table, for a ticket
    Markdown,
    /// The rows of csv in Apache Parquet
    Parquet,
    /// Tables for LaTeX, with booktabs and siunitx
    Latex,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableArg {
    /// Every measured trial
    Trials,
    /// Every workload on every choice: medians, estimate with its interval, verdict
    Cells,
}

#[derive(Debug, ClapArgs)]
pub struct DoctorArgs {
    /// The directory to measure
    #[arg(default_value = ".")]
    pub directory: PathBuf,
    /// Print an object instead of the text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

#[derive(Debug, ClapArgs)]
pub struct ManualArgs {
    /// Where to write them: a page for the program and one for each command
    pub directory: PathBuf,
}

/// What is printed instead of text: one of these, or of what else is in the group.
#[derive(Debug, ClapArgs)]
pub struct FormArgs {
    /// Print JSON instead of tables
    #[arg(long, group = "form")]
    pub json: bool,
    /// Print comma-separated values instead of tables
    #[arg(long, group = "form")]
    pub csv: bool,
    /// Print a self-contained page with charts instead of tables
    #[arg(long, group = "form")]
    pub html: bool,
}

#[derive(Debug, ClapArgs)]
pub struct CiphersArgs {
    /// Measure this cipher (repeatable; see --list) [default: all but those of history, which are measured if named]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub cipher: Vec<String>,
    /// Measure this sector size, in bytes (repeatable) [default: 512 and 4096]
    #[arg(long, visible_alias = "sector-size", value_name = "BYTES", value_delimiter = ',')]
    pub data_unit: Vec<u32>,
    /// Measure with this many threads at once, or `all` (repeatable) [default: 1 and all]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<usize>,
    /// Time for the whole table; every combination takes at least 0.1 s
    #[arg(long, value_name = "TIME", default_value = "20", value_parser = duration)]
    pub seconds: Duration,
    /// Bytes that each thread encrypts and decrypts in RAM
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = bytes)]
    pub buffer: u64,
    /// Measure one cipher by the size of a request, from a sector to 64 MiB, on one core
    #[arg(long, conflicts_with_all = ["buffer", "full", "list", "html"])]
    pub by_size: bool,
    /// Print every cascade, all cores, the code used and the spread
    #[arg(long, group = "form")]
    pub full: bool,
    /// Only list what is registered, measure nothing
    #[arg(long, group = "form")]
    pub list: bool,
    #[command(flatten)]
    pub form: FormArgs,
}

#[derive(Debug, ClapArgs)]
pub struct KdfArgs {
    /// Show times at this PIM (repeatable); one alone is also the PIM that an attacker knows
    /// [default: 1, 10, 98, 485, 1000 and 9999]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub pim: Vec<u32>,
    /// Measure this function: a PRF of PBKDF2, or argon2id (repeatable) [default: all of the volume]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub prf: Vec<String>,
    /// The kind of volume, which decides the costs
    #[arg(long, value_enum, default_value_t = VolumeKindArg::Veracrypt)]
    pub volume_kind: VolumeKindArg,
    /// Longest time that opening may take: gives the largest PIM
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub mount_limit: Duration,
    /// Entropy of a passphrase in bits (repeatable) [default: 40, 52 and 78]
    #[arg(long, value_name = "BITS", value_delimiter = ',', value_parser = entropy)]
    pub entropy: Vec<f64>,
    /// An attacker who does not know the PIM tries 1 to N [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub unknown_pim: Option<u32>,
    /// How many times as fast as this CPU an attacker's hardware is, at everything or at one function (repeatable)
    #[arg(long, value_name = "[NAME=]X", value_delimiter = ',', value_parser = multiplier)]
    pub multiplier: Vec<Multiplier>,
    /// Threads that guess at once, or `all`
    #[arg(long, value_name = "N", default_value = "all", value_parser = threads)]
    pub threads: usize,
    /// Rounds over all functions, at least 5
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub rounds: u32,
    /// Approximate time for everything
    #[arg(long, value_name = "TIME", default_value = "20", value_parser = duration)]
    pub seconds: Duration,
    /// Whether a LUKS2 keyslot opens in a boot loader's memory, on one thread, and how long it takes: those of VOLUME, or
    /// costs to choose from
    #[arg(
        long,
        value_name = "VOLUME",
        num_args = 0..=1,
        conflicts_with_all = ["pim", "prf", "full", "csv", "html"]
    )]
    pub bootloader: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub confinement: ConfinementArgs,
    /// Print every table: any PIM, an attacker's time, the method
    #[arg(long, group = "form")]
    pub full: bool,
    #[command(flatten)]
    pub form: FormArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum VolumeKindArg {
    /// VeraCrypt, except a system partition
    Veracrypt,
    /// A system partition of VeraCrypt
    VeracryptSystem,
    /// TrueCrypt, which has no PIM
    Truecrypt,
    /// A system partition of TrueCrypt
    TruecryptSystem,
}

impl From<VolumeKindArg> for VolumeKind {
    fn from(arg: VolumeKindArg) -> Self {
        match arg {
            VolumeKindArg::Veracrypt => Self::VeraCrypt { system: false },
            VolumeKindArg::VeracryptSystem => Self::VeraCrypt { system: true },
            VolumeKindArg::Truecrypt => Self::TrueCrypt { system: false },
            VolumeKindArg::TruecryptSystem => Self::TrueCrypt { system: true },
        }
    }
}

#[derive(Debug, ClapArgs)]
pub struct ProfilesArgs {
    /// Print this profile's file, to start one of your own from
    pub name: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct PredictArgs {
    /// The device: hdd-7200, hdd-laptop, sshd, sata-ssd, sata-mlc, usb-flash, sd-card, nvme, a model's file, or a record.json or
    /// the directory of a run [default: sata-ssd]
    #[arg(long, value_name = "PROFILE")]
    pub device: Option<PathBuf>,
    /// Predict for this cipher (repeatable) [default: aes-256-xts]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub cipher: Vec<String>,
    /// Predict for this sector size, in bytes (repeatable) [default: 512]
    #[arg(long, visible_alias = "sector-size", value_name = "BYTES", value_delimiter = ',')]
    pub data_unit: Vec<u32>,
    /// The cipher's rate in MB/s, encrypting and decrypting, instead of measuring it
    #[arg(long, value_name = "MB/S[,MB/S]", value_parser = cipher_rate, conflicts_with = "ciphers_from")]
    pub cipher_rate: Option<(f64, f64)>,
    /// Take the ciphers' rates from a file that `cryptbench ciphers --json` printed
    #[arg(long, value_name = "FILE")]
    pub ciphers_from: Option<PathBuf>,
    /// Fit the software's time per request to this record
    #[arg(long, value_name = "RECORD")]
    pub record: Option<PathBuf>,
    /// The choice or system of that record [default: its first encrypted one of the cipher]
    #[arg(long, value_name = "NAME", requires = "record")]
    pub arm: Option<String>,
    /// The software's time per request, in microseconds
    #[arg(long, value_name = "US", conflicts_with = "record", value_parser = not_negative)]
    pub per_request: Option<f64>,
    /// Requests in flight, for a model
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub queue_depth: u32,
    /// Predict for a driver that carries one request at a time, in pieces of SIZE [default: 256KiB], and encrypts while the
    /// device waits: what study A's figures show of VeraCrypt's for Windows. --per-request is then the time of a piece
    #[arg(
        long,
        value_name = "SIZE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "256KiB",
        value_parser = piece,
        conflicts_with = "record"
    )]
    pub serial: Option<u64>,
    /// Print how far off predictions are for published sweeps and for the named records
    #[arg(long, conflicts_with_all = ["device", "record", "per_request", "serial"])]
    pub validate: bool,
    /// Records for --validate
    #[arg(value_name = "RECORD", requires = "validate")]
    pub against: Vec<PathBuf>,
    /// Print an object instead of the table
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(group = clap::ArgGroup::new("tables").args(["from", "items"]).multiple(true))]
pub struct StudiesArgs {
    /// Print this study in full [default: list all]
    #[arg(value_enum, ignore_case = true)]
    pub study: Option<StudyArg>,
    /// Place a record.json, or the directory of a run, beside the published devices
    #[arg(long, value_name = "RECORD", conflicts_with = "from")]
    pub beside: Option<PathBuf>,
    /// Print the study's tables from records of yours again, as `run --study` did
    #[arg(long, value_name = "RECORD", num_args = 1.., requires = "study")]
    pub from: Vec<PathBuf>,
    /// Print everything that the studies have, each with the command that shows it
    #[arg(long, conflicts_with_all = ["from", "beside"])]
    pub items: bool,
    /// The format of these tables
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = StudyFormatArg::Text, requires = "tables")]
    pub format: StudyFormatArg,
    /// Write them to this file
    #[arg(long, short, value_name = "FILE", requires = "tables")]
    pub output: Option<PathBuf>,
    /// Print an object with all numbers instead
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StudyFormatArg {
    /// As on the terminal, with the study's conclusions
    Text,
    /// Comma-separated values: each table's title, its headings and rows, and an empty line
    Csv,
    /// For a ticket
    Markdown,
    /// For LaTeX, with booktabs and siunitx
    Latex,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StudyArg {
    /// VeraCrypt on a flash drive, an SSD and a hard disk
    #[value(name = "A")]
    A,
    /// An encrypted memory card on a Mac
    #[value(name = "B")]
    B,
    /// Encryption systems of Linux on one old PC
    #[value(name = "C")]
    C,
    /// Three ciphers in two programs on three kinds of disk
    #[value(name = "D")]
    D,
}

impl From<StudyArg> for Letter {
    fn from(arg: StudyArg) -> Self {
        match arg {
            StudyArg::A => Self::A,
            StudyArg::B => Self::B,
            StudyArg::C => Self::C,
            StudyArg::D => Self::D,
        }
    }
}
