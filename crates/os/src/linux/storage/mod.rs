//! Storage as /proc and /sys show it.

mod block;
mod mounts;

use std::io;
use std::path::Path;

pub use self::block::{Node, Tree, Untold};
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
