//! The operating system, as this program needs it: files made, read and named without being led astray, counters,
//! storage, processes, terminals. Nobody else asks which system it is.
//!
//! Whoever can write to a directory can put a symbolic link, a pipe or a device where a file is expected, and swap it
//! between a check and its use. So every new file is made here ([`NewFile`], [`Directory`]), every file of a stranger is
//! read here ([`read_file`] and its like), and what happens in a directory that others may write to happens relative to a descriptor
//! that is held open.
//!
//! What a system does not tell is `None`, an empty list, or [`std::io::ErrorKind::Unsupported`]. What only one system has,
//! and one alone needs (a block tree in /sys, directories that others may rename in), is there on that system only.
#![forbid(unsafe_code)]

pub mod clock;
pub mod counters;
mod details;
pub mod dirs;
mod entry;
pub mod files;
pub mod lock;
pub mod machine;
pub mod net;
mod new_file;
pub mod process;
mod read;
pub mod signals;
pub mod storage;
pub mod terminal;
pub mod user;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

pub use details::Details;
pub use entry::{Entry, FileIdentity, FileType};
pub use new_file::{NewFile, write_named, write_whole};
pub use read::{read_beginning, read_file, read_text};
pub use system::*;

/// A name that nobody can foresee, for a file that is not whole yet.
fn random_name(prefix: &str) -> std::io::Result<String> {
    let random = getrandom::u64().map_err(|e| std::io::Error::other(e.to_string()))?;
    Ok(format!("{prefix}{random:016x}.part"))
}
