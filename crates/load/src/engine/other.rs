//! Engine features on other systems: durable writes, but neither io_uring nor stdio streams.

use std::io;
use std::sync::atomic::AtomicBool;

use cryptbench_blockdev::IoTarget;

use super::transfer::{Task, Transfer};
use crate::LoadError;
use crate::offsets::OffsetGenerator;
use crate::window::Sink;

/// An engine that does not exist here.
pub(super) enum Uring {}

impl Uring {
    pub(super) fn probe(_: bool) -> Result<Self, String> {
        Err("this is not Linux".to_owned())
    }

    pub(super) fn name(&self) -> &'static str {
        match *self {}
    }

    pub(super) fn details(&self) -> String {
        match *self {}
    }

    pub(super) fn check(&self, _: &IoTarget) -> Result<(), LoadError> {
        match *self {}
    }

    pub(super) fn takes_pool(&self, _: &Task) -> bool {
        match *self {}
    }

    pub(super) fn drive<P: OffsetGenerator, S: Sink>(
        &mut self,
        _: &Task,
        _: P,
        _: &mut S,
        _: &dyn Fn(u64),
        _: &AtomicBool,
    ) -> Result<bool, LoadError> {
        match *self {}
    }

    pub(super) fn drive_pool<P: OffsetGenerator, S: Sink + Send + 'static>(
        &mut self,
        _: &Task,
        _: P,
        _: impl Fn() -> S,
        _: &dyn Fn(u64),
        _: &AtomicBool,
        _: &mut dyn FnMut(),
    ) -> Result<(Vec<S>, bool), LoadError> {
        match *self {}
    }
}

/// A stream that does not exist here.
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

/// Writes data so that the call returns only when the data is on stable storage.
pub(super) fn write_through(transfer: &Transfer, data: &[u8], at: u64) -> io::Result<usize> {
    let moved = cryptbench_os::files::write_at(&transfer.file, data, at)?;
    transfer.file.sync_data()?;
    Ok(moved)
}
