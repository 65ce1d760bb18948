//! Other operating systems: files through the page cache, and ordinary memory.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fs::{File, FileType};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use crate::IoMode;

/// Opens a file for reading, and for writing if `write`.
pub(crate) fn open_without_waiting(path: &Path, write: bool) -> io::Result<File> {
    File::options().read(true).write(write).open(path)
}

pub(crate) fn is_block_device(_kind: FileType) -> bool {
    false
}

/// Refuses modes that bypass the page cache.
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

/// Held from setting a file's position to using it, because all handles of an open file share the
/// position.
static POSITION: Mutex<()> = Mutex::new(());

pub(crate) fn read_exact_at(mut file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    let _position = POSITION.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(buf)
}

pub(crate) fn write_all_at(mut file: &File, data: &[u8], offset: u64) -> io::Result<()> {
    let _position = POSITION.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(data)
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

/// Huge pages are not supported here.
pub(crate) fn huge_pages(_whole: usize) -> Option<NonNull<u8>> {
    None
}

/// Frees memory that [`pages`] allocated.
///
/// # Safety
/// `pages` allocated these `len` bytes, nobody has freed them, and nobody uses them any more.
pub(crate) unsafe fn give_back(start: NonNull<u8>, len: usize) {
    let Some(layout) = layout(len) else { return };
    // SAFETY: the caller's promise; the layout is the same.
    unsafe { dealloc(start.as_ptr(), layout) };
}

fn layout(len: usize) -> Option<Layout> {
    Layout::from_size_align(len, page_size()).ok()
}

/// Locking memory is not supported here.
pub(crate) fn lock(_start: *const u8, _len: usize) -> bool {
    false
}

/// Excluding memory from core dumps is not supported here.
pub(crate) fn keep_to_this_process(_start: NonNull<u8>, _len: usize) {}

pub(crate) fn on_huge_pages(_addresses: Range<usize>) -> usize {
    0
}

/// Size of a page in bytes.
pub(crate) fn page_size() -> usize {
    4096
}
