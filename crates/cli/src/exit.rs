//! Exit codes, and how errors are printed.

use std::path::Path;
use std::process::ExitCode;

use cryptbench_cipher::{CipherError, CpuError};
use cryptbench_devices::ModelError;
use cryptbench_export::ExportError;
use cryptbench_fleet::FleetError;
use cryptbench_foreign::{ForeignError, RecordError as ArmError};
use cryptbench_history::HistoryError;
use cryptbench_kdf::KdfError;
use cryptbench_load::{LoadError, ProfileError};
use cryptbench_microbench::MicrobenchError;
use cryptbench_record::RecordError;
use cryptbench_runner::RunError;
use cryptbench_serve::ServeError;
use cryptbench_system::SystemError;
use cryptbench_text::names::Unknown;
use cryptbench_text::{chain, shown};
use cryptbench_volume::VolumeError;

use crate::say;

/// An unexpected error, or output that could not be written.
pub const FAILURE: u8 = 1;
/// The command line is wrong (clap uses the same code).
pub const USAGE: u8 = 2;
/// The target is unsuitable, and nothing was done; or a system could not be set up or examined on the target, and
/// earlier results are kept.
pub const TARGET: u8 = 3;
/// The storage failed.
pub const STORAGE: u8 = 4;
/// A profile, a record or the header of a volume cannot be read.
pub const INPUT: u8 = 5;
/// Something could not be cleaned up.
pub const LEFT_OVER: u8 = 6;
/// No key fits: wrong passphrase, key file or PIM.
pub const NO_KEY: u8 = 7;
/// A system that should encrypt wrote plaintext, or data with too little entropy for ciphertext; the record is kept and
/// reports it.
pub const PLAINTEXT: u8 = 8;
/// `history check` or `history regressions` found a regression.
pub const REGRESSION: u8 = 9;
/// A run finished without comparing any arm with plain storage; the record is kept and reports it.
pub const UNMEASURED: u8 = 10;
/// `history check --quiet` cannot judge the record, because there are too few earlier records.
pub const NOT_JUDGED: u8 = 11;
/// A signal stopped the run: 128 plus the signal number. The results so far are in the record, which is marked
/// partial.
pub const SIGNAL: u8 = 128;

/// The codes and their meanings, one per line, with the meanings aligned.
pub const CODES: [(&str, &str); 13] = [
    ("0", "done"),
    ("1", "an unexpected error, or output could not be written"),
    ("2", "the command line is wrong"),
    (
        "3",
        "the target is unsuitable: missing, read-only, in use, too little space, or\n\
         it would be overwritten; or a system could not be set up or checked\n\
         there, and the results so far are kept",
    ),
    ("4", "the storage failed; the results so far are kept, marked partial"),
    ("5", "a profile, a record, a result, the history or a volume's header cannot be\nread"),
    ("6", "something could not be cleaned up, or is still in use"),
    ("7", "no key fits: wrong passphrase, key file or PIM"),
    (
        "8",
        "a system that should encrypt wrote plaintext, or data with too little\n\
         entropy for ciphertext; the record is kept and says so",
    ),
    ("9", "`history check` or `history regressions` found a regression"),
    ("10", "nothing was compared: the time budget ran out before the first pair of\ntrials"),
    ("11", "`history check --quiet` cannot judge the record yet: there are too few\nearlier ones"),
    (
        "129, 130, 143",
        "stopped by SIGHUP, SIGINT or SIGTERM; the results so far are kept,\nmarked partial",
    ),
];

/// The list that `--help` prints.
pub fn help() -> String {
    let mut list = "Exit codes:".to_owned();
    for (code, meaning) in CODES {
        // A code that is wider than the column has its own line.
        let below = if code.len() > 4 { "\n       " } else { "" };
        list += &format!("\n  {code:<5}{below}");
        list += &meaning.replace('\n', "\n       ");
    }
    list
}

/// A command's refusal, with its exit code.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct Refusal {
    path: String,
    reason: String,
    code: u8,
}

impl Refusal {
    fn new(path: &Path, reason: &str, code: u8) -> Self {
        Self { path: shown(path), reason: reason.to_owned(), code }
    }

    /// The target is not suitable.
    pub fn target(path: &Path, reason: &str) -> Self {
        Self::new(path, reason, TARGET)
    }

    /// A user's file cannot be read.
    pub fn input(path: &Path, reason: &str) -> Self {
        Self::new(path, reason, INPUT)
    }

    /// The command line is wrong, but the error becomes apparent only when the specified files are examined.
    pub fn usage(path: &Path, reason: &str) -> Self {
        Self::new(path, reason, USAGE)
    }

    /// Something could not be removed.
    pub fn left_over(path: &Path, reason: &str) -> Self {
        Self::new(path, reason, LEFT_OVER)
    }
}

/// Another process of this program has already reported the error and exited with this code.
#[derive(Debug, thiserror::Error)]
#[error("exit code {0}")]
pub struct Said(pub u8);

/// Prints an error and its causes to standard error, and returns the exit code.
pub fn explain(error: &anyhow::Error) -> ExitCode {
    if !error.is::<Said>() {
        let text = chain(error.as_ref());
        match error.chain().any(quotes_lines) {
            true => say::message_lines(text.trim_end()),
            false => say::message(text.trim_end()),
        }
    }
    ExitCode::from(code(error))
}

