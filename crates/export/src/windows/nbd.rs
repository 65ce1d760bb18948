//! Windows has no clients of NBD over unix sockets: nothing is served.

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

/// A server: there is none.
pub enum Server {}

impl Server {
    /// Ends it.
    pub fn stop(self) {
        match self {}
    }
}

/// Refuses.
///
/// # Errors
/// [`ExportError::Option`]: nothing is served here.
pub fn serve(
    _device: Arc<dyn BlockDevice>,
    _socket: &Path,
    _options: &NbdOptions,
) -> Result<Server, ExportError> {
    Err(crate::not_here())
}
