//! Messages with open files between a process and its child.

use std::fs::File;
use std::io;
use std::process::Stdio;

use crate::terminal::Readable;

/// Maximum size of a message in bytes: enough for any path.
pub const MOST: usize = 4608;

/// One end of a channel.
#[derive(Debug)]
pub struct Channel(crate::system::channel::End);

impl Channel {
    /// A new channel: this process's end, and the other end as a child's standard input.
    ///
    /// # Errors
    /// The operating system's error; [`io::ErrorKind::Unsupported`] if files cannot be sent.
    pub fn to_child() -> io::Result<(Self, Stdio)> {
        let (ours, theirs) = crate::system::channel::pair()?;
        Ok((Self(ours), theirs.into()))
    }

    /// The end of a channel that is this process's standard input.
    ///
    /// # Errors
    /// As for [`to_child`](Self::to_child).
    pub fn to_parent() -> io::Result<Self> {
        crate::system::channel::standard_input().map(Self)
    }

    /// Sends a message of 1 to [`MOST`] bytes with at most 64 open files.
    ///
    /// # Errors
    /// The operating system's error; [`io::ErrorKind::BrokenPipe`] if the other end is gone.
    pub fn send(&self, message: &[u8], files: &[&File]) -> io::Result<()> {
        self.0.send(message, files)
    }

    /// Waits for a message. The message is empty if the other end is gone.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn receive(&self) -> io::Result<(Vec<u8>, Vec<File>)> {
        self.0.receive()
    }

    /// The descriptor on which to wait until a message has arrived or the other end is gone.
    pub fn readable(&self) -> &impl Readable {
        &self.0
    }
}
