//! The terminal and the standard streams.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub use crate::system::terminal::{Readable, STDOUT};

/// Columns of the terminal that standard output is, if it is one and tells.
#[must_use]
pub fn width() -> Option<u16> {
    crate::system::terminal::width()
}

/// Whether there is something to read, or the end of it, within `patience`. No also if a signal came meanwhile.
///
/// # Errors
/// What the system says; [`io::ErrorKind::Unsupported`] where it cannot be asked.
pub fn readable_within(source: &impl Readable, patience: Duration) -> io::Result<bool> {
    crate::system::terminal::readable_within(source, patience)
}

/// The path by which this process reaches a descriptor that it was started with.
#[must_use]
pub fn path_of_descriptor(number: u32) -> PathBuf {
    crate::system::terminal::path_of_descriptor(number)
}

/// Standard input as a file, without the standard library's buffer, which nobody wipes.
///
/// # Errors
/// What the system says; [`io::ErrorKind::Unsupported`] where it cannot be had.
pub fn unbuffered_input() -> io::Result<File> {
    crate::system::terminal::unbuffered_input()
}

/// Lets what is written to standard error from now on go nowhere.
///
/// # Errors
/// What the system says; [`io::ErrorKind::Unsupported`] where that cannot be done.
pub fn silence_errors() -> io::Result<()> {
    crate::system::terminal::silence_errors()
}

/// Lets all three standard streams lead nowhere.
///
/// # Errors
/// As [`silence_errors`].
pub fn silence() -> io::Result<()> {
    crate::system::terminal::silence()
}
