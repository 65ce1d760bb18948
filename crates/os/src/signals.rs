//! Signals that ask a program to end.

use std::io;

/// Calls `tell` on a separate thread each time this process is asked to end (Linux: SIGINT,
/// SIGTERM, SIGHUP). From now on, these signals no longer end the process by themselves.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if it has no such signals.
pub fn when_asked_to_end(tell: impl FnMut() + Send + 'static) -> io::Result<()> {
    crate::system::signals::when_asked_to_end(tell)
}
