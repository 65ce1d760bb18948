//! Linux: system calls, /proc and /sys.

pub(crate) mod counters;
mod directory;
pub(crate) mod machine;
pub(crate) mod process;
pub(crate) mod storage;
mod stream;
mod trust;

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

pub(crate) use self::stream::stream;
pub use self::{
    directory::Directory,
    trust::{Writers, renamed_by},
};
use crate::FileType;

/// Opens a file to be read, without waiting for whoever has the other end of a pipe.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(openat(CWD, path, flags, Mode::empty())?.into())
}

/// The kind that the mode of a file tells.
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
