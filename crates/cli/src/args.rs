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

/// What does disk encryption cost on my hardware, and which system and cipher should I use?
#[derive(Debug, Parser)]
#[command(name = "cryptbench", version, max_term_width = 100, after_long_help = exit::help())]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
    /// Log each step to standard error: what is set up, run and removed; -vv logs more. Secrets are never logged
    #[arg(long, short, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare encrypted with plain storage in a directory and report the cost of encryption
    Run(Box<RunArgs>),
    /// Regenerate the report of a run from its record: HTML page, JSON, CSV, Markdown, charts
    Report(ReportArgs),
    /// Print the JSON Schema of a record
    Schema,
    /// Show what can be measured on this machine, what may distort the results, and what to install
    Doctor(DoctorArgs),
    /// List the encryption systems and the reasons why some are not available here
    Systems,
    /// Measure the speed of ciphers in RAM and show which disks they keep up with
    Ciphers(CiphersArgs),
    /// Measure key derivation: unlock time, the largest PIM within a time limit, and the cost of an attack
    Kdf(KdfArgs),
    /// List the workload profiles, or print one
    Profiles(ProfilesArgs),
    /// Predict the cost of encryption on a device from a model or a record, without running a benchmark
    Predict(PredictArgs),
    /// Recompute the tables of published studies and check their conclusions
    Studies(StudiesArgs),
    /// Compare two records, or results from other tools such as fio (an unpaired comparison, labelled as such)
    Compare(CompareArgs),
    /// Keep records in a database and distinguish regressions from noise
    History(HistoryArgs),
    /// Measure many machines: run a plan on each, pool the records, find outliers
    Fleet(FleetArgs),
    /// Serve a local web page to configure, start, watch and compare runs
    Serve(ServeArgs),
    /// Create, open, mount and serve encrypted volumes: VeraCrypt, TrueCrypt, LUKS, BitLocker, FileVault
    #[command(subcommand)]
    Volume(Box<VolumeCommand>),
    /// Remove the resources that killed runs left behind
    Cleanup,
    /// Print the completion script for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages to a directory
    Manual(ManualArgs),
    /// Write a run's files for another process of this program, as instructed on standard input
    #[command(hide = true, name = crate::output::keeper::COMMAND)]
    KeepRun,
}

#[derive(Clone, Debug, ClapArgs)]
pub struct ReportArgs {
    /// A record.json, the directory of a run, or `last` for your newest run (`last~1`: the one before it); for the
    /// answer, the page and the charts also the directory of a study
    pub record: PathBuf,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = FormatArg::Html)]
    pub format: FormatArg,
    /// Output file [default: for html, report.html next to the record; otherwise standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What each row of CSV and Parquet output represents
    #[arg(long, value_enum, value_name = "ROWS", default_value_t = TableArg::Trials)]
    pub table: TableArg,
    /// Also write every chart to DIR as SVG, PDF and PNG
    #[arg(long, value_name = "DIR")]
    pub charts: Option<PathBuf>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Print every table with its explanation and its data basis, not only the answer
    #[arg(long, conflicts_with_all = ["json", "explain"])]
    pub full: bool,
    /// Print only the headline and the recommendation
    #[arg(long, short, conflicts_with_all = ["json", "explain", "full"])]
    pub quiet: bool,
    /// Write only a copy of the record for sharing, without host names, paths or serial numbers
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "output", "table", "charts", "json", "full", "quiet"])]
    pub share: Option<PathBuf>,
    /// Write only a ZIP archive for publication: the record as written by --share, tables, charts, a paragraph on
    /// methods, checksums and citation files
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "output", "table", "charts", "json", "full", "quiet",
        "share", "explain"])]
    pub bundle: Option<PathBuf>,
    /// Print only one row, with all details. CELL is a workload's identifier or part of its name; append /CHOICE to
    /// select one choice
    #[arg(long, value_name = "CELL", conflicts_with_all = ["format", "output", "table", "charts", "json", "share"])]
    pub explain: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// HTML page with charts; the answer is also printed
    Html,
    /// The record with recomputed results
    Json,
    /// Comma-separated values, one row per measured trial or per cell
    Csv,
    /// The answer as JSON: headline, table, recommendations, open questions
    Answer,
    /// Verdict and one table, to paste into a ticket
    Markdown,
    /// The same rows as csv, in Apache Parquet format
    Parquet,
    /// Tables for LaTeX, with booktabs and siunitx
    Latex,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableArg {
    /// Every measured trial
    Trials,
    /// A workload on a choice: medians, estimate with interval, verdict
    Cells,
}

