//! Errors of a load.

use cryptbench_text::shown;
use std::io;
use std::path::PathBuf;

use crate::{MAX_BLOCK_SIZE, MAX_QUEUE_DEPTH, MAX_THREADS, Operation};

/// Why a job did not run or did not finish.
///
/// Offsets count bytes from the start of the I/O target's extent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The device or file system refused a request.
    #[error("{operation} of {len} bytes at offset {offset} failed")]
    Io {
        /// The operation that failed.
        operation: Operation,
        /// Offset from the start of the extent, bytes.
        offset: u64,
        /// Bytes of the request.
        len: u32,
        /// The operating system's error.
        source: io::Error,
    },
    /// A request transferred fewer bytes than requested: the file is shorter than the extent, or the storage is full.
    #[error("{operation} at offset {offset} transferred {got} of {wanted} bytes; {}", short_reason(*operation))]
    Short {
        /// The operation that fell short.
        operation: Operation,
        /// Offset from the start of the extent, in bytes.
        offset: u64,
        /// Bytes of the request.
        wanted: u32,
        /// Bytes that were moved.
        got: u32,
    },
    /// Written data could not be flushed to the device.
    #[error("flushing written data to the device failed")]
    Sync {
        /// The operating system's error.
        source: io::Error,
    },
    /// The block size is zero, not a multiple of the sector size, or larger than [`MAX_BLOCK_SIZE`].
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
    /// The number of threads is zero or larger than [`MAX_THREADS`].
    #[error("{threads} threads are not between 1 and {MAX_THREADS}")]
    Threads {
        /// Threads of the job.
        threads: u32,
    },
    /// The exponent of a Zipf distribution is out of range.
    #[error("theta {theta} of a Zipf pattern is not above 0 and at most 100; 0.8 to 1.2 are usual")]
    Theta {
        /// Exponent.
        theta: f64,
    },
    /// The stride is below 2.
    #[error("a stride of {stride} blocks is too small; use 2 or more, or the sequential pattern")]
    Stride {
        /// Distance between consecutive requests in blocks.
        stride: u32,
    },
    /// A sampled pattern has no blocks, or has more blocks than the extent.
    #[error(
        "{points} points of {run} blocks do not fit into an extent of {blocks} blocks; lower the points, \
         their runs or the block size"
    )]
    Sampled {
        /// Number of points.
        points: u32,
        /// Blocks at each point.
        run: u32,
        /// Blocks of the extent.
        blocks: u64,
    },
    /// The share of reads leaves only reads or only writes.
    #[error(
        "a mix cannot have {read_percent} % reads; use 1 to 99, or a job that only reads or only writes"
    )]
    ReadPercent {
        /// Share of reads.
        read_percent: u8,
    },
    /// The compressible share is out of range.
    #[error(
        "{percent} % compressible is not between 1 and 99; use random content or zeros instead"
    )]
    CompressPercent {
        /// Share.
        percent: u8,
    },
    /// A flush interval of 0 writes.
    #[error("a flush after every 0 writes is impossible; use 1 or more, or no flush")]
    FlushInterval,
    /// A flush at the end of a timed job.
    #[error(
        "a flush at the end requires a job with an amount of bytes; a timed job has no last request"
    )]
    FlushAtNoEnd,
    /// A job of 0 bytes.
    #[error("a job of 0 bytes measures nothing; use an amount of at least one request")]
    NoBytes,
    /// The rate limit is not a positive number.
    #[error("a rate of {rate} per second is not above 0; leave it out for no limit")]
    Rate {
        /// Requests or bytes per second.
        rate: f64,
    },
    /// A job that cannot be executed through a stdio buffer.
    #[error(
        "a stdio buffer requires sequential reads or writes of one thread, one request at a time, and no \
        flush before the end"
    )]
    Stdio,
    /// [Preconditioning](crate::Engine::precondition) that does not fill the extent.
    #[error(
        "preconditioning writes every block in sequential order or in a permutation, once or more"
    )]
    Precondition,
    /// A job that cannot be verified: its writes have no verify headers, or do not cover whole units of the map.
    #[error(
        "a job that will be verified must write data with verify headers in multiples of {unit} bytes"
    )]
    Untraceable {
        /// Bytes covered by one acknowledgement.
        unit: u64,
    },
    /// The extent is smaller than one block.
    #[error("the extent of {len} bytes is smaller than one block of {block_size} bytes")]
    ExtentTooSmall {
        /// Bytes of the extent.
        len: u64,
        /// Bytes per request.
        block_size: u64,
    },
    /// The extent does not start or end at a multiple of `unit`.
    #[error("the extent (offset {offset}, {len} bytes) is not aligned to {unit} bytes")]
    ExtentUnaligned {
        /// First byte of the extent in the file.
        offset: u64,
        /// Bytes of the extent.
        len: u64,
        /// Required alignment in bytes.
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
    /// The buffers of all requests in flight would need more than half of the machine's memory.
    #[error(
        "the buffers need {wanted} bytes, more than the {limit} allowed; lower block size, queue depth or \
         threads"
    )]
    Memory {
        /// Bytes needed.
        wanted: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The requested engine cannot be used on this system.
    #[error("{engine} cannot be used here: {reason}")]
    Unavailable {
        /// The engine.
        engine: &'static str,
        /// The reason, in words.
        reason: String,
    },
    /// The engine could not be set up, or its kernel interface failed.
    #[error("{what} failed")]
    Setup {
        /// The step that failed.
        what: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// An operation on a small file or its folder failed.
    #[error("cannot {action} {}", shown(path))]
    File {
        /// The operation, as a verb.
        action: &'static str,
        /// File or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A small file does not contain the data that was written to it.
    #[error("{} does not contain the written data, from byte {offset} on", shown(path))]
    FileContent {
        /// The file.
        path: PathBuf,
        /// First byte that differs or is missing.
        offset: u64,
    },
    /// The folder of a set of small files is not the folder that this run created, and is therefore left unchanged.
    #[error("{} is not the directory that this run created; it was not changed", shown(path))]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// The stop flag ended a [prefill](crate::Engine::prefill) or a
    /// [verification](crate::Acknowledged::verify) before its end.
    #[error("interrupted before the whole extent was done")]
    Interrupted,
    /// The inline layer panicked in an I/O thread.
    #[error("the inline layer panicked")]
    Panicked,
}

impl LoadError {
    /// [`LoadError::File`] from the system's error.
    pub(crate) fn file(action: &'static str, path: PathBuf, source: io::Error) -> Self {
        Self::File { action, path, source }
    }
}

fn short_reason(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "the file ends there",
        Operation::Write => "the storage or a file size limit is exhausted",
    }
}
