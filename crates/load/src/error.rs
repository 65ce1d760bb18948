//! What can go wrong while a load runs.

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
    /// The number of threads is zero or larger than [`MAX_THREADS`].
    #[error("{threads} threads are not between 1 and {MAX_THREADS}")]
    Threads {
        /// Threads of the job.
        threads: u32,
    },
    /// The exponent of a Zipf distribution is none.
    #[error("theta {theta} of a Zipf pattern is not above 0 and at most 100; 0.8 to 1.2 are usual")]
    Theta {
        /// Exponent.
        theta: f64,
    },
    /// The stride is below 2.
    #[error("a stride of {stride} blocks is no stride; take 2 or more, or the sequential pattern")]
    Stride {
        /// Distance of consecutive requests in blocks.
        stride: u32,
    },
    /// A sampled pattern asks for no block, or for more blocks than there are.
    #[error(
        "{points} points of {run} blocks do not fit into an extent of {blocks} blocks; lower the points, \
         their runs or the block size"
    )]
    Sampled {
        /// Places.
        points: u32,
        /// Blocks at each.
        run: u32,
        /// Blocks of the extent.
        blocks: u64,
    },
    /// The share of reads leaves nothing to mix.
    #[error(
        "a mix of {read_percent} % reads is none; take 1 to 99, or a job that only reads or writes"
    )]
    ReadPercent {
        /// Share of reads.
        read_percent: u8,
    },
    /// The compressible share is out of range.
    #[error("{percent} % compressible is not between 1 and 99; take random content or zeros")]
    CompressPercent {
        /// Share.
        percent: u8,
    },
    /// A flush after every 0 writes.
    #[error("a flush after every 0 writes cannot be; take 1 or more, or no flush")]
    FlushInterval,
    /// A flush at the end of a job that a time ends.
    #[error(
        "a flush at the end needs a job with an amount of bytes; one that runs for a time has no last request"
    )]
    FlushAtNoEnd,
    /// A job of no bytes.
    #[error("a job of 0 bytes measures nothing; give an amount of at least one request")]
    NoBytes,
    /// The bound of the speed is not a positive number.
    #[error("a rate of {rate} per second is not above 0; leave it out for no bound")]
    Rate {
        /// Requests or bytes per second.
        rate: f64,
    },
    /// Something that a stdio buffer cannot carry.
    #[error(
        "a stdio buffer carries sequential reads or writes of one thread, one request at a time, flushed never \
         or at the end"
    )]
    Stdio,
    /// [Preconditioning](crate::Engine::precondition) that is not a fill.
    #[error(
        "preconditioning writes every block in sequential order or in a permutation, once or more"
    )]
    Precondition,
    /// A job that cannot be verified: its writes have no verify headers, or no whole units of the map.
    #[error(
        "a job that is to be verified writes data with verify headers in multiples of {unit} bytes"
    )]
    Untraceable {
        /// Bytes of which one acknowledgement is kept.
        unit: u64,
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
    /// Block size times requests in flight asks for more memory than half of the machine's.
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
    /// An engine was asked for by name and cannot be used here.
    #[error("{engine} cannot be used here: {reason}")]
    Unavailable {
        /// Which one.
        engine: &'static str,
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
    /// A small file or its folder could not be worked with.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was attempted, as a verb.
        action: &'static str,
        /// File or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A small file does not hold what was written to it.
    #[error("{} does not hold what was written, from byte {offset} on", path.display())]
    FileContent {
        /// The file.
        path: PathBuf,
        /// First byte that differs or is missing.
        offset: u64,
    },
    /// The folder of a set of small files is another one than was made, and is left alone.
    #[error("{} is not the folder that this run made; it is left alone", path.display())]
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
    /// [`LoadError::File`] from what the system said.
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
