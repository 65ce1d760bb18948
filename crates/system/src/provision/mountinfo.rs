//! What is mounted where, in the words of this crate.

use std::io;
use std::path::{Path, PathBuf};

use cryptbench_os::storage::{self, Mount};

/// One mount of this process's mount namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    /// Device number of the file system, as `st_dev` shows it.
    pub device: u64,
    /// Where it is mounted.
    pub mountpoint: PathBuf,
    /// Its type, such as `ext4` or `fuse.cryptbench`.
    pub file_system: String,
    /// What is mounted: a device, or a name of the file system's choice. What is not UTF-8 in it is replaced.
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

/// Every mount, the latest last.
///
/// # Errors
/// If the system does not tell.
pub fn mounts() -> io::Result<Vec<MountEntry>> {
    Ok(storage::mounts()?.into_iter().map(Into::into).collect())
}

/// What is mounted at `path`, the topmost where several are.
#[must_use]
pub fn mount_at(path: &Path) -> Option<MountEntry> {
    storage::mount_at(path).map(Into::into)
}
