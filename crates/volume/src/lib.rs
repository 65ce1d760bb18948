//! Encrypted volume formats in user space: identifies the content of a device and presents its plaintext as a
//! block device.
//!
//! [`detect`](detect::detect) identifies the contents of a file or disk. [`open`] uses credentials and returns
//! a [`Volume`], which is a [`BlockDevice`](cryptbench_blockdev::BlockDevice) over the plaintext. This crate
//! does not start processes and does not need root.
//!
//! ```
//! use cryptbench_blockdev::MemoryDevice;
//! use cryptbench_volume::detect::{Kind, detect};
//!
//! let device = MemoryDevice::new(vec![0; 1 << 20]);
//! assert!(matches!(detect(&device)?.kind, Kind::Zeros));
//! # Ok::<(), cryptbench_volume::VolumeError>(())
//! ```
//!
//! The README shows how to create and open a volume.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod bytes;
mod crc32;
mod credentials;
pub mod detect;
mod error;
pub mod format;
mod open;
mod overwrite;
mod part;
mod partition;
mod pieces;
mod restore;
mod volume;

pub use credentials::{Credentials, Secret};
pub use error::VolumeError;
pub use open::{OpenOptions, formats, open};
pub use part::Part;
pub use partition::{Partition, partition, partitions};
pub use restore::{Restore, Restored};
pub use volume::{Access, Mapping, Volume, VolumeInfo};

/// Runs the README's examples as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
