//! Signals that ask a program to exit.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// Calls `tell` on a separate thread each time this process is asked to exit (Linux: SIGINT, SIGTERM, SIGHUP).
/// From now on, these signals no longer kill the process.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if the system has no such signals.
pub fn when_asked_to_end(tell: impl FnMut() + Send + 'static) -> io::Result<()> {
    crate::system::signals::when_asked_to_end(tell)
}

/// The flag that termination signals set, instead of killing the process, so that it can exit in order.
#[derive(Clone, Debug, Default)]
pub struct Raised {
    /// Set by each termination signal.
    pub stop: Arc<AtomicBool>,
    /// The number of the last signal, as on Linux; 0 until a signal arrives.
    pub number: Arc<AtomicUsize>,
}

/// From now on signals set `raised` (Linux: SIGINT, SIGTERM, SIGHUP; Windows: Ctrl-C, Ctrl-Break, the closing of the
/// console). While `prompting` is set, SIGTERM and SIGHUP kill the process as usual. On Linux, a write beyond the file
/// size limit then fails with an error instead of killing the process.
///
/// # Errors
/// The operating system's error.
pub fn raise(raised: &Raised, prompting: &Arc<AtomicBool>) -> io::Result<()> {
    crate::system::signals::raise(raised, prompting)
}
