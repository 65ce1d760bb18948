//! Confined processes: Windows serves nothing that would need one.

use std::fs::File;
use std::io;

use crate::confine::Needs;

pub(crate) fn user_for(_: &File) -> Option<u32> {
    None
}

pub(crate) fn become_user(_: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn confine(_: Needs) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
