//! A path in a request, and the file or device there.
#![expect(clippy::disallowed_methods, reason = "targets, with checks of their own")]

use std::fs;
use std::io::{ErrorKind, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use cryptbench_os::dirs::resolved;
use cryptbench_os::files::Opening;
use cryptbench_os::storage::refused_by_name;
use cryptbench_os::{Details, FileType};
use cryptbench_text::chain;
use serde::{Deserialize, Serialize};

use super::existing::Found;
use super::{Asked, Ground};

/// A path, and the file or device there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The path that the user specified.
    pub(crate) path: PathBuf,
    pub(crate) there: There,
}

/// The file or device at a path.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum There {
    /// A directory.
    Directory(Asked<Ground>),
    /// A file or device that could be overwritten.
    Existing(Asked<Box<Found>>),
    /// A device that is only read.
    ToRead(Asked<Readable>),
    /// Nothing.
    Nothing {
        /// Whether the name belongs to a broken symbolic link.
        is_link: bool,
        /// The directory that would contain it; `None` if that does not exist.
        around: Option<Asked<Ground>>,
    },
    /// A path that cannot be a target, judging only by its name.
    Refused(String),
    /// A path that cannot be examined.
    Unseen(String),
}

/// A device that is only read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Readable {
    pub(crate) is_device: bool,
    /// Bytes that may be read.
    pub(crate) len: Asked<u64>,
    pub(crate) ground: Ground,
}

impl Place {
    /// Looks at `path`.
    pub(crate) fn look(path: &Path) -> Self {
        Self { path: path.to_owned(), there: there(path) }
    }

    /// Looks at a device of which `len` bytes, or all, are only read.
    pub(super) fn to_read(path: &Path, len: Option<u64>) -> Self {
        Self { path: path.to_owned(), there: There::ToRead(readable(path, len)) }
    }
}

fn there(path: &Path) -> There {
    if let Some(why) = refused_by_name(path) {
        return There::Refused(why.to_owned());
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => There::Directory(Ground::of_directory(path)),
        Ok(_) => There::Existing(
            resolved(path)
                .map_err(|e| e.to_string())
                .and_then(|path| Found::look(&path).map(Box::new).map_err(|why| chain(&why))),
        ),
        Err(e) if e.kind() == ErrorKind::NotFound => There::Nothing {
            // A dangling symbolic link has no metadata, but occupies the name.
            is_link: fs::symlink_metadata(path).is_ok(),
            around: parent(path).is_dir().then(|| Ground::of_directory(parent(path))),
        },
        Err(e) => There::Unseen(e.to_string()),
    }
}

fn readable(path: &Path, len: Option<u64>) -> Asked<Readable> {
    let in_words = |e: std::io::Error| e.to_string();
    let path = match len {
        Some(_) => path.to_owned(),
        None => resolved(path).map_err(in_words)?,
    };
    let details = Details::of(&fs::metadata(&path).map_err(in_words)?);
    let is_device = details.kind == FileType::BlockDevice;
    let size = || {
        let mut file = Opening::to_read()
            .open(&path)
            .map_err(|e| format!("cannot be read ({e}): run as root"))?;
        file.seek(SeekFrom::End(0)).map_err(in_words)
    };
    let len = match len {
        Some(len) => Ok(len),
        None if is_device => size(),
        None => Ok(0),
    };
    Ok(Readable { is_device, len, ground: Ground::of_device(&path, details.device) })
}

/// The directory of a path.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    }
}
