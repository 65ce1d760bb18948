//! Files with and without the page cache, and holes in files.
#![expect(
    clippy::disallowed_methods,
    reason = "volumes and targets, checked by those who name them"
)]

use std::fs::{File, FileType};
use std::io;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{Advice, AtFlags, FallocateFlags, OFlags, StatxFlags};

use crate::IoMode;

/// Opens a file for reading and, if `write` is set, for writing. For a pipe, does not wait for the other end.
pub(crate) fn open_without_waiting(path: &Path, write: bool) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    File::options().read(true).write(write).custom_flags(flags.bits() as i32).open(path)
}

pub(crate) fn is_block_device(kind: FileType) -> bool {
    kind.is_block_device()
}

/// Sets the mode of an open file and makes its requests blocking. For direct I/O the file's clean pages are dropped
/// from the page cache.
pub(crate) fn set_mode(file: &File, mode: IoMode) -> io::Result<()> {
    let mut flags = rustix::fs::fcntl_getfl(file)?.difference(OFlags::NONBLOCK);
    flags.set(OFlags::DIRECT, mode == IoMode::Direct);
    rustix::fs::fcntl_setfl(file, flags)?;
    if mode == IoMode::Direct {
        // A direct write must first remove its range from the page cache, and io_uring passes each such write to a
        // worker thread (kiocb_invalidate_pages in the kernel's mm/filemap.c). If the cache is empty, this is avoided.
        let _ = rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
    }
    Ok(())
}

/// TMPFS_MAGIC of linux/magic.h.
const TMPFS: u64 = 0x0102_1994;

/// Marks a file on tmpfs as non-blocking; returns false for any other file.
pub(crate) fn mark_if_in_memory(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|fs| fs.f_type as u64 == TMPFS)
        && rustix::fs::fcntl_getfl(file)
            .and_then(|flags| rustix::fs::fcntl_setfl(file, flags | OFlags::NONBLOCK))
            .is_ok()
}

/// The unit of direct I/O in bytes; `None` if the kernel does not report it.
pub(crate) fn direct_sector(file: &File) -> io::Result<Option<usize>> {
    let stat = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)?;
    let told = stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    Ok(told.then(|| (stat.stx_dio_offset_align.max(stat.stx_dio_mem_align) as usize).max(512)))
}

/// Logical sector size of an open disk, in bytes.
pub(crate) fn logical_sector(disk: &File) -> io::Result<u32> {
    Ok(rustix::fs::ioctl_blksszget(disk)?)
}

pub(crate) fn read_exact_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(buf, offset)
}

/// Reads once. Fewer bytes than requested are read only at the end of the file.
pub(crate) fn read_once_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buf, offset)
}

pub(crate) fn write_all_at(file: &File, data: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(data, offset)
}

/// Frees the space of a range, which then reads as zeros (fallocate(2)).
pub(crate) fn punch_hole(file: &File, offset: u64, len: u64) -> io::Result<()> {
    // On a block device, the kernel turns this call into a discard (block/fops.c, blkdev_fallocate).
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(file, flags, offset, len)?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn files_in_memory_are_told_from_others() {
        let disk = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        assert!(!super::mark_if_in_memory(&disk));
        match tempfile::tempfile_in("/dev/shm") {
            Ok(memory) => assert!(super::mark_if_in_memory(&memory)),
            Err(e) => eprintln!("SKIPPED: no file in /dev/shm: {e}"),
        }
    }
}
