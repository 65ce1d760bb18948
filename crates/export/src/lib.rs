//! Serves a [`BlockDevice`](cryptbench_blockdev::BlockDevice) to other programs: as the only file of a FUSE mount,
//! which a loop device or a virtual machine can use, and over NBD on a Unix socket.
//!
//! ```no_run
//! use cryptbench_blockdev::MemoryDevice;
//! use cryptbench_export::fuse::{FuseOptions, mount};
//! use std::{path::Path, sync::Arc};
//!
//! let device = Arc::new(MemoryDevice::new(vec![0; 1 << 20]));
//! let server = mount(device, Path::new("/mnt/volume"), &FuseOptions::default())?;
//! // /mnt/volume/volume is the device now.
//! server.unmount()?;
//! # Ok::<(), cryptbench_export::ExportError>(())
//! ```
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

#[cfg(target_os = "linux")]
mod arena;
#[cfg(target_os = "linux")]
mod bytes;
#[cfg(target_os = "linux")]
mod errno;
mod error;
#[cfg_attr(windows, path = "windows/fuse.rs")]
pub mod fuse;
#[cfg_attr(windows, path = "windows/nbd.rs")]
pub mod nbd;
#[cfg_attr(windows, path = "windows/rings.rs")]
mod rings;
#[cfg(target_os = "linux")]
mod served;
#[cfg(target_os = "linux")]
mod stats;
#[cfg(target_os = "linux")]
mod stop;
#[cfg(target_os = "linux")]
mod stripes;
#[cfg(target_os = "linux")]
mod threads;
#[cfg_attr(windows, path = "windows/ublk.rs")]
pub mod ublk;

pub use error::ExportError;
pub use rings::Prepared;
#[cfg(target_os = "linux")]
pub use stats::Stats;

/// Name prefixes of the threads that serve a device in this process, by which the CPU time of these threads is
/// separated from that of other threads.
pub const SERVING: [&str; 3] = ["fuse-", "nbd", "export"];

/// The error on Windows, where nothing can be served.
#[cfg(windows)]
pub fn not_here() -> ExportError {
    ExportError::Option(
        "volumes cannot be served on Windows, which supports neither FUSE nor NBD".to_owned(),
    )
}
