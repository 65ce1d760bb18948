//! A process without the rights that its work does not need: another user's, no new ones, and few system calls.

use std::fs::File;
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

/// The user whose rights suffice for a process of root's that serves `file`: its owner, otherwise who asked for root's
/// rights by sudo(8), otherwise `nobody`. `None` if this process is not root's, or the system has no such users.
#[must_use]
pub fn user_for(file: &File) -> Option<u32> {
    crate::system::confine::user_for(file)
}

/// Makes this process of root's, which must have a single thread, that of `user` without any group, for good.
///
/// # Errors
/// The operating system's error, such as in a container that has no such user.
pub fn become_user(user: u32) -> io::Result<()> {
    crate::system::confine::become_user(user)
}

/// Lets this process, which must have a single thread, gain no rights by executing a program, and open, execute, connect or
/// trace nothing from now on. What is refused fails with `EPERM`. Later threads are confined, too.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if it has no filters for system calls.
pub fn confine(needs: Needs) -> io::Result<()> {
    crate::system::confine::confine(needs)
}
