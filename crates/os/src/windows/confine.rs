//! Confined processes: on Windows, nothing is served that would need such a process.

use std::io;

use crate::confine::Needs;

pub(crate) fn give_up_rights() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn confine(_: Needs) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
