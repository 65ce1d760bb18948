//! Workload profiles: which workloads people quote, as data.
//!
//! A profile is a TOML file; `profiles/` holds the ones that are built in.

mod parse;
mod size;

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{Operation, Pattern};

/// The built-in profiles: name and text. A new one is a file and its line here.
const BUILTIN: &[(&str, &str)] = &[("quick", include_str!("../../profiles/quick.toml"))];

/// Largest profile file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The figure that people quote for a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Headline {
    /// Bytes per second.
    Bandwidth,
    /// Requests per second.
    Iops,
}

impl Headline {
    /// `bandwidth` or `iops`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bandwidth => "bandwidth",
            Self::Iops => "iops",
        }
    }
}

/// A named list of workloads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Lower-case letters, digits and hyphens.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// At least one; identifiers are unique.
    pub workloads: Vec<WorkloadSpec>,
}

/// One workload of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadSpec {
    /// Unique within the profile: lower-case letters, digits and hyphens.
    pub id: String,
    /// How tables call it; 22 characters at most.
    pub label: String,
    /// Direction of the requests.
    pub operation: Operation,
    /// Where consecutive requests go.
    pub pattern: Pattern,
    /// Bytes per request, a multiple of 512.
    pub block_size: u64,
    /// Requests in flight, 1 to [`MAX_QUEUE_DEPTH`](crate::MAX_QUEUE_DEPTH).
    pub queue_depth: u32,
    /// The figure that people quote for it.
    pub headline: Headline,
}

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
    #[error("{path} is larger than 1 MiB and hardly a profile; give a TOML file of workloads")]
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
        field: &'static str,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        remedy: String,
    },
}

impl Profile {
    /// The built-in profiles: name and TOML text.
    pub fn builtin() -> &'static [(&'static str, &'static str)] {
        BUILTIN
    }

    /// A built-in profile.
    ///
    /// # Errors
    /// [`ProfileError::Unknown`] when there is none of that name.
    pub fn named(name: &str) -> Result<Self, ProfileError> {
        let Some((_, text)) = BUILTIN.iter().find(|(n, _)| *n == name) else {
            let known: Vec<_> = BUILTIN.iter().map(|(n, _)| *n).collect();
            return Err(ProfileError::Unknown { name: name.to_owned(), known: known.join(", ") });
        };
        Self::from_toml(text, name)
    }

    /// Parses a profile; `origin` names it in errors.
    ///
    /// # Errors
    /// [`ProfileError::Syntax`] or [`ProfileError::Invalid`], with the line.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, ProfileError> {
        parse::parse(text, origin)
    }

    /// Reads and parses a profile.
    ///
    /// # Errors
    /// As [`from_toml`](Self::from_toml), and when the file cannot be read.
    pub fn from_file(path: &Path) -> Result<Self, ProfileError> {
        use std::io::Read;

        let read = |source| ProfileError::Read { path: path.to_owned(), source };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(read)?;
        file.take(MAX_FILE + 1).read_to_string(&mut text).map_err(read)?;
        if text.len() as u64 > MAX_FILE {
            return Err(ProfileError::TooLarge { path: path.to_owned() });
        }
        Self::from_toml(&text, &path.display().to_string())
    }
}
