//! The standard streams of the standard library.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A file name by which a child process would write to its standard output.
pub const STDOUT: &str = "standard output";

/// Anything whose readability could be awaited.
pub trait Readable {}

impl<T> Readable for T {}

pub(crate) fn width() -> Option<u16> {
    None
}

pub(crate) fn readable_within(_source: &impl Readable, _patience: Duration) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn path_of_descriptor(number: u32) -> PathBuf {
    PathBuf::from(format!("descriptor {number}"))
}

pub(crate) fn unbuffered_input() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn silence_errors() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn silence() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
