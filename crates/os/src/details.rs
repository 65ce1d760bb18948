//! What the system tells of a file beyond what every system does.

use std::fs::Metadata;

use crate::FileType;

/// The rest of a file's metadata. What the system does not tell is 0, and so the same for all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Details {
    /// What kind of file it is.
    pub kind: FileType,
    /// Device number of the file system that it lies on.
    pub file_system: u64,
    /// Inode number.
    pub inode: u64,
    /// Number of the device that it stands for; 0 for what is no device.
    pub device: u64,
    /// Names that it has (hard links); 1 where the system does not tell.
    pub names: u64,
    /// Bytes that it takes, which are fewer than it is long where it has holes.
    pub allocated: u64,
    /// When its content was changed: seconds since 1970, and nanoseconds of the next one.
    pub changed: (i64, i64),
}

impl Details {
    /// Those of a file that was looked at already.
    #[must_use]
    pub fn of(found: &Metadata) -> Self {
        crate::system::details(found)
    }
}
