//! Why a profile could not be had.

use std::path::PathBuf;

/// Why a profile could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No built-in profile has this name.
    #[error("there is no profile '{name}'; built in: {known}")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The file could not be read.
    #[error("cannot read the profile {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file is far larger than a profile can be.
    #[error("{path} is larger than 1 MiB and hardly a profile; give a file of workloads")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// Not TOML, or not the keys and values of a profile.
    #[error("{origin}: {message}")]
    Syntax {
        /// File or profile.
        origin: String,
        /// Line, column and reason, on several lines.
        message: String,
    },
    /// A value that makes no sense.
    #[error("{origin}, line {line}: {field} {problem}; {remedy}")]
    Invalid {
        /// File or profile.
        origin: String,
        /// Line of the value, from 1.
        line: usize,
        /// Key of the value.
        field: String,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        remedy: String,
    },
    /// A bound on file sizes leaves no workload.
    #[error(
        "no workload of profile {profile} gets by with files of {limit} bytes; the smallest needs {smallest}"
    )]
    NothingLeft {
        /// The profile.
        profile: String,
        /// The bound.
        limit: u64,
        /// The least bound that leaves a workload.
        smallest: u64,
    },
}
