//! Storage as /proc and /sys show it.

mod block;
mod fuse;
mod mounts;

use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxFlags, major, minor, statx};

pub use self::block::{Node, Tree, Untold};
pub(crate) use self::fuse::serving;
use crate::storage::{Mount, Space};

/// Every mount, the latest last.
///
/// # Errors
/// If /proc is not there.
pub fn mounts() -> io::Result<Vec<Mount>> {
    Ok(mounts::parse(&std::fs::read("/proc/self/mountinfo")?))
}

/// The room of the file system that `path` lies on.
///
/// # Errors
/// What statvfs(3) says.
pub fn space(path: &Path) -> io::Result<Space> {
    let space = rustix::fs::statvfs(path)?;
    Ok(Space { free: space.f_bavail * space.f_frsize, size: space.f_blocks * space.f_frsize })
}

pub(crate) fn number_in_words(number: u64) -> String {
    format!("{}:{}", major(number), minor(number))
}

/// By statx(2), `STATX_ATTR_ENCRYPTED`.
pub(crate) fn is_encrypted(directory: &Path) -> bool {
    const ENCRYPTED: u64 = 0x800;
    statx(CWD, directory, AtFlags::empty(), StatxFlags::BASIC_STATS)
        .is_ok_and(|found| found.stx_attributes.bits() & ENCRYPTED != 0)
}
