//! Windows: information from the standard library and the calls in `call.rs`.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place that opens and makes files on Windows"
)]

mod call;
pub(crate) mod channel;
pub(crate) mod confine;
pub(crate) mod counters;
mod directory;
pub(crate) mod dirs;
pub(crate) mod files;
pub(crate) mod machine;
pub(crate) mod process;
pub(crate) mod signals;
pub(crate) mod storage;
pub(crate) mod terminal;
pub(crate) mod user;

use std::fs::{File, Metadata};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_BACKUP_SEMANTICS;

pub use self::directory::Directory;
pub use self::files::{direct_unit, reopen_overlapped};
use crate::{Details, FileType};

/// Opens a file for reading; a directory is opened only to identify it as such.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}

/// Opens the consoles and the null device; standard output has no name.
pub(crate) fn stream(path: &Path) -> io::Result<Option<File>> {
    let is = |name: &str| path.as_os_str().eq_ignore_ascii_case(name);
    if !is(terminal::STDOUT) && !is("CON") && !is("NUL") {
        return Ok(None);
    }
    File::options().write(true).open(path).map(Some)
}

/// The details that the standard library knows. [`crate::FileIdentity`] distinguishes files.
pub(crate) fn details(found: &Metadata) -> Details {
    let since = found.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let since = since.unwrap_or_default();
    Details {
        kind: file_type(found.file_type()),
        file_system: 0,
        inode: 0,
        device: 0,
        names: 1,
        allocated: found.len(),
        changed: (since.as_secs().cast_signed(), i64::from(since.subsec_nanos())),
    }
}

/// The file's kind, as far as the standard library can tell.
fn file_type(kind: std::fs::FileType) -> FileType {
    match kind {
        kind if kind.is_symlink() => FileType::Symlink,
        kind if kind.is_dir() => FileType::Directory,
        kind if kind.is_file() => FileType::RegularFile,
        _ => FileType::Unknown,
    }
}

/// The users who may write to a directory without making it untrusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// Only its owner.
    Owner,
    /// Including its group.
    Group,
}

/// Nobody: access lists, which contain the right to rename, are not read. A run here creates nothing that
/// another program opens by its path.
///
/// # Errors
/// Never fails here.
pub fn renamed_by(_: &Path, _user: u32, _: Writers) -> io::Result<Option<PathBuf>> {
    Ok(None)
}

/// Nobody, for the same reason as in [`renamed_by`].
///
/// # Errors
/// Never fails here.
pub fn renamed_by_passers(_: &Path, _users: &[u32], _: Writers) -> io::Result<Option<PathBuf>> {
    Ok(None)
}

pub(crate) mod clock {
    //! The CPU clock of this process.

    pub(crate) fn process_cpu_ns() -> u64 {
        super::call::own_time().unwrap_or(0) * 100
    }
}

pub(crate) mod lock {
    //! Windows has only one kind of lock.

    use std::fs::File;

    /// Does nothing if the file has no lock.
    pub(crate) fn give_up(file: &File) {
        let _ = file.unlock();
    }

    pub(crate) fn is_locked_by_record(_file: &File) -> bool {
        false
    }
}

pub(crate) mod net {
    //! No socket options.

    use std::time::Duration;

    /// Does nothing: Windows has no such option.
    pub fn end_when_unread<S>(_stream: S, _after: Duration) {}
}
