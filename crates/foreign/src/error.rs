//! Why a result from another tool cannot be used.

use std::path::PathBuf;

use cryptbench_text::{printable, shown};

/// A file that cannot be read or parsed.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// The file could not be read.
    #[error("cannot read {}", shown(path))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The file does not have a known format, or does not contain usable data.
    #[error("{}: {reason}", shown(path))]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The expected content.
        reason: String,
    },
    /// A line of a known format cannot be parsed.
    #[error("{}, line {line}: {reason}: {text:?}", shown(path))]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The expected content.
        reason: String,
        /// The start of the line.
        text: String,
    },
}

/// The error from a format's reader; the caller adds the file name.
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
        let shown = |reason: String| printable(&reason).into_owned();
        match self {
            Self::File(reason) => ForeignError::File { path, reason: shown(reason) },
            Self::Line { line, reason, text } => {
                ForeignError::Line { path, line, reason: shown(reason), text }
            }
        }
    }
}
