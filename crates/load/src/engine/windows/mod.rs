//! Engine features specific to Windows: a completion port and durable writes, but no stdio streams.

mod port;

use std::io;

pub(super) use self::port::Queue;
use super::transfer::Transfer;
use crate::LoadError;

/// A stream of the C library; Windows has several C libraries, and profiles do not specify which one to measure.
pub(super) enum Stream {}

impl Stream {
    pub(super) fn open(_: &Transfer) -> Result<Self, LoadError> {
        let source = io::ErrorKind::Unsupported.into();
        Err(LoadError::Setup { what: "opening a stdio stream", source })
    }

    pub(super) fn write(&mut self, _: &[u8], _: u64) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn read(&mut self, _: &mut [u8], _: u64) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn end(&mut self) -> io::Result<()> {
        match *self {}
    }
}

/// Writes data, and returns only when the data is on stable storage.
pub(super) fn write_through(transfer: &Transfer, data: &[u8], at: u64) -> io::Result<usize> {
    let moved = cryptbench_os::files::write_at(&transfer.file, data, at)?;
    transfer.file.sync_data()?;
    Ok(moved)
}
