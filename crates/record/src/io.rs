//! Reading and writing a record as JSON.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::{Record, SCHEMA};

/// Why a record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Not JSON, or not a record.
    #[error("{path} is not a cryptbench record: {source}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// Written by a newer program.
    #[error("{path} has schema {found:?}; this program reads {SCHEMA:?}: use a newer cryptbench")]
    Schema {
        /// The file.
        path: PathBuf,
        /// What it says it is.
        found: String,
    },
}

#[derive(serde::Deserialize)]
struct Header {
    schema: String,
}

/// Reads a record; a directory stands for the `record.json` in it.
pub fn read(path: &Path) -> Result<Record, RecordError> {
    let file = if path.is_dir() { path.join("record.json") } else { path.to_owned() };
    let text = fs::read_to_string(&file)
        .map_err(|source| RecordError::Io { path: file.clone(), source })?;
    let malformed = |source| RecordError::Malformed { path: file.clone(), source };
    let header: Header = serde_json::from_str(&text).map_err(malformed)?;
    if header.schema != SCHEMA {
        return Err(RecordError::Schema { path: file, found: header.schema });
    }
    serde_json::from_str(&text).map_err(malformed)
}

/// Writes a record so that the file is either absent, the old one, or complete.
pub fn write(record: &Record, path: &Path) -> Result<(), RecordError> {
    let io = |source| RecordError::Io { path: path.to_owned(), source };
    let text = serde_json::to_string_pretty(record).expect("a record is plain data");
    let part = path.with_extension("json.part");
    let result = (|| {
        let mut file = File::create(&part)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&part, path)
    })();
    if result.is_err() {
        // The error that matters is the first one; the part may not even exist.
        let _ = fs::remove_file(&part);
    }
    result.map_err(io)
}
