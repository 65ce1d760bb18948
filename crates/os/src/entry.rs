//! Directory entries: identity and kind of a file.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

/// Distinguishes a file from a later file with the same name, or even the same inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// Device number of the file system.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Creation time in nanoseconds since 1970, if the file system records it (statx(2),
    /// `STATX_BTIME`).
    pub born: Option<i64>,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A regular file.
    RegularFile,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A named socket.
    Socket,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// Any other kind.
    Unknown,
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Identity of the file.
    pub identity: FileIdentity,
    /// Kind of the file.
    pub kind: FileType,
    /// Owner, a user number.
    pub owner: u32,
    /// Length in bytes.
    pub len: u64,
}

/// Accepts only a single path component that stays in the directory.
pub(crate) fn single(name: &OsStr) -> io::Result<&OsStr> {
    let path = Path::new(name);
    match path.file_name() {
        Some(last) if last == name => Ok(name),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file name")),
    }
}
