//! A block device as the only file of a FUSE mount.
//!
//! The kernel is spoken to directly, without libfuse. Requests come by one of two ways: threads that
//! read `/dev/fuse` and carry out one request each, or, from Linux 6.14 on, one io_uring per CPU that
//! takes requests, drives the disk and replies, all from one thread. Either way data is copied once,
//! between the kernel and a page-aligned buffer, in which it is also encrypted or decrypted.
//!
//! The file is opened with `FOPEN_DIRECT_IO`: the mount has no page cache of its own, so a program that
//! reads it sees what another has written, and nothing that was encrypted on the disk stays behind in
//! the cache in the clear.

mod abi;
mod arena;
mod channel;
mod mount;
mod options;
mod ring;
mod server;
mod session;
mod slow;
mod switch;
mod uring;

pub use mount::{FILE_SYSTEM, is_stale_mount, remove_stale_mount};
pub use options::{FuseOptions, Transport};
pub use server::{Server, mount};
