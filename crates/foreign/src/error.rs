//! Why a foreign result cannot be used.

use std::path::PathBuf;

/// A file that cannot be read or is not understood.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// The file could not be read.
    #[error("cannot read {path}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is of none of the known formats, or of no use here.
    #[error("{path}: {reason}")]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What was expected.
        reason: String,
    },
    /// A line of a known format is not understood.
    #[error("{path}, line {line}: {reason}: {text:?}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was expected.
        reason: String,
        /// The beginning of the line.
        text: String,
    },
}

/// What a reader of one format reports; the file is added by who knows it.
#[derive(Debug)]
pub(crate) enum Fault {
    File(String),
    Line { line: usize, reason: String, text: String },
}

impl Fault {
    pub(crate) fn file(reason: impl Into<String>) -> Self {
        Self::File(reason.into())
    }

    /// `line` counts from 1.
    pub(crate) fn line(line: usize, reason: impl Into<String>, text: &str) -> Self {
        let text = text.trim().chars().take(80).collect();
        Self::Line { line, reason: reason.into(), text }
    }

    pub(crate) fn of(self, path: PathBuf) -> ForeignError {
        match self {
            Self::File(reason) => ForeignError::File { path, reason },
            Self::Line { line, reason, text } => ForeignError::Line { path, line, reason, text },
        }
    }
}
