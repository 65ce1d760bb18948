//! The errors of a device model.

use std::path::PathBuf;

use cryptbench_text::names::Unknown;
use cryptbench_text::shown;

/// Why a model cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// No built-in model has this name.
    #[error("{0}; or specify the path of a .toml file")]
    Unknown(Unknown),
    /// The file cannot be read.
    #[error("cannot read {}", shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: std::io::Error,
    },
    /// The file is not a valid model.
    #[error("{path} is not a device model: {problem}")]
    Malformed {
        /// The file, or the name of a built-in model.
        path: String,
        /// The defect.
        problem: String,
    },
}
