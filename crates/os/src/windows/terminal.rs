//! The console and the standard streams.

use std::fs::File;
use std::io;
use std::os::windows::io::AsHandle as _;
use std::path::PathBuf;
use std::time::Duration;

use super::call;

/// A file name by which a child process writes to its console. Windows has no such name for standard output.
pub const STDOUT: &str = "CONOUT$";

/// Anything that could be waited on until it is readable.
pub trait Readable {}

impl<T> Readable for T {}

/// A console that does not show what is typed; passphrase prompts switch that off themselves.
#[derive(Debug)]
pub(crate) struct WithoutEcho;

impl WithoutEcho {
    pub(crate) fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

pub(crate) fn width() -> Option<u16> {
    call::console_width()
}

pub(crate) fn takes_colours() -> bool {
    call::enable_ansi()
}

pub(crate) fn readable_within(_source: &impl Readable, _patience: Duration) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn path_of_descriptor(number: u32) -> PathBuf {
    PathBuf::from(format!("descriptor {number}"))
}

pub(crate) fn unbuffered_input() -> io::Result<File> {
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}

pub(crate) fn is_descriptor(_: &std::path::Path) -> bool {
    false
}

pub(crate) fn unbuffered_output() -> io::Result<File> {
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}

pub(crate) fn silence_errors() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn silence() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
