//! What ends a run before its time.

use std::path::PathBuf;

/// Why a run could not be made or finished.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The request contradicts itself or asks for the impossible.
    #[error("{0}")]
    Request(String),
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
    #[error("cannot {act}: {source}")]
    Storage {
        /// What was tried, as a verb.
        act: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A profile could not be read.
    #[error(transparent)]
    Profile(#[from] cryptbench_load::ProfileError),
    /// The cipher tier asked for does not exist here.
    #[error(transparent)]
    Cpu(#[from] cryptbench_cipher::CpuError),
    /// A key derivation that does not exist, or not on that kind of volume, or that failed.
    #[error(transparent)]
    Kdf(#[from] cryptbench_kdf::KdfError),
}
