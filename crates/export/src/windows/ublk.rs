//! Windows has no ublk.

use std::fs::File;
use std::sync::Arc;

use cryptbench_blockdev::BlockDevice;

use crate::{ExportError, Prepared};

/// What the kernel would be told of a disk.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    /// Bytes.
    pub size: u64,
    /// Bytes that a request should be a multiple of.
    pub sector: usize,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Any number.
    pub mark: u64,
}

/// A served disk: there is none.
pub enum Server {}

impl Server {
    /// Whether it has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        match *self {}
    }

    /// Ends it.
    pub fn stop(&self) {
        match *self {}
    }
}

/// Refuses.
///
/// # Errors
/// [`ExportError::Option`]: nothing is served here.
pub fn serve(
    _device: Arc<dyn BlockDevice>,
    _connection: File,
    _read_only: bool,
    _prepared: Prepared,
) -> Result<Server, ExportError> {
    Err(crate::not_here())
}
