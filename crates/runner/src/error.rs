//! Errors that end a run early.

use std::path::PathBuf;

use cryptbench_text::shown;

/// Why a run could not be started or completed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The request is contradictory or impossible.
    #[error("{0}")]
    Usage(String),
    /// The value of an option is impossible here.
    #[error("{problem}")]
    Option {
        /// The option of `cryptbench run`, such as `budget`.
        option: &'static str,
        /// The problem and its remedy.
        problem: String,
    },
    /// The target is not suitable for a run.
    #[error("{}: {problem}", shown(path))]
    Target {
        /// The directory or file.
        path: PathBuf,
        /// The problem and its remedy.
        problem: String,
    },
    /// A system could not be set up or removed.
    #[error(transparent)]
    System(#[from] cryptbench_system::SystemError),
    /// The storage failed under load.
    #[error(transparent)]
    Load(#[from] cryptbench_load::LoadError),
    /// An operation on the storage, other than a request of the load, failed.
    #[error("cannot {act}")]
    Storage {
        /// The operation, as a verb.
        act: &'static str,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The storage does not contain the written data.
    #[error(
        "{faults} sectors do not contain the written data; the first, at byte {offset} of the file, is {fault}"
    )]
    Verification {
        /// Number of sectors with a fault.
        faults: u64,
        /// The fault of the first of these sectors: `lost`, `stale`, `torn` and so on.
        fault: &'static str,
        /// The sector's offset in bytes from the start of the scratch file.
        offset: u64,
    },
    /// A system that should encrypt stored plaintext.
    #[error(
        "{arm} does not encrypt: data written through it is stored as plaintext, at {places} offsets; the first is \
         byte {offset} of {file}"
    )]
    Plaintext {
        /// Label of the arm.
        arm: String,
        /// Number of positions at which plaintext was found.
        places: u64,
        /// The file that contains the first of these positions, by its name in the arm's storage.
        file: String,
        /// The byte offset in that file.
        offset: u64,
    },
    /// A system that should encrypt stored plaintext next to its ciphertext.
    #[error(
        "{arm} leaves plaintext in its cache: data written through it is stored there unencrypted, at {places} \
         offsets; the first is byte {offset} of {file}. None was found in its encrypted storage"
    )]
    PlaintextInCache {
        /// Label of the arm.
        arm: String,
        /// Number of positions at which plaintext was found.
        places: u64,
        /// The file that contains the first of these positions, by its name in the arm's storage.
        file: String,
        /// The byte offset in that file.
        offset: u64,
    },
    /// A system that should encrypt stored data that cannot be ciphertext, at a position where only ciphertext
    /// is allowed.
    #[error(
        "{arm} does not encrypt as required: {low} of {blocks} blocks in its storage have too little entropy for \
         ciphertext"
    )]
    NotRandom {
        /// Label of the arm.
        arm: String,
        /// Number of blocks below the threshold.
        low: u64,
        /// Number of blocks inspected.
        blocks: u64,
    },
    /// A system did not return the written data after it was closed and reopened.
    #[error("{arm} lost data: after it was closed and reopened, {problem}")]
    NotKept {
        /// Label of the arm.
        arm: String,
        /// The problem.
        problem: String,
    },
    /// The run has completed, but a resource that it set up still exists; the record's notes list it.
    #[error(
        "the run could not remove everything that it set up (see the notes); run cryptbench cleanup"
    )]
    LeftOver,
    /// The budget is too short for any figure on this machine.
    #[error(
        "nothing was compared: {budget_s:.0} s is not enough here, because {what}; use {enough}"
    )]
    NoTime {
        /// The budget in seconds.
        budget_s: f64,
        /// The step that takes too long.
        what: String,
        /// The option with a sufficient budget.
        enough: String,
    },
    /// A profile could not be read.
    #[error(transparent)]
    Profile(#[from] cryptbench_load::ProfileError),
    /// The requested cipher tier does not exist here.
    #[error(transparent)]
    Cpu(#[from] cryptbench_cipher::CpuError),
    /// A key derivation does not exist, does not fit the kind of volume, or failed.
    #[error(transparent)]
    Kdf(#[from] cryptbench_kdf::KdfError),
    /// A volume could not be created or opened.
    #[error(transparent)]
    Volume(#[from] cryptbench_volume::VolumeError),
}
