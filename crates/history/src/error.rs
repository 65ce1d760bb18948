//! The errors of the history.

use std::path::PathBuf;

use cryptbench_record::RecordError;
use cryptbench_text::shown;

/// An error of the history. No file was changed in any of these cases.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The database does not exist yet.
    #[error(
        "{}: there is no history yet; `cryptbench history add RECORD` creates one",
        shown(path)
    )]
    None {
        /// The database's expected path.
        path: PathBuf,
    },
    /// The file is not a history database.
    #[error("{} is not a history of cryptbench ({what}); it was not changed", shown(path))]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// The kind of the file, if the kind is known.
        what: String,
    },
    /// A newer version of the program wrote the database.
    #[error(
        "{} has version {found} of the history; this program reads versions up to {known}: use a newer cryptbench",
        shown(path)
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that this program supports.
        known: i64,
    },
    /// The file is damaged.
    #[error(
        "{} is damaged ({what}); it was not changed. Its records can be added to a new one (--database)",
        shown(path)
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// SQLite's finding.
        what: String,
    },
    /// SQLite failed.
    #[error("{} cannot be used: {what}", shown(path))]
    Database {
        /// The file.
        path: PathBuf,
        /// SQLite's message. SQLite's errors repeat their cause in other words, so the source is not stored.
        what: String,
    },
    /// The database's directory cannot be created.
    #[error("cannot create the directory {}", shown(path))]
    Io {
        /// The directory.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The record has no trials and therefore nothing to store.
    #[error("{}: the record contains no trials", shown(path))]
    Empty {
        /// The record.
        path: PathBuf,
    },
    /// The record is not in the history.
    #[error("no record {id} in {}; `cryptbench history list` shows them", shown(path))]
    NoSuchRecord {
        /// The database.
        path: PathBuf,
        /// The requested number.
        id: i64,
    },
}
