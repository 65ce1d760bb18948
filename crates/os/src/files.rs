//! Open files: positions, caches, room; and files that are opened or made in ways of their own.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::system::files as system;

/// How a file or a device that is there already is opened; always to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    pub(crate) write: bool,
    pub(crate) direct: bool,
    pub(crate) alone: bool,
    pub(crate) without_waiting: bool,
}

impl Opening {
    /// To be read alone.
    #[must_use]
    pub fn to_read() -> Self {
        Self::default()
    }

    /// To be read and written.
    #[must_use]
    pub fn to_write() -> Self {
        Self { write: true, ..Self::default() }
    }

    /// Past the page cache (Linux: `O_DIRECT`), if `direct`.
    #[must_use]
    pub fn direct(self, direct: bool) -> Self {
        Self { direct, ..self }
    }

    /// A block device for this open file alone, if `alone`: refused if anything in the kernel has claimed it, a partition
    /// of it included, and kept from others for as long as it is open.
    #[must_use]
    pub fn alone(self, alone: bool) -> Self {
        Self { alone, ..self }
    }

    /// Without waiting for whoever has the other end of a pipe, and without making a terminal this process's own. Reading
    /// does not wait then either.
    #[must_use]
    pub fn without_waiting(self) -> Self {
        Self { without_waiting: true, ..self }
    }

    /// Opens it.
    ///
    /// # Errors
    /// What the system says: `ResourceBusy` for a device that is claimed. [`io::ErrorKind::Unsupported`] where the system
    /// has no such way.
    pub fn open(self, path: &Path) -> io::Result<File> {
        system::open(self, path)
    }
}

/// Makes a new file that this user alone may use, past the page cache if `direct`, and opens it to be read and written.
///
/// # Errors
/// `AlreadyExists` if the name is taken, by whatever; [`io::ErrorKind::Unsupported`] where the system has no way past its
/// cache; else what the system says.
pub fn create_own(path: &Path, direct: bool) -> io::Result<File> {
    system::create_own(path, direct)
}

/// An empty file in memory, which is gone once it is closed. `name` is for those who look at the process.
///
/// # Errors
/// What the system says; [`io::ErrorKind::Unsupported`] where it has none.
pub fn in_memory(name: &str) -> io::Result<File> {
    system::in_memory(name)
}

/// An empty file in `directory` that has no name and is gone once it is closed, for this user alone.
///
/// # Errors
/// What the system says; [`io::ErrorKind::Unsupported`] where the file system has none.
pub fn without_name(directory: &Path) -> io::Result<File> {
    system::without_name(directory)
}

/// The same file opened once more, to be read and written past the page cache, whether or not it has a name.
///
/// # Errors
/// What the system says; [`io::ErrorKind::Unsupported`] where it has no such way.
pub fn reopen_direct(file: &File) -> io::Result<File> {
    system::reopen_direct(file)
}

/// The path by which the system knows an open file now, whatever way it was reached.
///
/// # Errors
/// What the system says; [`io::ErrorKind::Unsupported`] where it does not tell.
pub fn path_of(file: &File) -> io::Result<PathBuf> {
    system::path_of(file)
}

/// Reads what lies at `offset`, and returns how many bytes came: fewer than asked for at the end of the file.
///
/// # Errors
/// What the system says.
pub fn read_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    system::read_at(file, buf, offset)
}

/// Fills `buf` with what lies at `offset`.
///
/// # Errors
/// `UnexpectedEof` if the file ends before; else what the system says.
pub fn read_exact_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    system::read_exact_at(file, buf, offset)
}

/// Writes at `offset`, and returns how many bytes were taken: fewer than given where there is no room for more.
///
/// # Errors
/// What the system says.
pub fn write_at(file: &File, data: &[u8], offset: u64) -> io::Result<usize> {
    system::write_at(file, data, offset)
}

/// Writes all of `data` at `offset`.
///
/// # Errors
/// What the system says.
pub fn write_all_at(file: &File, data: &[u8], offset: u64) -> io::Result<()> {
    system::write_all_at(file, data, offset)
}

/// Asks that the clean pages of a file leave the page cache; it takes no privilege. Advice: nothing tells whether it is
/// followed, and where the system takes none, it is not.
pub fn forget(file: &File) {
    system::forget(file);
}

/// The same of the `len` bytes at `offset`, at least 1.
pub fn forget_range(file: &File, offset: u64, len: u64) {
    system::forget_range(file, offset, len);
}

/// Writes back all that the file system of an open file or directory still holds in memory, of whatever file.
///
/// # Errors
/// What the system says; [`io::ErrorKind::Unsupported`] where it cannot be asked of one file system.
pub fn sync_file_system(file: &File) -> io::Result<()> {
    system::sync_file_system(file)
}

/// Takes the room for `size` bytes now, and makes the file at least so long.
///
/// # Errors
/// What the system says; [`io::ErrorKind::Unsupported`] where the file system cannot.
pub fn allocate(file: &File, size: u64) -> io::Result<()> {
    system::allocate(file, size)
}

/// The same; where the file system cannot take room before it is written to, the file gets its length alone.
///
/// # Errors
/// What the system says.
pub fn allocate_or_extend(file: &File, size: u64) -> io::Result<()> {
    system::allocate_or_extend(file, size)
}

/// Whether an error says that the server of a file system is gone: nothing of what is stored there.
#[must_use]
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
        assert!(write_all_at(&same, b"x", 0).is_err(), "it was opened to be read");
    }
}
