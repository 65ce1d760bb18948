//! Open files with the standard library: with a single position, and through the cache.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::files::Opening;

pub(crate) fn open(how: Opening, path: &Path) -> io::Result<File> {
    if how.direct || how.alone {
        return Err(io::ErrorKind::Unsupported.into());
    }
    File::options().read(true).write(how.write).open(path)
}

pub(crate) fn create_own(path: &Path, direct: bool) -> io::Result<File> {
    match direct {
        true => Err(io::ErrorKind::Unsupported.into()),
        false => File::options().read(true).write(true).create_new(true).open(path),
    }
}

pub(crate) fn in_memory(_name: &str) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn without_name(_directory: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn reopen_direct(_file: &File) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn path_of(_file: &File) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Held while a file's position is set and used, because all handles of an open file share it.
static POSITION: Mutex<()> = Mutex::new(());

fn position(mut file: &File, offset: u64) -> io::Result<MutexGuard<'static, ()>> {
    let held = POSITION.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(offset))?;
    Ok(held)
}

pub(crate) fn read_at(mut file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    let _position = position(file, offset)?;
    file.read(buf)
}

pub(crate) fn read_exact_at(mut file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    let _position = position(file, offset)?;
    file.read_exact(buf)
}

pub(crate) fn write_at(mut file: &File, data: &[u8], offset: u64) -> io::Result<usize> {
    let _position = position(file, offset)?;
    file.write(data)
}

pub(crate) fn write_all_at(mut file: &File, data: &[u8], offset: u64) -> io::Result<()> {
    let _position = position(file, offset)?;
    file.write_all(data)
}

pub(crate) fn forget(_file: &File) {}

pub(crate) fn forget_range(_file: &File, _offset: u64, _len: u64) {}

pub(crate) fn sync_file_system(_file: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn allocate(_file: &File, _size: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn allocate_or_extend(file: &File, size: u64) -> io::Result<()> {
    file.set_len(size)
}

pub(crate) fn server_is_gone(_error: &io::Error) -> bool {
    false
}
