//! What can go wrong when a device is served, and how an I/O error is told to a client.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

/// Why a device is not served, or could not be taken back.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// `/dev/fuse` cannot be opened.
    #[error("/dev/fuse cannot be opened (load the fuse module, or give this user access to it)")]
    NoFuse(#[source] io::Error),
    /// Neither `mount(2)` nor `fusermount3` made the mount.
    #[error("{path} cannot be mounted: {reason}")]
    Mount {
        /// Where.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The kernel's FUSE speaks another protocol.
    #[error(
        "the kernel's FUSE protocol is {major}.{minor}; 7.31 (Linux 5.4) is the oldest that is served"
    )]
    Protocol {
        /// Its major version.
        major: u32,
        /// Its minor version.
        minor: u32,
    },
    /// A file of the mount is still open, or something is mounted on it.
    #[error("{path} is in use; close what is open there, or stop the server to detach it")]
    Busy {
        /// The mount point.
        path: PathBuf,
    },
    /// An option that cannot be met.
    #[error("{0}")]
    Option(String),
    /// Anything else that the system refused.
    #[error("cannot {act}")]
    System {
        /// What was asked of it, as a verb and its object.
        act: String,
        /// What it said.
        source: io::Error,
    },
}

impl ExportError {
    pub(crate) fn system(act: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::System { act: act.into(), source: source.into() }
    }
}

/// The error number that a client is told: the storage's own where it is one that a program expects
/// from a disk, otherwise `EIO`.
pub(crate) fn errno(error: &io::Error) -> Errno {
    if let Some(raw) = error.raw_os_error() {
        // Above 511 lie numbers that the kernel keeps to itself (include/linux/errno.h); an operation that
        // answers ENOSYS once is never asked for again and taken for done, fsync included.
        let told = (1..512).contains(&raw) && raw != Errno::NOSYS.raw_os_error();
        return if told { Errno::from_raw_os_error(raw) } else { Errno::IO };
    }
    match error.kind() {
        io::ErrorKind::InvalidInput => Errno::INVAL,
        io::ErrorKind::PermissionDenied => Errno::PERM,
        io::ErrorKind::ReadOnlyFilesystem => Errno::ROFS,
        io::ErrorKind::StorageFull | io::ErrorKind::WriteZero => Errno::NOSPC,
        io::ErrorKind::Unsupported => Errno::OPNOTSUPP,
        io::ErrorKind::OutOfMemory => Errno::NOMEM,
        _ => Errno::IO,
    }
}
