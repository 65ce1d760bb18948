//! Exit codes, and how an error is told.

use std::process::ExitCode;

use cryptbench_cipher::{CipherError, CpuError};
use cryptbench_load::{LoadError, ProfileError};
use cryptbench_record::RecordError;
use cryptbench_runner::RunError;
use cryptbench_system::SystemError;

/// Something unforeseen.
pub const FAILURE: u8 = 1;
/// The command line is wrong (clap uses the same code).
pub const USAGE: u8 = 2;
/// The target is not fit for a run; nothing was measured.
pub const TARGET: u8 = 3;
/// The storage failed during the run.
pub const STORAGE: u8 = 4;
/// A profile or a record cannot be read.
pub const INPUT: u8 = 5;
/// Something could not be cleaned up.
pub const LEFT_OVER: u8 = 6;
/// A signal ended the run; 128 + its number. What was measured is in the record, marked partial.
pub const SIGNAL: u8 = 128;

/// The list that `--help` prints.
pub const HELP: &str = "\
Exit codes:
  0    done
  1    something unforeseen
  2    the command line is wrong
  3    the target is not fit for a run: missing, read-only, too little room
  4    the storage failed during the run; what was measured before is kept, marked partial
  5    a profile or a record cannot be read
  6    something could not be cleaned up
  129, 130, 143  ended by SIGHUP, SIGINT, SIGTERM; what was measured is kept, marked partial";

/// Prints an error with its causes on standard error and chooses the exit code.
pub fn explain(error: &anyhow::Error) -> ExitCode {
    eprintln!("cryptbench: {error:#}");
    ExitCode::from(code(error))
}

/// The exit code for an error.
pub fn code(error: &anyhow::Error) -> u8 {
    error.chain().find_map(known).unwrap_or(FAILURE)
}

fn known(error: &(dyn std::error::Error + 'static)) -> Option<u8> {
    if let Some(error) = error.downcast_ref::<RunError>() {
        return Some(match error {
            RunError::Request(_) | RunError::Cpu(_) => USAGE,
            RunError::Target { .. } => TARGET,
            RunError::System(e) => system(e),
            RunError::Load(_) | RunError::Storage { .. } => STORAGE,
            RunError::Profile(_) => INPUT,
        });
    }
    if let Some(error) = error.downcast_ref::<SystemError>() {
        return Some(system(error));
    }
    let input = error.is::<ProfileError>() || error.is::<RecordError>();
    let usage = error.is::<CipherError>() || error.is::<CpuError>();
    match (input, usage, error.is::<LoadError>()) {
        (true, ..) => Some(INPUT),
        (_, true, _) => Some(USAGE),
        (.., true) => Some(STORAGE),
        _ => None,
    }
}

fn system(error: &SystemError) -> u8 {
    match error {
        SystemError::UnknownSystem { .. }
        | SystemError::NothingSelected { .. }
        | SystemError::Unavailable { .. }
        | SystemError::Cipher(_) => USAGE,
        SystemError::Target { .. } | SystemError::Io { .. } => TARGET,
    }
}
