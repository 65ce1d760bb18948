//! Open files: positioned I/O, caches, allocation, and special ways to open or create files.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::system::files as system;

/// How to open an existing file or device; always readable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    pub(crate) write: bool,
    pub(crate) direct: bool,
    pub(crate) alone: bool,
    pub(crate) without_waiting: bool,
}

impl Opening {
    /// For reading only.
    pub fn to_read() -> Self {
        Self::default()
    }

    /// For reading and writing.
    pub fn to_write() -> Self {
        Self { write: true, ..Self::default() }
    }

    /// Bypasses the page cache (Linux: `O_DIRECT`) if `direct` is set.
    pub fn direct(self, direct: bool) -> Self {
        Self { direct, ..self }
    }

    /// Opens a block device exclusively if `alone` is set. Fails if anything in the kernel has claimed the device or
    /// one of its partitions. Nothing else can claim the device while it is open.
    pub fn alone(self, alone: bool) -> Self {
        Self { alone, ..self }
    }

    /// Does not wait for the other end of a pipe, and does not make a terminal the controlling terminal. Reads from the
    /// file do not wait either.
    pub fn without_waiting(self) -> Self {
        Self { without_waiting: true, ..self }
    }

    /// Opens the file.
    ///
    /// # Errors
    /// The operating system's error, such as `ResourceBusy` for a claimed device.
    /// [`io::ErrorKind::Unsupported`] if the system cannot open files this way.
    pub fn open(self, path: &Path) -> io::Result<File> {
        system::open(self, path)
    }
}

/// Creates a new file that only this user may access, and opens it for reading and writing,
/// bypassing the page cache if `direct` is set.
///
/// # Errors
/// `AlreadyExists` if a file or directory has this name; [`io::ErrorKind::Unsupported`] if the system cannot
/// bypass its cache; otherwise the operating system's error.
pub fn create_own(path: &Path, direct: bool) -> io::Result<File> {
    system::create_own(path, direct)
}

/// Creates an empty file in memory that vanishes when it is closed. `name` is visible to users who inspect the process.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if the system does not support such files.
pub fn in_memory(name: &str) -> io::Result<File> {
    system::in_memory(name)
}

/// Creates an unnamed empty file in `directory` that vanishes when it is closed, for this user
/// only.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if the file system has no unnamed
/// files.
pub fn without_name(directory: &Path) -> io::Result<File> {
    system::without_name(directory)
}

/// Opens the same file again for reading and writing, bypassing the page cache. The file need not have a name.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if the system cannot reopen a file.
pub fn reopen_direct(file: &File) -> io::Result<File> {
    system::reopen_direct(file)
}

/// The current path of an open file, however it was opened.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if the system does not report the path.
pub fn path_of(file: &File) -> io::Result<PathBuf> {
    system::path_of(file)
}

/// Number of names (hard links) of an open file.
///
/// # Errors
/// The operating system's error.
pub fn names_of(file: &File) -> io::Result<u64> {
    system::names_of(file)
}

/// Reads at `offset` and returns the number of bytes read, which is smaller than `buf` at the end
/// of the file.
///
/// # Errors
/// The operating system's error.
pub fn read_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    system::read_at(file, buf, offset)
}

/// Fills `buf` with the data at `offset`.
///
/// # Errors
/// `UnexpectedEof` if the file ends before `buf` is full; otherwise the operating system's error.
pub fn read_exact_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    system::read_exact_at(file, buf, offset)
}

/// Writes at `offset` and returns the number of bytes written, which is smaller than `data` if
/// there is no space for more.
///
/// # Errors
/// The operating system's error.
pub fn write_at(file: &File, data: &[u8], offset: u64) -> io::Result<usize> {
    system::write_at(file, data, offset)
}

/// Writes all of `data` at `offset`.
///
/// # Errors
/// The operating system's error.
pub fn write_all_at(file: &File, data: &[u8], offset: u64) -> io::Result<()> {
    system::write_all_at(file, data, offset)
}

