//! What lies in a directory: which file it is, and of what kind.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

/// What tells one file from another that later has its name, and perhaps its inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// Device number of the file system.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// When it was made, in nanoseconds since 1970, where the file system keeps that (statx(2), `STATX_BTIME`).
    pub born: Option<i64>,
}

/// What kind of file something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// Bytes, as long as they are.
    RegularFile,
    /// Names of others.
    Directory,
    /// A path to something else.
    Symlink,
    /// A pipe with a name.
    Fifo,
    /// A socket with a name.
    Socket,
    /// A device that is read and written as a stream.
    CharacterDevice,
    /// A device of blocks.
    BlockDevice,
    /// None of these.
    Unknown,
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which file it is.
    pub identity: FileIdentity,
    /// What kind of file.
    pub kind: FileType,
    /// User that owns it.
    pub owner: u32,
    /// Bytes.
    pub len: u64,
}

/// A name of one part, which leads nowhere else.
pub(crate) fn single(name: &OsStr) -> io::Result<&OsStr> {
    let path = Path::new(name);
    match path.file_name() {
        Some(last) if last == name => Ok(name),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no name of a file")),
    }
}
