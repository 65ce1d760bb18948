//! Block devices and I/O targets: the [`BlockDevice`] interface of volumes and their devices, the [`IoTarget`] of a
//! load, memory for direct I/O ([`AlignedBuf`]) and for secrets ([`LockedBytes`]), and the [`SectorTransform`] of an
//! inline encryption layer.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod aligned;
mod device;
mod file;
mod io_target;
mod locked;
mod memory;
mod page_cache;
mod transform;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

pub use aligned::AlignedBuf;
pub use device::{BlockDevice, check_request, read_bytes, write_bytes};
pub use file::{FileDevice, disk_sector};
pub use io_target::{Extent, IoMode, IoTarget, never_waits};
pub use locked::{LockedBytes, lock_in_place, locking_failed};
pub use memory::MemoryDevice;
pub use page_cache::cached_share;
pub use transform::{Passes, SectorTransform};
