//! Errors of reading a profile.

use std::path::PathBuf;

use cryptbench_text::names::Unknown;
use cryptbench_text::shown;

/// Why a profile could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No built-in profile has this name.
    #[error("{0}; `--profile ./FILE` reads a file")]
    Unknown(Unknown),
    /// The file could not be read.
    #[error("cannot read the profile {}", shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The file is much too large for a profile.
    #[error(
        "{} is larger than 1 MiB and therefore not a profile; specify a file of workloads",
        shown(path)
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The text is not TOML, or does not have the keys and values of a profile.
    #[error("{origin}: {message}")]
    Syntax {
        /// File or profile.
        origin: String,
        /// Line, column and reason, as several lines.
        message: String,
    },
    /// An invalid value.
    #[error("{origin}, line {line}: {field} {problem}; {remedy}")]
    Invalid {
        /// File or profile.
        origin: String,
        /// Line of the value, from 1.
        line: usize,
        /// Key of the value.
        field: String,
        /// The defect.
        problem: String,
        /// The remedy.
        remedy: String,
    },
    /// A file size limit leaves no workload.
    #[error(
        "no workload of profile {profile} fits into files of {limit} bytes; the smallest needs {smallest}"
    )]
    NothingLeft {
        /// The profile.
        profile: String,
        /// The limit, bytes.
        limit: u64,
        /// The smallest limit that leaves a workload, in bytes.
        smallest: u64,
    },
}
