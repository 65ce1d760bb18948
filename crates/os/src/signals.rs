//! Signals by which a program is asked to end.

use std::io;

/// Calls `tell` each time that this process is asked to end (Linux: SIGINT, SIGTERM, SIGHUP), on a thread of its own. From
/// now on, being asked ends nothing by itself.
///
/// # Errors
/// What the system says; [`io::ErrorKind::Unsupported`] where it has no such signals.
pub fn when_asked_to_end(tell: impl FnMut() + Send + 'static) -> io::Result<()> {
    crate::system::signals::when_asked_to_end(tell)
}
