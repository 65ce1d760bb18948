//! The operating system functions that cryptbench needs: safe creation, reading and naming of files, counters,
//! storage, processes, terminals. `xtask/src/tidy/one_system.rs` lists the other files that check which system they
//! run on.
//!
//! Anyone who can write to a directory can put a symbolic link, a pipe or a device where a file is expected, and can
//! replace the file between its check and its use. Therefore every new file is created here ([`NewFile`],
//! [`Directory`]), and every file that others may have created is read here ([`read_file`] and similar). Operations in
//! a directory that others may write to are relative to a descriptor that is held open.
//!
//! Anything that a system does not report is `None`, an empty list, or [`std::io::ErrorKind::Unsupported`]. Features of
//! a single system that only that system's own code needs (a block tree in /sys, directories in which others may
//! rename) exist on that system only.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

pub mod channel;
pub mod clock;
pub mod confine;
pub mod counters;
mod details;
pub mod dirs;
mod entry;
pub mod files;
pub mod lock;
pub mod machine;
pub mod net;
mod new_file;
mod path_text;
pub mod process;
mod read;
pub mod signals;
pub mod storage;
pub mod terminal;
pub mod user;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

pub use details::Details;
pub use entry::{Entry, FileIdentity, FileType};
pub use new_file::{NewFile, write_named, write_whole};
pub use path_text::{path_of_text, split_once, text_of_path};
pub use read::{read_beginning, read_file, read_text};
pub use system::*;

/// An unpredictable name for a file that is still being written.
fn random_name(prefix: &str) -> std::io::Result<String> {
    let random = getrandom::u64().map_err(|e| std::io::Error::other(e.to_string()))?;
    Ok(format!("{prefix}{random:016x}.part"))
}
