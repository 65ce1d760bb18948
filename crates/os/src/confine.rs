//! Drops the privileges that a process does not need for its work: afterwards, the process has another user, no new
//! privileges, and few system calls.

use std::io;

/// The work of a confined process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The process accepts connections on a socket that it received.
    pub sockets: bool,
    /// The process uses io_uring rings that it created earlier. Filters do not see ring requests, so each ring must
    /// refuse the operations that it does not need.
    pub rings: bool,
}

/// Changes this root process, which must have a single thread, to an otherwise unused user ID that no other process
/// has, so that no user can signal, stop or trace it. If there is no such user ID, as in some containers, the process
/// drops every capability except the one to lock memory. Does nothing in a process that does not run as root.
///
/// # Errors
/// The operating system's error, if privileges remain.
pub fn give_up_rights() -> io::Result<()> {
    crate::system::confine::give_up_rights()
}

/// Prevents this process, which must have a single thread, from gaining privileges by executing a program, and from
/// opening, executing, connecting to or tracing anything from now on. Refused calls fail with `EPERM`. Later threads
/// are confined as well.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if the operating system has no filters for
/// system calls.
pub fn confine(needs: Needs) -> io::Result<()> {
    crate::system::confine::confine(needs)
}
