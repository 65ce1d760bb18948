//! The list of mounts, in this crate's types.

use std::io;
use std::path::{Path, PathBuf};

use cryptbench_os::storage::{self, Mount};

/// A mount in this process's mount namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    /// Device number of the file system, equal to `st_dev`.
    pub device: u64,
    /// The mount point.
    pub mountpoint: PathBuf,
    /// Its type, such as `ext4` or `fuse.cryptbench`.
    pub file_system: String,
    /// The mounted device, or a name that the file system chose. Bytes that are not UTF-8 are replaced.
    pub source: String,
}

impl From<Mount> for MountEntry {
    fn from(mount: Mount) -> Self {
        Self {
            device: mount.device,
            mountpoint: mount.mountpoint,
            file_system: mount.file_system,
            source: mount.source.to_string_lossy().into_owned(),
        }
    }
}

/// All mounts, the most recent last.
///
/// # Errors
/// If the system does not report its mounts.
pub fn mounts() -> io::Result<Vec<MountEntry>> {
    Ok(storage::mounts()?.into_iter().map(Into::into).collect())
}

/// The topmost mount at `path`.
pub fn mount_at(path: &Path) -> Option<MountEntry> {
    storage::mount_at(path).map(Into::into)
}
