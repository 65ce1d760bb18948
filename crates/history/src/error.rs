//! The errors of the history.

use std::path::PathBuf;

use cryptbench_record::RecordError;
use cryptbench_text::shown;

/// An error of the history. None of these has changed a file.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// There is no database yet.
    #[error("{name}: no history is kept there yet; `cryptbench history add RECORD` begins one", name = shown(path))]
    None {
        /// The database's expected path.
        path: PathBuf,
    },
    /// The file is not a history database.
    #[error("{name} is not a history of cryptbench ({what}); it was left alone", name = shown(path))]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What the file is, as far as known.
        what: String,
    },
    /// A newer version of the program wrote the database.
    #[error(
        "{name} has version {found} of the history; this program reads versions up to {known}: use a newer cryptbench", name = shown(path))]
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
        "{name} is damaged ({what}); it was left alone. Its records can be added to a new one (--database)", name = shown(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// SQLite's finding.
        what: String,
    },
    /// SQLite failed.
    #[error("{name} cannot be used: {what}", name = shown(path))]
    Database {
        /// The file.
        path: PathBuf,
        /// SQLite's message. Its errors repeat their cause in other words, so no source is stored.
        what: String,
    },
    /// The database's directory cannot be created.
    #[error("cannot make the directory {name}", name = shown(path))]
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
    #[error("{name}: the record holds no trials", name = shown(path))]
    Empty {
        /// The record.
        path: PathBuf,
    },
    /// The history has no such record.
    #[error("no record {id} in {name}; `cryptbench history list` shows them", name = shown(path))]
    NoSuchRecord {
        /// The database.
        path: PathBuf,
        /// The requested number.
        id: i64,
    },
}
