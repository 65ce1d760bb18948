//! The errors in serving a device, and their presentation to clients.

use std::io;
use std::path::PathBuf;

use cryptbench_text::shown;

/// Why a device cannot be served, or a server cannot be stopped.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// `/dev/fuse` cannot be opened.
    #[error("/dev/fuse cannot be opened (load the fuse module, or give this user access to it)")]
    NoFuse(#[source] io::Error),
    /// Neither `mount(2)` nor `fusermount3` could mount.
    #[error("{} cannot be mounted: {reason}", shown(path))]
    Mount {
        /// The mount point.
        path: PathBuf,
        /// The operating system's message.
        reason: String,
    },
    /// The kernel's FUSE protocol version is not supported.
    #[error(
        "the kernel's FUSE protocol is {major}.{minor}; the oldest supported is 7.31 (Linux 5.4)"
    )]
    Protocol {
        /// Its major version.
        major: u32,
        /// Its minor version.
        minor: u32,
    },
    /// A file in the mount is still open, or something is mounted on it.
    #[error(
        "{} is in use; close the files that are open there, or stop the server to detach it",
        shown(path)
    )]
    Busy {
        /// The mount point.
        path: PathBuf,
    },
    /// An option that cannot be honoured.
    #[error("{0}")]
    Option(String),
    /// The operating system refused another request.
    #[error("cannot {act}")]
    System {
        /// The requested action, as a verb and its object.
        act: String,
        /// The operating system's error.
        source: io::Error,
    },
}
