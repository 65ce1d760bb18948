//! Why the history cannot be used.

use std::path::PathBuf;

use cryptbench_record::RecordError;

/// Nothing of these changes a file.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// There is no database yet.
    #[error("{path}: no history is kept there yet; `cryptbench history add RECORD` begins one")]
    None {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{path} is not a history of cryptbench ({what}); it was left alone")]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What it is, as far as is known.
        what: String,
    },
    /// Written by a newer program.
    #[error(
        "{path} has version {found} of the history; this program knows up to {known}: use a newer cryptbench"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// The file is damaged.
    #[error(
        "{path} is damaged ({what}); it was left alone. Its records can be added to a new one (--database)"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite found.
        what: String,
    },
    /// SQLite cannot do it.
    #[error("{path} cannot be used: {what}")]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said. Its errors name their cause in other words again, so none is kept as a source.
        what: String,
    },
    /// The directory of the database cannot be made.
    #[error("cannot make the directory {path}")]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A record without trials says nothing.
    #[error("{path}: the record holds no trials")]
    Empty {
        /// The record.
        path: PathBuf,
    },
    /// There is no such record.
    #[error("no record {id} in {path}; `cryptbench history list` shows them")]
    NoSuchRecord {
        /// The database.
        path: PathBuf,
        /// What was asked for.
        id: i64,
    },
}
