//! A file or a disk as a block device, with or without the page cache.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use crate::device::{BlockDevice, check_request};
use crate::io_target::{Extent, IoMode, IoTarget};
use crate::{AlignedBuf, system};

/// A regular file or a block special file.
pub struct FileDevice {
    file: Arc<File>,
    size: u64,
    /// Bytes after the last whole sector.
    rest: usize,
    sector: usize,
    mode: IoMode,
    read_only: bool,
}

impl FileDevice {
    /// Opens `path`. In [`IoMode::Direct`] requests bypass the page cache. Their buffers need not be aligned, but
    /// unaligned data is copied.
    ///
    /// # Errors
    /// The operating system's error; [`io::ErrorKind::InvalidInput`] if `path` is neither a file nor a block device,
    /// or if its file system does not support direct I/O.
    pub fn open(path: &Path, mode: IoMode, read_only: bool) -> io::Result<Self> {
        Self::from_file(system::open_without_waiting(path, !read_only)?, mode, read_only)
    }

    /// Like [`open`](Self::open), for a file that is already open for reading and, unless `read_only`, for writing. The
    /// device uses this file even if its name now refers to another file. The mode and the wait for completion are set
    /// on the open file description, so they affect all of its descriptors.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_file(mut file: File, mode: IoMode, read_only: bool) -> io::Result<Self> {
        let kind = file.metadata()?.file_type();
        if !kind.is_file() && !system::is_block_device(kind) {
            let reason = "neither a regular file nor a block device";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        system::set_mode(&file, mode)?;
        let sector = match mode {
            IoMode::Buffered => 512,
            IoMode::Direct => system::direct_sector(&file)?.unwrap_or(AlignedBuf::ALIGN),
        };
        let size = file.seek(SeekFrom::End(0))?;
        // Volumes do not use a partial sector at the end.
        let rest = (size % sector as u64) as usize;
        Ok(Self { file: Arc::new(file), size: size - rest as u64, rest, sector, mode, read_only })
    }

    fn must_copy(&self, memory: *const u8) -> bool {
        self.mode == IoMode::Direct && memory.align_offset(self.sector) != 0
    }
}

/// Logical sector size of the open disk, in bytes; `None` for a regular file.
pub fn disk_sector(file: &File) -> Option<u32> {
    let kind = file.metadata().ok()?.file_type();
    system::is_block_device(kind).then(|| system::logical_sector(file).ok()).flatten()
}

impl BlockDevice for FileDevice {
    fn size(&self) -> u64 {
        self.size
    }

    fn sector(&self) -> usize {
        self.sector
    }

