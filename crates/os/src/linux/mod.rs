//! Linux: system calls, /proc and /sys.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place that opens files by their paths, and files of /proc and /sys"
)]

mod call;
pub(crate) mod cgroup;
pub(crate) mod channel;
pub(crate) mod clock;
pub(crate) mod confine;
pub(crate) mod counters;
mod directory;
pub(crate) mod dirs;
pub(crate) mod files;
pub(crate) mod lock;
pub mod loop_device;
pub(crate) mod machine;
pub(crate) mod net;
pub mod partition;
mod power;
pub(crate) mod process;
mod processor;
pub(crate) mod signals;
pub(crate) mod storage;
mod stream;
pub(crate) mod terminal;
mod trust;
pub(crate) mod user;

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

pub(crate) use self::stream::stream;
pub use self::{
    directory::Directory,
    trust::{Writers, renamed_by, renamed_by_passers},
};
use crate::{Details, FileType};

/// Opens a file for reading without waiting for the other end of a pipe.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(openat(CWD, path, flags, Mode::empty())?.into())
}

pub(crate) fn details(found: &Metadata) -> Details {
    Details {
        kind: file_type(found.mode()),
        file_system: found.dev(),
        inode: found.ino(),
        device: found.rdev(),
        names: found.nlink(),
        // stat(2) counts units of 512 bytes for any file system.
        allocated: found.blocks() * 512,
        changed: (found.mtime(), found.mtime_nsec()),
    }
}

/// The file kind from the mode of a file.
fn file_type(mode: u32) -> FileType {
    use rustix::fs::FileType as Kind;
    match Kind::from_raw_mode(mode) {
        Kind::RegularFile => FileType::RegularFile,
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::Fifo,
        Kind::Socket => FileType::Socket,
        Kind::CharacterDevice => FileType::CharacterDevice,
        Kind::BlockDevice => FileType::BlockDevice,
        _ => FileType::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read_beginning, read_file, read_text};

    #[test]
    fn what_has_no_end_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(CWD, &pipe, Mode::RWXU).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), dir.path()] {
            let error = read_file(path, 1 << 20).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{}", path.display());
            assert!(read_beginning(path, 1).is_err() && read_text(path, 1).is_err());
        }
    }
}
