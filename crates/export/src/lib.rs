//! Serves a [`BlockDevice`](cryptbench_blockdev::BlockDevice) to other programs: as the only file
//! of a FUSE mount, which a loop device or a virtual machine can use, and over NBD on a unix
//! socket.
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

mod bytes;
mod error;
pub mod fuse;
pub mod nbd;
mod stats;
mod stop;
mod stripes;

pub use error::ExportError;
pub use stats::Stats;

/// Name prefixes of the threads that serve a device in this process, which allow their CPU time to
/// be separated from that of other threads.
pub const SERVING: [&str; 3] = ["fuse-", "nbd", "export"];