    fn rest(&self) -> Vec<u8> {
        if self.rest == 0 {
            return Vec::new();
        }
        // Direct I/O reads only whole sectors; a read at the end of the file is truncated there.
        let mut last = AlignedBuf::zeroed(self.sector);
        match system::read_once_at(&self.file, &mut last, self.size) {
            Ok(got) if got >= self.rest => last[..self.rest].to_vec(),
            _ => Vec::new(),
        }
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        check_request(self, offset, buf.len())?;
        if buf.is_empty() {
            return Ok(());
        }
        if self.must_copy(buf.as_ptr()) {
            let mut aligned = AlignedBuf::zeroed(buf.len());
            system::read_exact_at(&self.file, &mut aligned, offset)?;
            buf.copy_from_slice(&aligned);
            return Ok(());
        }
        system::read_exact_at(&self.file, buf, offset)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        check_request(self, offset, data.len())?;
        if self.read_only {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if data.is_empty() {
            return Ok(());
        }
        if self.must_copy(data.as_ptr()) {
            let mut aligned = AlignedBuf::zeroed(data.len());
            aligned.copy_from_slice(data);
            return system::write_all_at(&self.file, &aligned, offset);
        }
        system::write_all_at(&self.file, data, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn discard(&self, offset: u64, len: u64) -> io::Result<()> {
        check_request(self, offset, usize::try_from(len).map_err(io::Error::other)?)?;
        if self.read_only {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        system::punch_hole(&self.file, offset, len)
    }

    fn discard_zeroes(&self) -> bool {
        // A hole reads as zeros, also on a block device.
        true
    }

    fn io_target(&self) -> Option<IoTarget> {
        Some(IoTarget {
            file: Arc::clone(&self.file),
            extent: Extent { offset: 0, len: self.size },
            mode: self.mode,
            transform: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_wrote_directly_and_through_the_cache() {
        let dir = tempfile::tempdir_in(".").unwrap();
        let path = dir.path().join("device");
        std::fs::write(&path, vec![5; 3 * 4096 + 100]).unwrap();
        for mode in [IoMode::Buffered, IoMode::Direct] {
            let device = match FileDevice::open(&path, mode, false) {
                Err(error) if mode == IoMode::Direct => {
                    eprintln!("SKIPPED: no direct I/O here: {error}");
                    continue;
                }
                other => other.unwrap(),
            };
            assert!(device.size() == 3 * 4096 || device.sector() == 512);
            // Memory off every alignment, and on it.
            let mut memory = vec![0; 2 * 4096 + 1];
            memory[1..].iter_mut().enumerate().for_each(|(i, b)| *b = (i / 3) as u8);
            device.write_at(4096, &memory[1..]).unwrap();
            device.flush().unwrap();
            let mut aligned = AlignedBuf::zeroed(2 * 4096);
            device.read_at(4096, &mut aligned).unwrap();
            assert!(aligned[..] == memory[1..]);
            assert!(device.read_at(4096 * 3, &mut aligned).is_err());
            assert_eq!(device.rest(), [5; 100]);
            if cfg!(target_os = "linux") {
                device.discard(4096, 4096).unwrap();
            }
        }
        let device = FileDevice::open(&path, IoMode::Buffered, true).unwrap();
        let refused = device.write_at(0, &[0; 512]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert!(FileDevice::open(dir.path(), IoMode::Buffered, true).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_disk_has_the_sectors_that_the_kernel_tells() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(disk_sector(&tempfile::tempfile_in(&dir).unwrap()), None);
        let mut checked = 0;
        for entry in std::fs::read_dir("/sys/block").into_iter().flatten().flatten() {
            let told = std::fs::read_to_string(entry.path().join("queue/logical_block_size"));
            let disk = File::open(Path::new("/dev").join(entry.file_name()));
            if let (Ok(told), Ok(disk)) = (told, disk) {
                assert_eq!(disk_sector(&disk), told.trim().parse().ok(), "{:?}", entry.file_name());
                checked += 1;
            }
        }
        if checked == 0 {
            eprintln!("SKIPPED: no disk that this user may open");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn opening_a_file_for_direct_requests_empties_its_cache() {
        let dir = tempfile::tempdir_in(".").unwrap();
        let path = dir.path().join("device");
        std::fs::write(&path, [1; 16 * 4096]).unwrap();
        let file = File::open(&path).unwrap();
        file.sync_data().unwrap();
        let cached = || crate::cached_share(&file, 0..16 * 4096);
        if cached() != Some(1.0) {
            eprintln!("SKIPPED: this kernel has no cachestat(2)");
            return;
        }
        drop(FileDevice::open(&path, IoMode::Buffered, true).unwrap());
        assert_eq!(cached(), Some(1.0));
        if let Err(error) = FileDevice::open(&path, IoMode::Direct, true) {
            eprintln!("SKIPPED: no direct I/O here: {error}");
            return;
        }
        assert_eq!(cached(), Some(0.0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_open_file_stays_the_one_that_is_used() {
        use rustix::fs::OFlags;
        let dir = tempfile::tempdir_in(".").unwrap();
        let (path, other) = (dir.path().join("device"), dir.path().join("other"));
        std::fs::write(&path, [1; 4096]).unwrap();
        std::fs::write(&other, [2; 8192]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        std::fs::rename(&other, &path).unwrap();
        for mode in [IoMode::Direct, IoMode::Buffered] {
            let device = match FileDevice::from_file(file.try_clone().unwrap(), mode, false) {
                Err(error) if mode == IoMode::Direct => {
                    eprintln!("SKIPPED: no direct I/O here: {error}");
                    continue;
                }
                other => other.unwrap(),
            };
            let direct = rustix::fs::fcntl_getfl(&file).unwrap().contains(OFlags::DIRECT);
            assert_eq!((device.size(), direct), (4096, mode == IoMode::Direct));
            let mut block = AlignedBuf::zeroed(4096);
            device.read_at(0, &mut block).unwrap();
            assert_eq!(block[..], [1; 4096]);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_has_no_sectors_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), dir.path()] {
            let refused = FileDevice::open(path, IoMode::Buffered, true).err().unwrap();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{}", path.display());
        }
    }
}
