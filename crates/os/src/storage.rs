//! Storage: mounts, free space, and block devices with their underlying devices and holders.

mod kind;
mod opal;

use std::path::{Path, PathBuf};
use std::{fmt, io};

pub use self::kind::{Bus, Kind, Medium, Signs};
pub use self::opal::{LUKS2_OPAL, OpalDrive, SelfEncrypting};
pub use crate::system::storage::*;

/// A mount in this process's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's number for the mount, which the kernel reuses once the mount is gone; 0 on systems without such
    /// numbers.
    pub id: u64,
    /// Device number of the file system, equal to `st_dev` unless the file system hides that number (btrfs).
    pub device: u64,
    /// The mount point.
    pub mountpoint: PathBuf,
    /// Its type, such as `ext4` or `fuse.cryptbench`.
    pub file_system: String,
    /// What is mounted: a device, a directory, or any name chosen by the file system. The name need not be UTF-8.
    pub source: PathBuf,
    /// Options of the mount, then the file system's options that are not among the mount's, separated by commas.
    pub options: String,
}

/// Information that the system did not provide.
#[derive(Debug)]
pub struct Untold {
    /// The file, directory or volume in question.
    pub place: PathBuf,
    /// The operating system's error.
    pub why: io::Error,
}

impl fmt::Display for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&untold(&self.place))
    }
}

impl std::error::Error for Untold {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.why)
    }
}

/// The topmost mount at `path`.
pub fn mount_at(path: &Path) -> Option<Mount> {
    mounts().ok()?.into_iter().rfind(|mount| mount.mountpoint == path)
}

/// The mount that contains `path` and whose file system has the number `device`.
pub fn mount_of(device: u64, path: &Path) -> Option<Mount> {
    Mount::of(mounts().ok()?, device, path)
}

impl Mount {
    /// The mount that contains `path`: the entry of `mounts` that has this device number and the longest mount point.
    /// If the file system hides its device number (btrfs subvolumes), the entry with the longest mount point above
    /// `path`.
    pub fn of(mounts: Vec<Self>, device: u64, path: &Path) -> Option<Self> {
        let above = mounts.into_iter().filter(|mount| path.starts_with(&mount.mountpoint));
        // A later mount hides earlier mounts at the same point; `max_by_key` returns the last of equal elements.
        above.max_by_key(|mount| (mount.device == device, mount.mountpoint.as_os_str().len()))
    }
}

/// The number of the file system that contains the target of `path`.
///
/// # Errors
/// The operating system's error.
pub fn number_of(path: &Path) -> io::Result<u64> {
    crate::system::storage::number_of(path)
}

/// Why `path` cannot be a target, as far as its name shows.
pub fn refused_by_name(path: &Path) -> Option<&'static str> {
    crate::system::storage::refused_by_name(path)
}

/// A device number in the system's form: `8:1`.
pub fn number_in_words(number: u64) -> String {
    crate::system::storage::number_in_words(number)
}

/// The processes that serve the file system with this device number from user space, if the system reports them (Linux
/// 5.18) and this user may see these processes.
pub fn serving(file_system: u64) -> Vec<u32> {
    crate::system::storage::serving(file_system)
}

/// Whether a directory has an encryption policy of its file system, such as fscrypt's.
pub fn is_encrypted(directory: &Path) -> bool {
    crate::system::storage::is_encrypted(directory)
}

/// Whether the file system compresses new files in a directory, according to its attribute (chattr(1), `c`).
pub fn is_compressed(directory: &Path) -> bool {
    crate::system::storage::is_compressed(directory)
}

/// Whether new files in a btrfs directory are overwritten in place, according to its attribute (chattr(1),
/// `C`).
pub fn is_overwritten_in_place(directory: &Path) -> bool {
    crate::system::storage::is_overwritten_in_place(directory)
}

/// Size and free space of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Free space that this user may use.
    pub free: u64,
    /// Total size. 0 if the file system does not keep count (ramfs); `free` is then meaningless.
    pub size: u64,
}
