//! The I/O target: an encryption system provides it, and a load engine sends requests to it.

use std::fs::File;
use std::sync::Arc;

use crate::{SectorTransform, system};

/// A range of bytes within a file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte, from the start of the file or device.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}

/// How requests use the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoMode {
    /// `O_DIRECT`: requests go to the device.
    Direct,
    /// Through the page cache, which the runner drops between trials.
    Buffered,
}

/// The target of a load's reads and writes, with the inline layer, if any.
///
/// An I/O target has no information about encryption systems. The load engine therefore cannot distinguish the
/// arms, and cannot favour one.
#[derive(Clone)]
pub struct IoTarget {
    /// Open for reading and writing, with the flags for [`mode`](Self::mode).
    pub file: Arc<File>,
    /// The bytes of the file that belong to this I/O target.
    pub extent: Extent,
    /// Whether requests bypass the page cache.
    pub mode: IoMode,
    /// The inline encryption layer; `None` transfers the caller's buffer unchanged.
    pub transform: Option<Arc<dyn SectorTransform>>,
}

/// Marks a file in RAM as non-blocking, and returns whether the file is in RAM.
///
/// Requests to such a file never wait for a device. The kernel does not assume this for tmpfs, so io_uring passes every
/// request to a worker thread, which takes two wake-ups to copy 4 KiB. If the file is marked, the kernel copies the
/// data immediately.
pub fn never_waits(file: &File) -> bool {
    system::mark_if_in_memory(file)
}
