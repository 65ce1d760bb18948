//! The file system as this program may touch it: created, read and named without being led astray.
//!
//! Whoever can write to a directory can put a symbolic link, a pipe or a device where a file is expected, and swap it
//! between a check and its use. So every new file is made here ([`NewFile`], [`Directory`]), every file of a stranger is
//! read here ([`read_file`] and its like), and what happens in a directory that others may write to happens relative to a descriptor
//! that is held open.
#![forbid(unsafe_code)]

mod directory;
mod new_file;
mod read;
mod trust;

pub use directory::{Directory, Entry, FileIdentity};
pub use new_file::{NewFile, write_named, write_whole};
pub use read::{read_beginning, read_file, read_text};
pub use trust::{Writers, renamed_by};

/// A name that nobody can foresee, for a file that is not whole yet.
fn random_name(prefix: &str) -> std::io::Result<String> {
    let random = getrandom::u64().map_err(|e| std::io::Error::other(e.to_string()))?;
    Ok(format!("{prefix}{random:016x}.part"))
}
