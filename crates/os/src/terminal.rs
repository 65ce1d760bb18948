//! The terminal and the standard streams.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub use crate::system::terminal::{Readable, STDOUT};

/// Width in columns of the terminal on standard output; `None` if standard output is not a terminal, or if the terminal
/// does not report its width.
pub fn width() -> Option<u16> {
    crate::system::terminal::width()
}

/// Whether the terminals of this process support ANSI sequences; on Windows, also enables the sequences. True if no
/// stream is a terminal.
pub fn takes_colours() -> bool {
    crate::system::terminal::takes_colours()
}

/// A terminal that does not show what is typed until this is dropped.
#[derive(Debug)]
pub struct WithoutEcho {
    _terminal: crate::system::terminal::WithoutEcho,
}

impl WithoutEcho {
    /// Switches the echo of this process's terminal off.
    ///
    /// # Errors
    /// The operating system's error, for example without a terminal; [`io::ErrorKind::Unsupported`] on Windows.
    pub fn new() -> io::Result<Self> {
        Ok(Self { _terminal: crate::system::terminal::WithoutEcho::new()? })
    }
}

/// Waits at most `patience` for data or the end of the input. Returns false after that time, or if a signal arrives in
/// the meantime.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if the system cannot wait for input.
pub fn readable_within(source: &impl Readable, patience: Duration) -> io::Result<bool> {
    crate::system::terminal::readable_within(source, patience)
}

/// The path of a descriptor that this process inherited.
pub fn path_of_descriptor(number: u32) -> PathBuf {
    crate::system::terminal::path_of_descriptor(number)
}

/// Standard input as a file, without the standard library's buffer, which is never wiped.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if standard input is not available in this
/// way.
pub fn unbuffered_input() -> io::Result<File> {
    crate::system::terminal::unbuffered_input()
}

/// Whether a path refers to a descriptor of the process that uses the path.
pub fn is_descriptor(path: &std::path::Path) -> bool {
    crate::system::terminal::is_descriptor(path)
}

/// Standard output, as a file without a buffer in this process.
///
/// # Errors
/// The operating system's error.
pub fn unbuffered_output() -> io::Result<File> {
    crate::system::terminal::unbuffered_output()
}

/// Discards everything written to standard error from now on.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if the system cannot do this.
pub fn silence_errors() -> io::Result<()> {
    crate::system::terminal::silence_errors()
}

/// Disconnects all three standard streams.
///
/// # Errors
/// Those of [`silence_errors`].
pub fn silence() -> io::Result<()> {
    crate::system::terminal::silence()
}
