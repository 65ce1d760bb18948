//! What can be wrong with a model.

use std::path::PathBuf;

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// No model of that name.
    #[error("there is no device model {0:?}: {1} (or the path of a .toml file)")]
    Unknown(String, String),
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is no model.
    #[error("{path} is no device model: {problem}")]
    Malformed {
        /// The file, or the name of a built-in model.
        path: String,
        /// What is wrong.
        problem: String,
    },
}
