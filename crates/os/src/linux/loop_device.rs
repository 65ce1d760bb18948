//! Loop devices over open files: the open file is attached, even if the file's name now refers to another file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Attaches `file` to a free loop device with direct I/O, if the file supports it, and returns the path of the device.
/// losetup(8) shows `name` if the kernel has no name for the file. Requires root and Linux 5.8.
///
/// # Errors
/// The operating system's error.
pub fn attach(file: &File, name: &Path, read_only: bool) -> io::Result<PathBuf> {
    let number = super::call::loop_device::attach(file, name, read_only)?;
    Ok(PathBuf::from(format!("/dev/loop{number}")))
}
