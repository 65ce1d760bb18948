//! What storage there is: mounts, free space, and block devices with what each stands on and who stands on it.

use std::path::{Path, PathBuf};

pub use crate::system::storage::*;

/// One mount of this process's view of the file systems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// Device number of the file system, as `st_dev` shows it, unless it hides that (btrfs).
    pub device: u64,
    /// Where it is mounted.
    pub mountpoint: PathBuf,
    /// Its type, such as `ext4` or `fuse.cryptbench`.
    pub file_system: String,
    /// What is mounted: a device, a directory, or a name of the file system's choice. It need not be UTF-8.
    pub source: PathBuf,
    /// Options of the mount, then those of the file system that are not among them, with commas between.
    pub options: String,
}

/// What is mounted at `path`, the topmost where several are.
#[must_use]
pub fn mount_at(path: &Path) -> Option<Mount> {
    mounts().ok()?.into_iter().rfind(|mount| mount.mountpoint == path)
}

/// The mount on which `path`, whose file system has the number `device`, lies.
#[must_use]
pub fn mount_of(device: u64, path: &Path) -> Option<Mount> {
    Mount::of(mounts().ok()?, device, path)
}

impl Mount {
    /// The one of `mounts` on which `path` lies: that of the device number with the longest mount point, or, where the
    /// file system hides its device number (btrfs subvolumes), the longest mount point above it.
    #[must_use]
    pub fn of(mounts: Vec<Self>, device: u64, path: &Path) -> Option<Self> {
        let above = mounts.into_iter().filter(|mount| path.starts_with(&mount.mountpoint));
        // Later ones lie on top of earlier ones at the same point, and the last of equals is the greatest.
        above.max_by_key(|mount| (mount.device == device, mount.mountpoint.as_os_str().len()))
    }
}

/// A device number as the system writes it: `8:1`.
#[must_use]
pub fn number_in_words(number: u64) -> String {
    crate::system::storage::number_in_words(number)
}

/// The processes that serve the file system of that device number from user space, where the system tells and this user
/// may see them (Linux 5.18).
#[must_use]
pub fn serving(file_system: u64) -> Vec<u32> {
    crate::system::storage::serving(file_system)
}

/// Whether the file system says that it encrypts what is in a directory by a policy of its own.
#[must_use]
pub fn is_encrypted(directory: &Path) -> bool {
    crate::system::storage::is_encrypted(directory)
}

/// Room of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// What this user may still fill.
    pub free: u64,
    /// All of it; 0 where the file system does not count (ramfs), and `free` says nothing then.
    pub size: u64,
}