/// Gives a new file the permissions and the modification time of `old` and, if this user is root, its owner and
/// group. Set-user-ID and set-group-ID are not passed on.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if the operating system has no such
/// permissions.
pub fn take_after(new: &File, old: &File) -> io::Result<()> {
    system::take_after(new, old)
}

/// The name with these bytes, on systems where names are bytes.
pub fn name_of_bytes(bytes: Vec<u8>) -> OsString {
    system::name_of_bytes(bytes)
}

/// Advises the kernel to drop the clean pages of a file from the page cache; requires no privileges. This is only
/// advice: the kernel may ignore it without reporting so. No effect on systems that do not accept such advice.
pub fn forget(file: &File) {
    system::forget(file);
}

/// Like [`forget`], for the `len` bytes at `offset`; `len` is at least 1.
pub fn forget_range(file: &File, offset: u64, len: u64) {
    system::forget_range(file, offset, len);
}

/// Writes the data of an open file back to the device; the file may be open for reading or writing.
///
/// # Errors
/// The operating system's error.
pub fn write_back(file: &File) -> io::Result<()> {
    system::write_back(file)
}

/// Writes back all cached data of the file system of an open file or directory.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if the operating system cannot sync a single
/// file system.
pub fn sync_file_system(file: &File) -> io::Result<()> {
    system::sync_file_system(file)
}

/// Allocates space for `size` bytes now, and extends the file to at least that length.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if the file system cannot allocate
/// in advance.
pub fn allocate(file: &File, size: u64) -> io::Result<()> {
    system::allocate(file, size)
}

/// Like [`allocate`]; if the file system cannot allocate in advance, only sets the length.
///
/// # Errors
/// The operating system's error.
pub fn allocate_or_extend(file: &File, size: u64) -> io::Result<()> {
    system::allocate_or_extend(file, size)
}

/// Allocates the bytes of `part`, and extends the file at least to the end of `part`; if the file system cannot
/// allocate in advance, only sets the length.
///
/// # Errors
/// The operating system's error.
pub fn allocate_part(file: &File, part: Range<u64>) -> io::Result<()> {
    system::allocate_part(file, part)
}

/// Makes the requests to a file bypass or use the page cache. Returns the same file if the system can change this for
/// an open file (Linux). Otherwise returns a second file and leaves the first unchanged.
///
/// # Errors
/// The operating system's error, for example if the file system has no direct I/O.
pub fn with_direct(file: &Arc<File>, direct: bool) -> io::Result<Arc<File>> {
    system::with_direct(file, direct)
}

/// A file from which nothing can be read.
///
/// # Errors
/// The operating system's error.
pub fn nowhere() -> io::Result<File> {
    system::nowhere()
}

/// Whether this user owns the file and nobody else can have written to it.
pub fn is_own_alone(file: &File) -> bool {
    system::is_own_alone(file)
}

/// Whether an error means that the server of a file system is gone, in which case the stored data need not be lost.
pub fn server_is_gone(error: &io::Error) -> bool {
    system::server_is_gone(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_and_written_where_they_lie() {
        let file = tempfile::tempfile().unwrap();
        write_all_at(&file, b"0123456", 5).unwrap();
        assert_eq!(write_at(&file, b"789", 12).unwrap(), 3);
        let mut buf = [0; 4];
        read_exact_at(&file, &mut buf, 11).unwrap();
        assert_eq!(&buf, b"6789");
        assert_eq!(read_at(&file, &mut buf, 13).unwrap(), 2);
        assert_eq!(read_at(&file, &mut buf, 15).unwrap(), 0);
        let error = read_exact_at(&file, &mut buf, 13).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn room_is_taken_and_a_name_is_not_taken_twice() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = create_own(&path, false).unwrap();
        assert_eq!(create_own(&path, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        allocate_or_extend(&file, 8192).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 8192);
        let same = Opening::to_read().without_waiting().open(&path).unwrap();
        assert_eq!(same.metadata().unwrap().len(), 8192);
        assert!(write_all_at(&same, b"x", 0).is_err(), "it was opened for reading only");
    }
}
