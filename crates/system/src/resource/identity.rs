//! Distinguishes resources that we created from others with the same name.

use std::fs::File;
use std::io;
use std::path::Path;

use cryptbench_os::FileIdentity;
use serde::{Deserialize, Serialize};

/// Distinguishes a resource that we created from others with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Device number of the file system; for a loop device, its own device number; for a process, its PID.
    pub device: u64,
    /// Inode number; for a process, its start time in clock ticks since boot; 0 for mounts and loop devices.
    pub inode: u64,
    /// Creation time of a file in nanoseconds since 1970, if its file system records it. It is needed because
    /// inode numbers are reused. Missing in journals of versions before 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<i64>,
}

impl Identity {
    /// The identity of a mount or a device, which consists only of a number.
    pub fn number(device: u64) -> Self {
        Self { device, inode: 0, born: None }
    }

    /// The identity of an open file.
    ///
    /// # Errors
    /// The error that statx(2) returned.
    pub fn of(file: &File) -> io::Result<Self> {
        FileIdentity::of(file).map(Self::from)
    }

    /// The identity of the file at `path`; does not follow a symbolic link.
    ///
    /// # Errors
    /// The error that statx(2) returned.
    pub fn at(path: &Path) -> io::Result<Self> {
        FileIdentity::at(path).map(Self::from)
    }

    /// Whether `found` is the recorded resource. Compares creation times if both are known.
    pub fn is(self, found: Self) -> bool {
        (self.device, self.inode) == (found.device, found.inode) && self.is_born_like(found)
    }

    /// Whether the two creation times may be equal; true if either is unknown.
    pub(super) fn is_born_like(self, found: Self) -> bool {
        self.born.zip(found.born).is_none_or(|(noted, now)| noted == now)
    }
}

impl From<FileIdentity> for Identity {
    fn from(found: FileIdentity) -> Self {
        Self { device: found.device, inode: found.inode, born: found.born }
    }
}
