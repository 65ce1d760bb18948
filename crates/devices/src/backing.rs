//! The storage behind an emulated device: memory, or an unnamed file that disappears when the process exits.

use std::fs::File;
use std::io;
use std::path::Path;

use cryptbench_blockdev::{BlockDevice, check_request};
use cryptbench_os::files;

/// Storage that no other process can reach by name, so that nothing is left behind, however the process exits.
pub struct Backing {
    file: File,
    size: u64,
}

impl Backing {
    /// `size` bytes of memory, allocated when they are first written.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn memory(size: u64) -> io::Result<Self> {
        Self::sized(files::in_memory("cryptbench-emulated")?, size)
    }

    /// An unnamed file of `size` bytes in `directory`, allocated immediately.
    ///
    /// # Errors
    /// The operating system's error; [`io::ErrorKind::Unsupported`] if the file system does not support unnamed
    /// files.
    pub fn file_in(directory: &Path, size: u64) -> io::Result<Self> {
        let backing = Self::sized(files::without_name(directory)?, size)?;
        files::allocate(&backing.file, size)?;
        Ok(backing)
    }

    fn sized(file: File, size: u64) -> io::Result<Self> {
        file.set_len(size)?;
        Ok(Self { file, size })
    }
}

impl BlockDevice for Backing {
    fn size(&self) -> u64 {
        self.size
    }

    fn sector(&self) -> usize {
        512
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        check_request(self, offset, buf.len())?;
        files::read_exact_at(&self.file, buf, offset)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        check_request(self, offset, data.len())?;
        files::write_all_at(&self.file, data, offset)
    }

    fn flush(&self) -> io::Result<()> {
        // The data does not need to outlive the process.
        Ok(())
    }
}
