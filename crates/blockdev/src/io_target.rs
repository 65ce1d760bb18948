//! The I/O target that a system offers and a load engine drives.

use std::fs::File;
use std::sync::Arc;

use crate::SectorTransform;

/// A run of bytes within a file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte, from the start of the file or device.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}

/// How requests pass the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoMode {
    /// `O_DIRECT`: requests go to the device.
    Direct,
    /// Through the page cache, which the runner drops between trials.
    Buffered,
}

/// Where a load reads and writes, and through which inline layer.
///
/// An I/O target knows nothing of encryption systems: the load engine cannot tell one arm from
/// another, and so cannot favour it.
#[derive(Clone)]
pub struct IoTarget {
    /// Open for reading and writing, with the flags that [`mode`](Self::mode) implies.
    pub file: Arc<File>,
    /// The bytes of the file that belong to this I/O target.
    pub extent: Extent,
    /// Whether the page cache is bypassed.
    pub mode: IoMode,
    /// The inline encryption layer; `None` means requests carry the caller's buffer as it is.
    pub transform: Option<Arc<dyn SectorTransform>>,
}
