//! Storage as shown in /proc and /sys.

mod block;
mod fuse;
mod kind;
pub(super) mod mounts;

use std::io;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, IFlags, Mode, OFlags, StatxFlags, ioctl_getflags, major, minor, open, statx,
};

pub(crate) use self::block::untold;
pub use self::block::{Node, Tree};
pub(crate) use self::fuse::serving;
use crate::storage::{Mount, Space};

/// All mounts, the latest last.
///
/// # Errors
/// If /proc is not available.
pub fn mounts() -> io::Result<Vec<Mount>> {
    Ok(mounts::parse(&std::fs::read("/proc/self/mountinfo")?))
}

/// The size and the free space of the file system that contains `path`.
///
/// # Errors
/// The error of statvfs(3).
pub fn space(path: &Path) -> io::Result<Space> {
    let space = rustix::fs::statvfs(path)?;
    Ok(Space { free: space.f_bavail * space.f_frsize, size: space.f_blocks * space.f_frsize })
}

pub(crate) fn number_of(path: &Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(std::fs::metadata(path)?.dev())
}

pub(crate) fn number_in_words(number: u64) -> String {
    format!("{}:{}", major(number), minor(number))
}

/// On Linux, a device is also a file, whose metadata shows its kind.
pub(crate) fn refused_by_name(_: &Path) -> Option<&'static str> {
    None
}

/// Uses statx(2), `STATX_ATTR_ENCRYPTED`.
pub(crate) fn is_encrypted(directory: &Path) -> bool {
    const ENCRYPTED: u64 = 0x800;
    has_attribute(directory, ENCRYPTED)
}

pub(crate) fn is_compressed(directory: &Path) -> bool {
    const COMPRESSED: u64 = 0x4;
    has_attribute(directory, COMPRESSED)
}

pub(crate) fn is_overwritten_in_place(directory: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(directory) = open(directory, flags, Mode::empty()) else { return false };
    ioctl_getflags(&directory).is_ok_and(|flags| flags.contains(IFlags::NOCOW))
}

fn has_attribute(directory: &Path, attribute: u64) -> bool {
    statx(CWD, directory, AtFlags::empty(), StatxFlags::BASIC_STATS)
        .is_ok_and(|found| found.stx_attributes.bits() & attribute != 0)
}
