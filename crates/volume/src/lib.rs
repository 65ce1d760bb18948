//! Encrypted volume formats in user space: what a device holds, and its plaintext as a block device.
//!
//! [`detect`](detect::detect) tells what a file or disk is; [`open`] takes credentials and gives a
//! [`Volume`], which is a [`BlockDevice`](cryptbench_blockdev::BlockDevice) over the plaintext. Nothing
//! here spawns a process or needs root.
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
//! The README shows a volume created and opened.
#![forbid(unsafe_code)]

mod credentials;
pub mod detect;
mod error;
pub mod format;
mod open;
mod volume;

pub use credentials::{Credentials, Secret};
pub use error::VolumeError;
pub use open::{OpenOptions, formats, open};
pub use volume::{Access, Mapping, Volume, VolumeInfo};

/// The examples of the README are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
