//! A block device as a kernel block device, `/dev/ublkbN`, without a file system or a loop device in between.
//!
//! The process that runs as root creates the disk with [`Control`]; another process, which needs no privileges,
//! [serves](serve) the disk through the disk's connection.
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

/// Maximum number of slots in a queue. A program that sends more concurrent requests waits for a slot or, with
/// io_uring, has a kernel worker wait for a slot.
const MOST: usize = 64;
