//! System-specific metadata of a file.

use std::fs::Metadata;

use crate::FileType;

/// The system-specific part of a file's metadata. Values that the system does not report are 0, and are thus the same
/// for all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Details {
    /// Kind of the file.
    pub kind: FileType,
    /// Device number of the file's file system.
    pub file_system: u64,
    /// Inode number.
    pub inode: u64,
    /// Number of the device that a device file represents; otherwise 0.
    pub device: u64,
    /// Number of hard links; 1 if the system does not report it.
    pub names: u64,
    /// Allocated bytes; less than the length if the file has holes.
    pub allocated: u64,
    /// Time of the last change to the file's content: seconds since 1970, and nanoseconds within the second.
    pub changed: (i64, i64),
}

impl Details {
    /// The details in metadata that have already been read.
    pub fn of(found: &Metadata) -> Self {
        crate::system::details(found)
    }
}
