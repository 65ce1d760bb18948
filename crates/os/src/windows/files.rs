//! Open files: positioned I/O, flags of CreateFile, and length.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::windows::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windows_sys::Win32::Storage::FileSystem as fs;

use super::call::{self, device, rights};
use crate::files::Opening;

/// Bypasses the file cache and the drive's cache, as O_DIRECT and a flush do on Linux.
const DIRECT: u32 = fs::FILE_FLAG_NO_BUFFERING | fs::FILE_FLAG_WRITE_THROUGH;

/// The name, as far as it is Unicode. A lone surrogate occurs only if it was created deliberately.
pub(crate) fn name_of_bytes(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

pub(crate) fn take_after(_new: &File, _old: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn open(how: Opening, path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(how.write);
    if how.direct {
        options.custom_flags(DIRECT);
    }
    if how.alone {
        options.share_mode(0);
    }
    options.open(path)
}

/// Opens a volume for its counters and properties, without reading it.
pub(super) fn open_volume(path: &Path) -> io::Result<File> {
    File::options().access_mode(0).open(path)
}

pub(crate) fn create_own(path: &Path, direct: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    if direct {
        options.custom_flags(DIRECT);
    }
    options.open(path)
}

pub(crate) fn in_memory(_name: &str) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A file with a random name that is deleted when its last handle is closed.
pub(crate) fn without_name(directory: &Path) -> io::Result<File> {
    let path = directory.join(crate::random_name(".cryptbench-")?);
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    options.custom_flags(fs::FILE_FLAG_DELETE_ON_CLOSE).open(path)
}

pub(crate) fn reopen_direct(file: &File) -> io::Result<File> {
    call::reopen(file, DIRECT)
}

/// Flags cannot be changed on an open file, so this is a second handle.
pub(crate) fn with_direct(file: &Arc<File>, direct: bool) -> io::Result<Arc<File>> {
    call::reopen(file, if direct { DIRECT } else { 0 }).map(Arc::new)
}

/// Another handle to an open file, for requests that do not wait. The requests bypass the cache if `direct` is set.
///
/// # Errors
/// The operating system's error.
pub fn reopen_overlapped(file: &File, direct: bool) -> io::Result<File> {
    call::reopen(file, fs::FILE_FLAG_OVERLAPPED | if direct { DIRECT } else { 0 })
}

/// Unbuffered requests must be multiples of this many bytes; `None` if Windows does not report it.
pub fn direct_unit(file: &File) -> Option<u64> {
    device::sectors(file).ok().map(|found| u64::from(found.logical))
}

/// Opens the null device: written data is discarded.
pub(crate) fn nowhere() -> io::Result<File> {
    File::open("NUL")
}

pub(crate) fn path_of(file: &File) -> io::Result<PathBuf> {
    call::path_of(file).map(|path| super::dirs::plain(&path))
}

pub(crate) fn names_of(file: &File) -> io::Result<u64> {
    call::information(file).map(|found| found.names)
}

pub(crate) fn read_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buf, offset)
}

pub(crate) fn read_exact_at(file: &File, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buf.is_empty() {
        match file.seek_read(buf, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(got) => {
                buf = &mut buf[got..];
                offset += got as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

pub(crate) fn write_at(file: &File, data: &[u8], offset: u64) -> io::Result<usize> {
    file.seek_write(data, offset)
}

pub(crate) fn write_all_at(file: &File, mut data: &[u8], mut offset: u64) -> io::Result<()> {
    while !data.is_empty() {
        match file.seek_write(data, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(put) => {
                data = &data[put..];
                offset += put as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Windows accepts no caching advice for individual files; reading through an unbuffered handle drops the cache.
pub(crate) fn forget(_file: &File) {}

pub(crate) fn forget_range(_file: &File, _offset: u64, _len: u64) {}

/// Only a handle with write access can flush.
pub(crate) fn write_back(file: &File) -> io::Result<()> {
    file.sync_data().or_else(|_| call::reopen(file, 0)?.sync_data())
}

/// Only an administrator can flush a volume.
pub(crate) fn sync_file_system(file: &File) -> io::Result<()> {
    flush_volume(&path_of(file)?)
}

/// Flushes the volume that contains `path`.
pub(super) fn flush_volume(path: &Path) -> io::Result<()> {
    let root = call::volume_root(path)?.display().to_string();
    let device = format!(r"\\.\{}", root.trim_end_matches('\\'));
    File::options().write(true).open(device)?.sync_all()
}

/// Windows allocates space when it extends a file, and reports an error if there is not enough space. Unwritten parts
/// read as zeros without access to the disk, so the file must be filled before a measurement.
pub(crate) fn allocate(file: &File, size: u64) -> io::Result<()> {
    allocate_or_extend(file, size)
}

pub(crate) fn allocate_or_extend(file: &File, size: u64) -> io::Result<()> {
    match file.metadata()?.len() < size {
        true => file.set_len(size),
        false => Ok(()),
    }
}

pub(crate) fn allocate_part(file: &File, part: std::ops::Range<u64>) -> io::Result<()> {
    allocate_or_extend(file, part.end)
}

pub(crate) fn server_is_gone(_error: &io::Error) -> bool {
    false
}

/// Determined by the file's owner and its access list.
pub(crate) fn is_own_alone(file: &File) -> bool {
    let rights = rights::user().and_then(|user| Ok((rights::rights(file)?, user)));
    rights.is_ok_and(|(rights, user)| rights.are_of(&user))
}
