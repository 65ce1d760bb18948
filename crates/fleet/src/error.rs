//! Why a fleet's directory or plan could not be used.

use std::io;
use std::path::PathBuf;

use cryptbench_text::shown;

/// Why a fleet's directory or plan could not be used.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The directory cannot be listed, or a file in it cannot be written.
    #[error("cannot {act} {name}", name = shown(path))]
    Io {
        /// The attempted action, as a verb.
        act: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// There is nothing to report.
    #[error("{name} contains no records: machines write theirs with cryptbench run --fleet {name}", name = shown(path))]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// The plan is not TOML, has an unknown key, or has a value of the wrong type.
    #[error("{name} is not a fleet's plan", name = shown(path))]
    Plan {
        /// The file.
        path: PathBuf,
        /// The line and the cause.
        source: toml::de::Error,
    },
    /// Why a plan or a list of nodes is invalid.
    #[error("{0}")]
    Unfit(String),
}

impl FleetError {
    /// For `map_err`: the operation that was attempted on a file.
    pub(crate) fn io(
        act: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { act, path, source }
    }
}
