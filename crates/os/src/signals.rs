//! Signals that ask a program to end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// Calls `tell` on a separate thread each time this process is asked to end (Linux: SIGINT,
/// SIGTERM, SIGHUP). From now on, these signals no longer end the process by themselves.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if it has no such signals.
pub fn when_asked_to_end(tell: impl FnMut() + Send + 'static) -> io::Result<()> {
    crate::system::signals::when_asked_to_end(tell)
}

/// What signals that end a command in good order set, instead of ending the process at once.
#[derive(Clone, Debug, Default)]
pub struct Raised {
    /// Raised by each of them.
    pub stop: Arc<AtomicBool>,
    /// The number of the last one, as on Linux; 0 before any came.
    pub number: Arc<AtomicUsize>,
}

/// Has signals set `raised` from now on (Linux: SIGINT, SIGTERM, SIGHUP; Windows: Ctrl-C, Ctrl-Break, the closing of the
/// console). While `prompting` is set, SIGTERM and SIGHUP end the process as usual. On Linux, what exceeds a limit on
/// the size of files then fails with an error instead of ending the process.
///
/// # Errors
/// The operating system's error.
pub fn raise(raised: &Raised, prompting: &Arc<AtomicBool>) -> io::Result<()> {
    crate::system::signals::raise(raised, prompting)
}
