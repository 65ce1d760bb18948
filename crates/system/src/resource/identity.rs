//! What tells a thing that was made from another of the same name.

use std::fs::File;
use std::io;
use std::path::Path;

use cryptbench_os::FileIdentity;
use serde::{Deserialize, Serialize};

/// What tells a thing that we made from another of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Device of the file system; of a loop device or a process, its own number.
    pub device: u64,
    /// Inode number; of a process, its start in clock ticks after boot; 0 for mounts and loop devices.
    pub inode: u64,
    /// When a file was made, in nanoseconds since 1970, where its file system keeps that: inode numbers are given
    /// again. Journals of versions before 0.2 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<i64>,
}

impl Identity {
    /// What a number alone tells: of a mount or a device.
    #[must_use]
    pub fn number(device: u64) -> Self {
        Self { device, inode: 0, born: None }
    }

    /// The identity of an open file.
    ///
    /// # Errors
    /// What statx(2) says.
    pub fn of(file: &File) -> io::Result<Self> {
        FileIdentity::of(file).map(Self::from)
    }

    /// The identity of what lies at `path`, a symbolic link not followed.
    ///
    /// # Errors
    /// What statx(2) says.
    pub fn at(path: &Path) -> io::Result<Self> {
        FileIdentity::at(path).map(Self::from)
    }

    /// Whether `found` is what was noted; births are compared where both are known.
    #[must_use]
    pub fn is(self, found: Self) -> bool {
        (self.device, self.inode) == (found.device, found.inode) && self.is_born_like(found)
    }

    /// Whether nothing is known of two births that tells one file from the other.
    pub(super) fn is_born_like(self, found: Self) -> bool {
        self.born.zip(found.born).is_none_or(|(noted, now)| noted == now)
    }
}

impl From<FileIdentity> for Identity {
    fn from(found: FileIdentity) -> Self {
        Self { device: found.device, inode: found.inode, born: found.born }
    }
}
