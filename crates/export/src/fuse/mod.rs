//! A block device as the only file of a FUSE mount.
//!
//! The server communicates with the kernel directly, without libfuse. Requests arrive in one of two ways. Either
//! threads read `/dev/fuse` and execute one request each or, since Linux 6.14, requests arrive through io_uring: a few
//! threads receive many short requests, issue the disk requests and reply, and other threads execute one long request
//! each. In both cases data is copied once, between the kernel and a page-aligned buffer in which the data is also
//! encrypted or decrypted.
//!
//! The file is opened with `FOPEN_DIRECT_IO`, so the mount has no page cache. A program that reads the file sees what
//! another program has written, and no plaintext of the encrypted disk remains in the cache.

mod abi;
mod channel;
mod entry;
mod hand_over;
mod long;
mod mount;
mod options;
mod server;
mod session;
mod switch;
mod uring;

pub use hand_over::{Connection, Mounted, serve_mounted};
pub use mount::{FILE_SYSTEM, is_stale_mount, remove_stale_mount};
pub use options::{FuseOptions, Transport};
pub use server::{Server, mount};