#[derive(Debug, ClapArgs)]
pub struct DoctorArgs {
    /// The directory to measure
    #[arg(default_value = ".")]
    pub directory: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, required_unless_present = "runs")]
    pub shell: Option<Shell>,
    /// Print the names of the newest runs, for use by the completion scripts
    #[arg(long, hide = true, conflicts_with = "shell")]
    pub runs: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ManualArgs {
    /// Directory to write to: one page for the program and one page for each command
    pub directory: PathBuf,
}

/// Output formats other than text; at most one option of the group can be used.
#[derive(Debug, ClapArgs)]
pub struct FormArgs {
    /// Print JSON instead of tables
    #[arg(long, group = "form")]
    pub json: bool,
    /// Print comma-separated values instead of tables
    #[arg(long, group = "form")]
    pub csv: bool,
    /// Print a self-contained HTML page with charts instead of tables
    #[arg(long, group = "form")]
    pub html: bool,
}

#[derive(Debug, ClapArgs)]
pub struct CiphersArgs {
    /// Measure this cipher (repeatable; see --list) [default: all except historical ones, which are measured only on
    /// request]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub cipher: Vec<String>,
    /// Measure this sector size, in bytes (repeatable) [default: 512 and 4096]
    #[arg(long, visible_alias = "sector-size", value_name = "BYTES", value_delimiter = ',')]
    pub data_unit: Vec<u32>,
    /// Number of threads that run in parallel, or `all` (repeatable) [default: 1 and all]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<usize>,
    /// Time budget for the whole table; each combination takes at least 0.1 s
    #[arg(long, value_name = "TIME", default_value = "20", value_parser = duration)]
    pub seconds: Duration,
    /// Size of the buffer that each thread encrypts and decrypts in RAM
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = bytes)]
    pub buffer: u64,
    /// Measure one cipher at request sizes from one sector to 64 MiB, on one core
    #[arg(long, conflicts_with_all = ["buffer", "full", "list", "html"])]
    pub by_size: bool,
    /// Also print every cascade, the speed on all cores, the implementation used and the spread
    #[arg(long, group = "form")]
    pub full: bool,
    /// List the available ciphers without measuring them
    #[arg(long, group = "form")]
    pub list: bool,
    #[command(flatten)]
    pub form: FormArgs,
}

