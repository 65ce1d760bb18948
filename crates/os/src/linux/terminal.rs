//! Descriptors 0 to 2, and the properties of the terminal.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin, stdout};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// A file name by which a child process can write to its standard output.
pub const STDOUT: &str = "/dev/stdout";

/// Anything that can be waited on until it is readable: files, pipes, terminals.
pub trait Readable: AsFd {}

impl<T: AsFd> Readable for T {}

/// The terminal of this process while it does not show what is typed. Dropping it restores the terminal.
#[derive(Debug)]
pub(crate) struct WithoutEcho {
    terminal: File,
    before: Termios,
}

impl WithoutEcho {
    pub(crate) fn new() -> io::Result<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty")?;
        let before = tcgetattr(&terminal)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Now, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for WithoutEcho {
    fn drop(&mut self) {
        // Nothing else can be done for a terminal that has gone away.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

pub(crate) fn width() -> Option<u16> {
    Some(rustix::termios::tcgetwinsize(stdout()).ok()?.ws_col)
}

/// `TERM` identifies terminals without ANSI sequences; the code that prints colours checks this variable.
pub(crate) fn takes_colours() -> bool {
    true
}

pub(crate) fn readable_within(source: &impl Readable, patience: Duration) -> io::Result<bool> {
    let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(source, PollFlags::IN)], Some(&patience)) {
        Ok(0) | Err(Errno::INTR) => Ok(false),
        ready => Ok(ready.map(|_| true)?),
    }
}

pub(crate) fn path_of_descriptor(number: u32) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{number}"))
}

pub(crate) fn unbuffered_input() -> io::Result<File> {
    Ok(stdin().try_clone_to_owned()?.into())
}

pub(crate) fn is_descriptor(path: &Path) -> bool {
    ["/dev/fd", "/dev/stdin", "/proc/self"].iter().any(|own| path.starts_with(own))
}

pub(crate) fn unbuffered_output() -> io::Result<File> {
    Ok(stdout().try_clone_to_owned()?.into())
}

pub(crate) fn silence_errors() -> io::Result<()> {
    Ok(dup2_stderr(nowhere()?)?)
}

fn nowhere() -> io::Result<File> {
    File::options().read(true).write(true).open("/dev/null")
}

pub(crate) fn silence() -> io::Result<()> {
    let nowhere = nowhere()?;
    dup2_stdin(&nowhere)?;
    dup2_stdout(&nowhere)?;
    Ok(dup2_stderr(&nowhere)?)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_pipe_is_readable_once_something_is_in_it_or_nobody_writes() {
        let (reader, mut writer) = io::pipe().unwrap();
        let readable = |patience| readable_within(&reader, Duration::from_millis(patience));
        assert!(!readable(10).unwrap());
        writer.write_all(b"x").unwrap();
        assert!(readable(1000).unwrap());
        drop(writer);
        assert!(readable(1000).unwrap());
    }
}
