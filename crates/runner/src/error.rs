//! What ends a run before its time.

use std::path::PathBuf;

/// Why a run could not be made or finished.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The request contradicts itself or asks for the impossible.
    #[error("{0}")]
    Usage(String),
    /// The target is not fit for a run.
    #[error("{path}: {problem}")]
    Target {
        /// The directory or file.
        path: PathBuf,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A system could not be set up or taken down.
    #[error(transparent)]
    System(#[from] cryptbench_system::SystemError),
    /// The storage failed under load.
    #[error(transparent)]
    Load(#[from] cryptbench_load::LoadError),
    /// The storage failed between two trials.
    #[error("cannot {act}")]
    Storage {
        /// What was tried, as a verb.
        act: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The storage does not hold what was written.
    #[error(
        "{faults} sectors do not hold what was written; the first, {offset} bytes into the file, is {fault}"
    )]
    Verification {
        /// Sectors with a fault.
        faults: u64,
        /// What is wrong with the first: `lost`, `stale`, `torn` and so on.
        fault: &'static str,
        /// Its place, in bytes from the start of the scratch file.
        offset: u64,
    },
    /// A system that should encrypt wrote what it was given as it is.
    #[error(
        "{arm} does not encrypt: what was written through it lies on the storage as it is, in {places} places; the \
         first is byte {offset} of {file}"
    )]
    Plaintext {
        /// How people call the arm.
        arm: String,
        /// Places at which plaintext was found.
        places: u64,
        /// The file with the first of them, as the arm's storage names it.
        file: String,
        /// The byte in it.
        offset: u64,
    },
    /// A system that should encrypt left what no ciphertext is where nothing else may be.
    #[error(
        "{arm} does not encrypt as it must: {low} of {blocks} blocks that lie on the storage below it are less random than \
         any ciphertext is"
    )]
    NotRandom {
        /// How people call the arm.
        arm: String,
        /// Blocks below the threshold.
        low: u64,
        /// Blocks that were looked at.
        blocks: u64,
    },
    /// What was written through a system did not come back after it lay at rest.
    #[error(
        "{arm} does not keep what it is given: after it was closed and opened again, {problem}"
    )]
    NotKept {
        /// How people call the arm.
        arm: String,
        /// What is wrong.
        problem: String,
    },
    /// The run is done, but something that it set up is still there; the record's notes say what.
    #[error(
        "something that was set up could not be taken down (see the notes); try cryptbench cleanup"
    )]
    LeftOver,
    /// A profile could not be read.
    #[error(transparent)]
    Profile(#[from] cryptbench_load::ProfileError),
    /// The cipher tier asked for does not exist here.
    #[error(transparent)]
    Cpu(#[from] cryptbench_cipher::CpuError),
    /// A key derivation that does not exist, or not on that kind of volume, or that failed.
    #[error(transparent)]
    Kdf(#[from] cryptbench_kdf::KdfError),
    /// A volume could not be made, or not be opened.
    #[error(transparent)]
    Volume(#[from] cryptbench_volume::VolumeError),
}
