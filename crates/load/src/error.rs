//! What can go wrong while a load runs.

use std::io;

use crate::{MAX_BLOCK_SIZE, MAX_QUEUE_DEPTH, Operation};

/// Why a job did not run or did not finish.
///
/// Offsets count bytes from the start of the surface's extent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The device or file system refused a request.
    #[error("{operation} of {len} bytes at offset {offset} failed")]
    Io {
        /// What was attempted.
        operation: Operation,
        /// Where, from the start of the extent.
        offset: u64,
        /// Bytes of the request.
        len: u32,
        /// The system's reason.
        source: io::Error,
    },
    /// A request moved fewer bytes than asked: the file is shorter than the extent, or the storage
    /// is full.
    #[error("{operation} at offset {offset} moved {got} of {wanted} bytes; {}", short_reason(*operation))]
    Short {
        /// What was attempted.
        operation: Operation,
        /// Where, from the start of the extent.
        offset: u64,
        /// Bytes of the request.
        wanted: u32,
        /// Bytes that were moved.
        got: u32,
    },
    /// Flushing written data to the device failed.
    #[error("flushing written data to the device failed")]
    Sync {
        /// The system's reason.
        source: io::Error,
    },
    /// The block size is zero, not whole sectors, or larger than [`MAX_BLOCK_SIZE`].
    #[error(
        "block size {block_size} is not a multiple of 512 bytes between 512 and {MAX_BLOCK_SIZE}"
    )]
    BlockSize {
        /// Bytes per request.
        block_size: u64,
    },
    /// The block size is not a multiple of the inline layer's data unit.
    #[error("block size {block_size} is not a multiple of the {unit}-byte data unit")]
    BlockNotUnits {
        /// Bytes per request.
        block_size: u64,
        /// Bytes under one tweak.
        unit: u64,
    },
    /// The queue depth is zero or larger than [`MAX_QUEUE_DEPTH`].
    #[error("queue depth {queue_depth} is not between 1 and {MAX_QUEUE_DEPTH}")]
    QueueDepth {
        /// Requests in flight.
        queue_depth: u32,
    },
    /// The extent holds not even one block.
    #[error("the extent of {len} bytes is smaller than one block of {block_size} bytes")]
    ExtentTooSmall {
        /// Bytes of the extent.
        len: u64,
        /// Bytes per request.
        block_size: u64,
    },
    /// The extent does not start or end where it must.
    #[error("the extent (offset {offset}, {len} bytes) is not aligned to {unit} bytes")]
    ExtentUnaligned {
        /// First byte of the extent in the file.
        offset: u64,
        /// Bytes of the extent.
        len: u64,
        /// Bytes that offset or length must be a multiple of.
        unit: u64,
    },
    /// The extent ends beyond the largest file offset (2^63 - 1).
    #[error("the extent (offset {offset}, {len} bytes) ends beyond the largest file offset")]
    ExtentRange {
        /// First byte of the extent in the file.
        offset: u64,
        /// Bytes of the extent.
        len: u64,
    },
    /// Block size times queue depth asks for more memory than half of the machine's.
    #[error(
        "the buffers need {wanted} bytes, more than the {limit} allowed; lower block size or queue depth"
    )]
    Memory {
        /// Bytes needed.
        wanted: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// io_uring was asked for by name and cannot be used here.
    #[error("io_uring cannot be used here: {reason}")]
    Unavailable {
        /// Why, in words.
        reason: String,
    },
    /// The engine could not be made ready, or its kernel interface failed.
    #[error("{what} failed")]
    Setup {
        /// What was being done.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The stop flag ended a [prefill](crate::Engine::prefill) before the extent was filled.
    #[error("interrupted before the extent was filled")]
    Interrupted,
    /// The inline layer panicked in an I/O thread.
    #[error("the inline layer panicked")]
    Panicked,
}

fn short_reason(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "the file ends there",
        Operation::Write => "the storage or a file size limit is exhausted",
    }
}
