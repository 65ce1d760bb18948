//! File systems of real disks: making, mounting and unmounting them with the system's own programs.

use std::path::Path;

use crate::SystemError;
use crate::command::run;

/// A file system that can be made on a new volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystemKind {
    /// Linux's usual one.
    Ext4,
    /// For large files and parallel writers.
    Xfs,
    /// With checksums and snapshots.
    Btrfs,
    /// FAT32: readable everywhere, files up to 4 GiB.
    Vfat,
    /// exFAT: readable on Windows, macOS and Linux.
    Exfat,
}

/// Makes a file system on `device`, which may be a block device or a regular file.
///
/// # Errors
/// [`SystemError::Program`] if the program is missing or refuses, such as for too small a device.
pub fn make(kind: FileSystemKind, device: &Path) -> Result<(), SystemError> {
    let (program, options): (_, &[&str]) = match kind {
        // -F, -f, -I: a file, or a device without partitions, is what the user asked for.
        FileSystemKind::Ext4 => ("mkfs.ext4", &["-q", "-F", "-E", "nodiscard"]),
        FileSystemKind::Xfs => ("mkfs.xfs", &["-q", "-f", "-K"]),
        FileSystemKind::Btrfs => ("mkfs.btrfs", &["-q", "-f", "-K"]),
        FileSystemKind::Vfat => ("mkfs.vfat", &["-I"]),
        FileSystemKind::Exfat => ("mkfs.exfat", &[]),
    };
    run(program, options.iter().map(AsRef::as_ref).chain([device.as_os_str()])).map(drop)
}

/// Makes ext4 on `device` with nothing left to be done later in the background, where it would disturb a
/// measurement.
///
/// # Errors
/// [`SystemError::Program`].
pub(crate) fn make_settled(device: &Path) -> Result<(), SystemError> {
    make_settled_with(None, device)
}

/// The same with a feature more, such as `encrypt` (ext4(5)).
pub(crate) fn make_settled_with(feature: Option<&str>, device: &Path) -> Result<(), SystemError> {
    let settled = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
    let mut options = vec!["-q", "-F", "-E", settled, "-m", "0"];
    if let Some(feature) = feature {
        options.extend(["-O", feature]);
    }
    run("mkfs.ext4", options.iter().map(AsRef::as_ref).chain([device.as_os_str()])).map(drop)
}

/// Mounts `device` at `directory` with mount(8), which finds out the type.
///
/// # Errors
/// [`SystemError::Program`].
pub(crate) fn mount(
    device: &Path,
    directory: &Path,
    read_only: bool,
    options: Option<&str>,
) -> Result<(), SystemError> {
    let mut list = if read_only { "ro".to_owned() } else { "rw".to_owned() };
    if let Some(more) = options {
        list = format!("{list},{more}");
    }
    let arguments = ["-o".as_ref(), list.as_ref(), device.as_os_str(), directory.as_os_str()];
    run("mount", arguments).map(drop)
}

/// Unmounts what is at `directory`, writing back what is dirty.
///
/// # Errors
/// [`SystemError::Busy`], [`SystemError::Io`].
pub fn unmount(directory: &Path) -> Result<(), SystemError> {
    use rustix::mount::{UnmountFlags, unmount};
    match unmount(directory, UnmountFlags::NOFOLLOW) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::BUSY) => Err(SystemError::Busy { path: directory.to_owned() }),
        Err(e) => Err(SystemError::io("unmount", directory)(e.into())),
    }
}

/// Takes a mount whose disk is gone out of the way, in use or not.
pub(crate) fn unmount_dead(directory: &Path) -> Result<(), SystemError> {
    use rustix::mount::{UnmountFlags, unmount};
    unmount(directory, UnmountFlags::NOFOLLOW)
        .or_else(|_| unmount(directory, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH))
        .map_err(|e| SystemError::io("unmount", directory)(e.into()))
}
