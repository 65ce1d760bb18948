//! Windows does not support FUSE: this module contains only its options.

use std::fs::File;
use std::sync::Arc;

use cryptbench_blockdev::BlockDevice;

use crate::{ExportError, Prepared};

#[path = "../fuse/options.rs"]
mod options;

pub use options::{FuseOptions, Transport};

/// A connection to the kernel: not available.
pub enum Connection {}

impl Connection {
    /// The argument of another process.
    pub fn files(&self) -> &[File] {
        match *self {}
    }
}

/// A served mount: not available.
pub enum Server {}

impl Server {
    /// Whether it has finished.
    pub fn has_ended(&self) -> bool {
        match *self {}
    }

    /// Stops the server.
    pub fn stop(&self) {
        match *self {}
    }
}

/// Always fails.
///
/// # Errors
/// [`ExportError::Option`]: nothing can be served on Windows.
pub fn serve_mounted(
    _device: Arc<dyn BlockDevice>,
    _connection: Vec<File>,
    _options: &FuseOptions,
    _prepared: Prepared,
) -> Result<Server, ExportError> {
    Err(crate::not_here())
}
