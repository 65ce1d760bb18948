//! Windows: files through the system's cache, and memory that is kept out of the page file.
#![expect(clippy::disallowed_methods, reason = "the same on Windows")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fs::{File, FileType};
use std::io;
use std::ops::Range;
use std::os::windows::fs::FileExt as _;
use std::path::Path;
use std::ptr::NonNull;

use windows_sys::Win32::System::Memory::VirtualLock;

use crate::IoMode;

/// Opens a file for reading and, if `write` is set, for writing.
pub(crate) fn open_without_waiting(path: &Path, write: bool) -> io::Result<File> {
    File::options().read(true).write(write).open(path)
}

pub(crate) fn is_block_device(_kind: FileType) -> bool {
    false
}

/// Rejects modes that bypass the cache: on Windows, such modes must be set when the file is opened
/// (`cryptbench_os::files`).
pub(crate) fn set_mode(_file: &File, mode: IoMode) -> io::Result<()> {
    match mode {
        IoMode::Buffered => Ok(()),
        IoMode::Direct => Err(io::ErrorKind::Unsupported.into()),
    }
}

pub(crate) fn mark_if_in_memory(_file: &File) -> bool {
    false
}

pub(crate) fn direct_sector(_file: &File) -> io::Result<Option<usize>> {
    Ok(None)
}

/// Disks are never opened as files on Windows.
pub(crate) fn logical_sector(_disk: &File) -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn read_exact_at(file: &File, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buf.is_empty() {
        let got = file.seek_read(buf, offset)?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buf = &mut buf[got..];
        offset += got as u64;
    }
    Ok(())
}

pub(crate) fn read_once_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buf, offset)
}

pub(crate) fn write_all_at(file: &File, mut data: &[u8], mut offset: u64) -> io::Result<()> {
    while !data.is_empty() {
        let put = file.seek_write(data, offset)?;
        if put == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        data = &data[put..];
        offset += put as u64;
    }
    Ok(())
}

pub(crate) fn punch_hole(_file: &File, _offset: u64, _len: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn cached_pages(_file: &File, _range: Range<u64>) -> Option<u64> {
    None
}

/// Allocates `len` zeroed bytes, at least 1.
pub(crate) fn pages(len: usize) -> Option<NonNull<u8>> {
    if len == 0 {
        return None;
    }
    // SAFETY: the layout has a non-zero size.
    NonNull::new(unsafe { alloc_zeroed(layout(len)?) })
}

/// Huge pages are not supported on Windows.
pub(crate) fn huge_pages(_whole: usize) -> Option<NonNull<u8>> {
    None
}

/// Frees memory that [`pages`] allocated.
///
/// # Safety
/// `pages` allocated these `len` bytes, they have not been freed, and nothing uses them any more.
pub(crate) unsafe fn give_back(start: NonNull<u8>, len: usize) {
    let Some(layout) = layout(len) else { return };
    // SAFETY: the caller guarantees this; the layout is that of the allocation.
    unsafe { dealloc(start.as_ptr(), layout) };
}

fn layout(len: usize) -> Option<Layout> {
    Layout::from_size_align(len, page_size()).ok()
}

/// Keeps memory out of the page file, as far as the working set of this process allows.
pub(crate) fn lock(start: *const u8, len: usize) -> bool {
    // SAFETY: the call does not read or write memory; for unmapped pages it returns an error.
    unsafe { VirtualLock(start.cast(), len) != 0 }
}

/// Windows does not write process dumps unless an administrator requests them.
pub(crate) fn keep_to_this_process(_start: NonNull<u8>, _len: usize) {}

pub(crate) fn on_huge_pages(_addresses: Range<usize>) -> usize {
    0
}

/// Size of a page in bytes.
pub(crate) fn page_size() -> usize {
    4096
}
