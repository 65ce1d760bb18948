//! Processes: only what the standard library offers for children.

use std::io;
use std::process::{Child, Command, ExitStatus};

pub(crate) fn started(_process: u32) -> Option<u64> {
    None
}

pub(crate) fn has_ended(_process: u32) -> bool {
    true
}

pub(crate) fn cpu_s(_process: u32) -> Option<f64> {
    None
}

pub(crate) fn exists(_process: u32) -> bool {
    true
}

/// Never exists.
#[derive(Debug)]
pub(crate) struct Handle;

impl Handle {
    pub(crate) fn open(_process: u32) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn interrupt(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn terminate(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

pub(crate) fn terminate(_child: &Child) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn this_program() -> io::Result<Command> {
    Ok(Command::new(std::env::current_exe()?))
}

pub(crate) fn in_own_group(command: &mut Command) -> &mut Command {
    command
}

pub(crate) fn ended_by(_status: ExitStatus) -> Option<i32> {
    None
}

pub(crate) fn leave_terminal() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn keep_from_dumps() {}

pub(crate) fn keep_from_swap() {}