#[derive(Debug, ClapArgs)]
pub struct KdfArgs {
    /// Show times for this PIM (repeatable). If only one is given, the attacker is assumed to know it [default: 1, 10,
    /// 98, 485, 1000 and 9999]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub pim: Vec<u32>,
    /// Measure this function: a PBKDF2 PRF, or argon2id (repeatable) [default: all that the volume supports]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub prf: Vec<String>,
    /// Kind of volume, which determines the costs
    #[arg(long, value_enum, default_value_t = VolumeKindArg::Veracrypt)]
    pub volume_kind: VolumeKindArg,
    /// Maximum unlock time, which determines the largest PIM
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub mount_limit: Duration,
    /// Passphrase entropy in bits (repeatable) [default: 40, 52 and 78]
    #[arg(long, value_name = "BITS", value_delimiter = ',', value_parser = entropy)]
    pub entropy: Vec<f64>,
    /// Assume that an attacker who does not know the PIM tries all values from 1 to N [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub unknown_pim: Option<u32>,
    /// Speed of the attacker's hardware relative to this CPU, for all functions or, as NAME=X, for one (repeatable)
    #[arg(long, value_name = "[NAME=]X", value_delimiter = ',', value_parser = multiplier)]
    pub multiplier: Vec<Multiplier>,
    /// Number of threads that guess in parallel, or `all`
    #[arg(long, value_name = "N", default_value = "all", value_parser = threads)]
    pub threads: usize,
    /// Number of rounds over all functions, at least 5
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub rounds: u32,
    /// Approximate total time
    #[arg(long, value_name = "TIME", default_value = "20", value_parser = duration)]
    pub seconds: Duration,
    /// Check whether the LUKS2 keyslots of VOLUME can be unlocked in a boot loader's memory, and estimate the time on
    /// one thread. If VOLUME is omitted, check a selection of costs
    #[arg(
        long,
        value_name = "VOLUME",
        num_args = 0..=1,
        conflicts_with_all = ["pim", "prf", "full", "csv", "html"]
    )]
    pub bootloader: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub confinement: ConfinementArgs,
    /// Print every table: times for each PIM, the cost of an attack, the method
    #[arg(long, group = "form")]
    pub full: bool,
    #[command(flatten)]
    pub form: FormArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum VolumeKindArg {
    /// VeraCrypt, except system encryption
    Veracrypt,
    /// VeraCrypt system encryption
    VeracryptSystem,
    /// TrueCrypt, which has no PIM
    Truecrypt,
    /// TrueCrypt system encryption
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
    /// Print this profile's file, as a starting point for your own
    pub name: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct PredictArgs {
    /// Device: hdd-7200, hdd-laptop, sshd, sata-ssd, sata-mlc, usb-flash, sd-card, nvme, a model file, a record.json
    /// or the directory of a run [default: sata-ssd]
    #[arg(long, value_name = "PROFILE")]
    pub device: Option<PathBuf>,
    /// Predict for this cipher (repeatable) [default: aes-256-xts]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub cipher: Vec<String>,
    /// Predict for this sector size, in bytes (repeatable) [default: 512]
    #[arg(long, visible_alias = "sector-size", value_name = "BYTES", value_delimiter = ',')]
    pub data_unit: Vec<u32>,
    /// Use this encryption and decryption rate, in MB/s, instead of measuring the cipher
    #[arg(long, value_name = "MB/S[,MB/S]", value_parser = cipher_rate, conflicts_with = "ciphers_from")]
    pub cipher_rate: Option<(f64, f64)>,
    /// Read the cipher rates from a file with the output of `cryptbench ciphers --json`
    #[arg(long, value_name = "FILE")]
    pub ciphers_from: Option<PathBuf>,
    /// Fit the software time per request to this record
    #[arg(long, value_name = "RECORD")]
    pub record: Option<PathBuf>,
    /// Choice or system in that record [default: the first encrypted choice with that cipher]
    #[arg(long, value_name = "NAME", requires = "record")]
    pub arm: Option<String>,
    /// Software time per request, in microseconds
    #[arg(long, value_name = "US", conflicts_with = "record", value_parser = not_negative)]
    pub per_request: Option<f64>,
    /// Queue depth, if the device is a model
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub queue_depth: u32,
    /// Predict for a driver that processes one request at a time, in pieces of SIZE [default: 256KiB], and encrypts
    /// while the device waits, as study A's figures show for VeraCrypt on Windows. --per-request is then the time per
    /// piece
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
    /// Print the prediction errors for published sweeps and for the given records
    #[arg(long, conflicts_with_all = ["device", "record", "per_request", "serial"])]
    pub validate: bool,
    /// Records for --validate
    #[arg(value_name = "RECORD", requires = "validate")]
    pub against: Vec<PathBuf>,
    /// Print JSON instead of the table
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(group = clap::ArgGroup::new("tables").args(["study", "from", "items"]).multiple(true))]
pub struct StudiesArgs {
    /// Print this study in full [default: list all]
    #[arg(value_enum, ignore_case = true)]
    pub study: Option<StudyArg>,
    /// Compare a record.json, or the directory of a run or study, with the devices of the published studies
    #[arg(long, value_name = "RECORD", conflicts_with = "from")]
    pub beside: Option<PathBuf>,
    /// Print the study's tables for your own records, as `run --study` does
    #[arg(long, value_name = "RECORD", num_args = 1.., requires = "study")]
    pub from: Vec<PathBuf>,
    /// List every item of the studies with the command that shows it
    #[arg(long, conflicts_with_all = ["from", "beside"])]
    pub items: bool,
    /// Format of the tables
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = StudyFormatArg::Text, requires = "tables",
        conflicts_with = "beside")]
    pub format: StudyFormatArg,
    /// Write the tables to this file
    #[arg(long, short, value_name = "FILE", requires = "tables", conflicts_with = "beside")]
    pub output: Option<PathBuf>,
    /// Also write the overview of these records to this directory, as SVG, PDF and PNG
    #[arg(long, value_name = "DIR", requires = "from")]
    pub charts: Option<PathBuf>,
    /// Print JSON with all numbers instead
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StudyFormatArg {
    /// Text for a terminal, with the study's conclusions
    Text,
    /// Comma-separated values: title, headings and rows of each table, then an empty line
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
    /// Linux encryption systems on one old PC
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