/// Whether an error message may quote lines from a profile or a plan.
fn quotes_lines(error: &(dyn std::error::Error + 'static)) -> bool {
    let syntax = |error: &ProfileError| matches!(error, ProfileError::Syntax { .. });
    matches!(error.downcast_ref(), Some(RunError::Profile(error)) if syntax(error))
        || error.downcast_ref().is_some_and(syntax)
        || matches!(error.downcast_ref(), Some(FleetError::Plan { .. }))
}

/// The exit code for an error.
pub fn code(error: &anyhow::Error) -> u8 {
    error.chain().find_map(known).unwrap_or(FAILURE)
}

fn known(error: &(dyn std::error::Error + 'static)) -> Option<u8> {
    if let Some(error) = error.downcast_ref::<RunError>() {
        return Some(match error {
            RunError::Usage(_) | RunError::Option { .. } | RunError::Cpu(_) => USAGE,
            RunError::Target { .. } => TARGET,
            RunError::Kdf(error) => kdf(error),
            RunError::System(e) => system(e),
            RunError::Load(_)
            | RunError::Storage { .. }
            | RunError::Verification { .. }
            | RunError::NotKept { .. } => STORAGE,
            RunError::Plaintext { .. }
            | RunError::PlaintextInCache { .. }
            | RunError::NotRandom { .. } => PLAINTEXT,
            RunError::Profile(_) => INPUT,
            RunError::LeftOver => LEFT_OVER,
            RunError::NoTime { .. } => UNMEASURED,
            RunError::Volume(error) => volume(error),
        });
    }
    if let Some(error) = error.downcast_ref::<MicrobenchError>() {
        return Some(match error {
            MicrobenchError::Usage(_) | MicrobenchError::Cpu(_) | MicrobenchError::Cipher(_) => {
                USAGE
            }
            MicrobenchError::Kdf(error) => kdf(error),
        });
    }
    if let Some(error) = error.downcast_ref::<Refusal>() {
        return Some(error.code);
    }
    if let Some(Said(code)) = error.downcast_ref() {
        return Some(*code);
    }
    if let Some(error) = error.downcast_ref::<VolumeError>() {
        return Some(volume(error));
    }
    if error.is::<ExportError>() {
        return Some(TARGET);
    }
    if let Some(error) = error.downcast_ref::<ServeError>() {
        return Some(if matches!(error, ServeError::Bind { .. }) { USAGE } else { FAILURE });
    }
    if let Some(error) = error.downcast_ref::<SystemError>() {
        return Some(system(error));
    }
    if let Some(error) = error.downcast_ref::<KdfError>() {
        return Some(kdf(error));
    }
    if let Some(error) = error.downcast_ref::<HistoryError>() {
        return Some(history(error));
    }
    if let Some(error) = error.downcast_ref::<FleetError>() {
        return Some(fleet(error));
    }
    if error.is::<ArmError>() {
        return Some(USAGE);
    }
    let input = error.is::<ForeignError>()
        || error.is::<ModelError>()
        || error.is::<ProfileError>()
        || error.is::<RecordError>();
    let usage = error.is::<CipherError>() || error.is::<CpuError>() || error.is::<Unknown>();
    match (input, usage, error.is::<LoadError>()) {
        (true, ..) => Some(INPUT),
        (_, true, _) => Some(USAGE),
        (.., true) => Some(STORAGE),
        _ => None,
    }
}

fn volume(error: &VolumeError) -> u8 {
    match error {
        VolumeError::NoKeyFits(_) => NO_KEY,
        VolumeError::Occupied { .. } => TARGET,
        VolumeError::NotThisFormat { .. }
        | VolumeError::Damaged { .. }
        | VolumeError::CannotOpen { .. }
        | VolumeError::Unsupported { .. } => INPUT,
        VolumeError::Invalid(_) | VolumeError::Cipher(_) => USAGE,
        VolumeError::Kdf(error) => kdf(error),
        VolumeError::Io { .. } => STORAGE,
        _ => FAILURE,
    }
}

fn history(error: &HistoryError) -> u8 {
    match error {
        HistoryError::NoSuchRecord { .. } => USAGE,
        HistoryError::Database { .. } | HistoryError::Io { .. } => FAILURE,
        _ => INPUT,
    }
}

fn fleet(error: &FleetError) -> u8 {
    match error {
        FleetError::Io { .. } => TARGET,
        FleetError::Empty { .. } | FleetError::Plan { .. } => INPUT,
        FleetError::Unfit(_) => USAGE,
    }
}

fn kdf(error: &KdfError) -> u8 {
    match error {
        KdfError::Memory { .. } | KdfError::Stopped => FAILURE,
        _ => USAGE,
    }
}

fn system(error: &SystemError) -> u8 {
    match error {
        SystemError::UnknownSystem(_)
        | SystemError::UnknownCipher(_)
        | SystemError::UnknownSettings(_)
        | SystemError::NothingSelected { .. }
        | SystemError::Unavailable { .. }
        | SystemError::Cipher(_) => USAGE,
        SystemError::Busy { .. } => LEFT_OVER,
        SystemError::Volume(error) => volume(error),
        SystemError::Fill(_) | SystemError::Lost { .. } => STORAGE,
        SystemError::Stopped => FAILURE,
        SystemError::Target { .. }
        | SystemError::Io { .. }
        | SystemError::Program { .. }
        | SystemError::Export(_) => TARGET,
    }
}
