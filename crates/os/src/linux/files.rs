//! Open files: pread(2) and similar, page cache advice, allocation, and flags of open(2).

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    Advice, FallocateFlags, Gid, MemfdFlags, Mode, OFlags, Timespec, Timestamps, Uid, fadvise,
    fallocate, fchmod, fchown, fcntl_getfl, fcntl_setfl, fstat, futimens,
};
use rustix::io::Errno;

use crate::files::Opening;

/// Permission bits that let others write.
const OTHERS: u32 = 0o022;

/// The kernel's errors for a file whose server is gone.
const SERVER_GONE: [Errno; 3] = [Errno::NOTCONN, Errno::CONNABORTED, Errno::CANCELED];

/// The name with these bytes.
pub(crate) fn name_of_bytes(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

pub(crate) fn open(how: Opening, path: &Path) -> io::Result<File> {
    let mut flags = OFlags::empty();
    flags.set(OFlags::DIRECT, how.direct);
    // On a block device, O_EXCL fails if anything in the kernel has claimed the device (open(2)).
    flags.set(OFlags::EXCL, how.alone);
    flags.set(OFlags::NONBLOCK | OFlags::NOCTTY, how.without_waiting);
    File::options().read(true).write(how.write).custom_flags(custom(flags)).open(path)
}

pub(crate) fn create_own(path: &Path, direct: bool) -> io::Result<File> {
    let mut flags = OFlags::empty();
    flags.set(OFlags::DIRECT, direct);
    let mut options = File::options();
    options.read(true).write(true).create_new(true).mode(0o600);
    options.custom_flags(custom(flags)).open(path)
}

fn custom(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

pub(crate) fn in_memory(name: &str) -> io::Result<File> {
    Ok(rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?.into())
}

pub(crate) fn without_name(directory: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR)?.into())
}

pub(crate) fn reopen_direct(file: &File) -> io::Result<File> {
    open(Opening::to_write().direct(true), &by_descriptor(file))
}

pub(crate) fn path_of(file: &File) -> io::Result<PathBuf> {
    std::fs::read_link(by_descriptor(file))
}

/// The path by which the kernel reaches an open file.
fn by_descriptor(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

pub(crate) fn names_of(file: &File) -> io::Result<u64> {
    file.metadata().map(|found| found.nlink())
}

pub(crate) fn read_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buf, offset)
}

pub(crate) fn read_exact_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(buf, offset)
}

pub(crate) fn write_at(file: &File, data: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(data, offset)
}

pub(crate) fn write_all_at(file: &File, data: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(data, offset)
}

/// The permission bits that are passed on: all except set-user-ID, set-group-ID and the sticky bit.
const PASSED_ON: u32 = 0o777;

pub(crate) fn take_after(new: impl AsFd, old: impl AsFd) -> io::Result<()> {
    let found = fstat(&old)?;
    if super::user::is_root() {
        fchown(&new, Some(Uid::from_raw(found.st_uid)), Some(Gid::from_raw(found.st_gid)))?;
    }
    fchmod(&new, Mode::from_raw_mode(found.st_mode & PASSED_ON))?;
    let changed =
        Timespec { tv_sec: found.st_mtime, tv_nsec: found.st_mtime_nsec.cast_signed() as _ };
    let times = Timestamps { last_access: changed, last_modification: changed };
    Ok(futimens(&new, &times)?)
}

pub(crate) fn forget(file: &File) {
    // Drops all pages: length 0 means up to the end of the file.
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}

pub(crate) fn forget_range(file: &File, offset: u64, len: u64) {
    let _ = fadvise(file, offset, NonZeroU64::new(len), Advice::DontNeed);
}

pub(crate) fn write_back(file: &File) -> io::Result<()> {
    file.sync_data()
}

pub(crate) fn sync_file_system(file: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

pub(crate) fn allocate(file: &File, size: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::empty(), 0, size)?)
}

pub(crate) fn allocate_or_extend(file: &File, size: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, size) {
        Err(Errno::OPNOTSUPP) => file.set_len(size),
        other => Ok(other?),
    }
}

pub(crate) fn allocate_part(file: &File, part: Range<u64>) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), part.start, part.end - part.start) {
        Err(Errno::OPNOTSUPP) => file.set_len(part.end),
        other => Ok(other?),
    }
}

/// Sets or clears `O_DIRECT`; fails on a file system that does not support direct I/O.
pub(crate) fn with_direct(file: &Arc<File>, direct: bool) -> io::Result<Arc<File>> {
    let mut flags = fcntl_getfl(&**file)?;
    flags.set(OFlags::DIRECT, direct);
    fcntl_setfl(&**file, flags)?;
    Ok(Arc::clone(file))
}

pub(crate) fn nowhere() -> io::Result<File> {
    File::open("/dev/null")
}

pub(crate) fn is_own_alone(file: &File) -> bool {
    let ours = rustix::process::getuid().as_raw();
    file.metadata().is_ok_and(|found| found.uid() == ours && found.mode() & OTHERS == 0)
}

pub(crate) fn server_is_gone(error: &io::Error) -> bool {
    SERVER_GONE.iter().any(|gone| error.raw_os_error() == Some(gone.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_file_is_reached_without_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let file = create_own(&dir.path().join("file"), false).unwrap();
        let now = dir.path().canonicalize().unwrap().join("moved");
        std::fs::rename(dir.path().join("file"), &now).unwrap();
        assert_eq!(path_of(&file).unwrap(), now);
        let mode = fstat(&file).unwrap().st_mode;
        assert_eq!(mode & 0o7777, 0o600);
    }

    #[test]
    fn files_without_a_name_hold_what_others_do() {
        let dir = tempfile::tempdir().unwrap();
        for file in [in_memory("cryptbench-test"), without_name(dir.path())] {
            let file = file.unwrap();
            write_all_at(&file, b"kept", 0).unwrap();
            let mut buf = [0; 4];
            read_exact_at(&file, &mut buf, 0).unwrap();
            assert_eq!(&buf, b"kept");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_server_that_is_gone_is_told_from_other_failures() {
        assert!(server_is_gone(&Errno::NOTCONN.into()));
        assert!(!server_is_gone(&Errno::IO.into()));
    }
}
