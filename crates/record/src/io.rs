//! Reads and writes a record as JSON.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use cryptbench_text::{escaped_json, shown};

use crate::fold;
use crate::log::{LOG, read_log};
use crate::printable::{printable_document, printable_record};
use crate::title::title;
use crate::{Record, SCHEMA, limits};

/// Why a record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file could not be read or written.
    #[error("cannot {act} {name}", name = shown(path))]
    Io {
        /// The attempted action, as a verb.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The file is not JSON, or not a record.
    #[error("{name} is not a cryptbench record", name = shown(path))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The position and the cause.
        source: serde_json::Error,
    },
    /// A newer version of the program wrote the record.
    #[error("{name} has schema {found:?}; this program reads {SCHEMA:?}: use a newer cryptbench", name = shown(path))]
    Schema {
        /// The file.
        path: PathBuf,
        /// The schema that the file states.
        found: String,
    },
    /// The file contains more than a record may contain.
    #[error(
        "{name} is refused: {what}, which is more than any run produces; use the file as cryptbench wrote \
        it", name = shown(path))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The excess and its limit.
        what: String,
    },
}

impl RecordError {
    /// For `map_err`: an error from reading the file at `path`.
    pub(crate) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.kind() {
            std::io::ErrorKind::FileTooLarge => {
                let what = format!("it is longer than {} MiB", LARGEST >> 20);
                Self::TooLarge { path, what }
            }
            _ => Self::Io { act: "read", path, source },
        }
    }
}

#[derive(serde::Deserialize)]
struct Header {
    schema: String,
}

/// Size in bytes of the largest record that is read, and of the largest log: about ten times the largest run of a
/// built-in profile. For the limits on its content, see [`limits::RECORD`].
pub const LARGEST: u64 = 512 << 20;

/// Also reads the run's title from the record's directory.
pub fn read(path: &Path) -> Result<Record, RecordError> {
    let mut record = read_untitled(path)?;
    record.title = title_beside(path);
    Ok(record)
}

/// The title of the run whose directory or `record.json` is at `path`.
pub fn title_beside(path: &Path) -> Option<String> {
    if path.is_dir() {
        return title(path);
    }
    let directory =
        path.parent().filter(|_| path.file_name().is_some_and(|n| n == "record.json"))?;
    title(if directory.as_os_str().is_empty() { Path::new(".") } else { directory })
}

fn read_untitled(path: &Path) -> Result<Record, RecordError> {
    let written = || read_document(path).and_then(|(file, text)| parse(&file, &text));
    if !path.is_dir() || !path.join(LOG).exists() {
        return written();
    }
    let logged = read_log(path).and_then(|events| {
        fold(&events).map(printable_record).ok_or_else(|| {
            let problem = "it does not begin with the start of a run";
            let source = std::io::Error::new(std::io::ErrorKind::InvalidData, problem);
            RecordError::Io { act: "read", path: path.join(LOG), source }
        })
    });
    if !path.join("record.json").exists() {
        return logged;
    }
    // If an interrupted run wrote its record, was resumed and then killed, its log is more recent.
    let written = written()?;
    Ok(logged.ok().filter(|logged| logged.trials.len() > written.trials.len()).unwrap_or(written))
}

/// The file that `path` specifies, and its contents.
pub fn read_document(path: &Path) -> Result<(PathBuf, String), RecordError> {
    let file = if path.is_dir() { path.join("record.json") } else { path.to_owned() };
    let text = cryptbench_os::read_text(&file, LARGEST).map_err(RecordError::read(&file))?;
    Ok((file, text))
}

/// Parses a record and makes its strings printable; errors call the file `origin`.
pub fn parse(origin: &Path, text: &str) -> Result<Record, RecordError> {
    let malformed = |source| RecordError::Malformed { path: origin.to_owned(), source };
    limits::Counter::new(limits::RECORD)
        .add(text)
        .map_err(|what| RecordError::TooLarge { path: origin.to_owned(), what })?;
    let text = &*printable_document(text);
    let header: Header = serde_json::from_str(text).map_err(malformed)?;
    if header.schema != SCHEMA {
        return Err(RecordError::Schema { path: origin.to_owned(), found: header.schema });
    }
    serde_json::from_str(text).map_err(malformed)
}

/// The contents of a record's file.
pub fn to_json(record: &Record) -> String {
    let text = serde_json::to_string_pretty(record).expect("a record is plain data") + "\n";
    match escaped_json(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(escaped) => escaped,
    }
}

/// Writes a record so that the file is always absent, unchanged or complete. Replaces only regular
/// files.
pub fn write(record: &Record, path: &Path) -> Result<(), RecordError> {
    cryptbench_os::write_whole(path, to_json(record).as_bytes()).map_err(|source| RecordError::Io {
        act: "write",
        path: path.to_owned(),
        source,
    })
}
