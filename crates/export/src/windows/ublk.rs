//! Windows does not support ublk: this module contains only the parameters of a disk.

use std::fs::File;
use std::sync::Arc;

use cryptbench_blockdev::BlockDevice;

use crate::{ExportError, Prepared};

#[path = "../ublk/disk.rs"]
mod disk;

pub use disk::Disk;

pub use crate::fuse::Server;

/// Always fails.
///
/// # Errors
/// [`ExportError::Option`]: nothing can be served on Windows.
pub fn serve(
    _device: Arc<dyn BlockDevice>,
    _connection: File,
    _read_only: bool,
    _prepared: Prepared,
) -> Result<Server, ExportError> {
    Err(crate::not_here())
}
