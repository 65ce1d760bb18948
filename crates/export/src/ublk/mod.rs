//! A block device as a disk of the kernel, `/dev/ublkbN`, without a file system or a loop device in between.
//!
//! The root process creates the disk by [`Control`]; another one, which needs no privileges, [serves](serve) it
//! through its connection.
//!
//! Source of the protocol: `Documentation/block/ublk.rst`, `include/uapi/linux/ublk_cmd.h` and
//! `drivers/block/ublk_drv.c` of Linux 6.5 and later.

mod abi;
mod control;
mod descriptors;
mod disk;
mod server;

pub use control::Control;
pub use disk::Disk;
pub use server::{Server, serve};

/// Maximum number of slots in a queue. A program that sends more concurrent requests waits for a slot, or an
/// io_uring worker waits for it.
const MOST: usize = 64;
