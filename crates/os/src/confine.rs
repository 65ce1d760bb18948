//! A process without the rights that its work does not need: another user's, no new ones, and few system calls.

use std::io;

/// What a confined process is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// It takes connections on a socket that it was given.
    pub sockets: bool,
    /// It uses rings of io_uring that it has already made. No filter sees what a ring is asked for, so each must refuse what
    /// it is not for.
    pub rings: bool,
}

/// Makes this process of root's, which must have a single thread, that of a user whom nobody is and no other process has, so
/// that no user can signal, stop or trace it. Where no such user can be had, as in some containers, it gives up every
/// capability but the one to lock memory. Does nothing in a process of another user's.
///
/// # Errors
/// The operating system's error, if rights remain.
pub fn give_up_rights() -> io::Result<()> {
    crate::system::confine::give_up_rights()
}

/// Lets this process, which must have a single thread, gain no rights by executing a program, and open, execute, connect or
/// trace nothing from now on. What is refused fails with `EPERM`. Later threads are confined, too.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if it has no filters for system calls.
pub fn confine(needs: Needs) -> io::Result<()> {
    crate::system::confine::confine(needs)
}
