//! NBD clients on Windows do not support Unix sockets, so nothing can be served.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use cryptbench_blockdev::BlockDevice;

use crate::ExportError;

/// Options of [`serve`].
#[derive(Clone, Debug, Default)]
pub struct NbdOptions {
    /// Refuses every write.
    pub read_only: bool,
    /// Offers TRIM.
    pub discard: bool,
}

/// A server: not available.
pub enum Server {}

impl Server {
    /// Stops the server.
    pub fn stop(self) {
        match self {}
    }
}

/// Always fails.
///
/// # Errors
/// [`ExportError::Option`]: nothing can be served on Windows.
pub fn serve(
    _device: Arc<dyn BlockDevice>,
    _socket: &Path,
    _options: &NbdOptions,
) -> Result<Server, ExportError> {
    Err(crate::not_here())
}

/// A listening socket: not available.
pub enum NbdSocket {}

impl NbdSocket {
    /// Always fails.
    ///
    /// # Errors
    /// [`ExportError::Option`]: nothing can be served on Windows.
    pub fn new(_path: &Path) -> Result<Self, ExportError> {
        Err(crate::not_here())
    }

    /// The argument of a server.
    pub fn listener(&self) -> &File {
        match *self {}
    }
}

/// Always fails.
///
/// # Errors
/// [`ExportError::Option`]: nothing can be served on Windows.
pub fn serve_on(
    _device: Arc<dyn BlockDevice>,
    _listener: File,
    _options: &NbdOptions,
) -> Result<Server, ExportError> {
    Err(crate::not_here())
}
