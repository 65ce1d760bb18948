//! The work of one workload of a profile.

use crate::{Content, Direction, Flush, Pattern, Rate, Start};

/// Size in bytes of the largest small file; each file is written from memory in one piece.
pub(crate) const MAX_SMALL_FILE: u64 = 16 << 20;

/// Maximum number of requests whose offset and latency are recorded.
pub(crate) const MAX_SAMPLES: u32 = 100_000;

/// The work of one workload of a profile.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Requests to a file or device.
    Block(BlockWork),
    /// One action on many small files.
    Files(FileWork),
    /// Opening an encrypted volume.
    Unlock(UnlockWork),
}

/// Requests to a file or device.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockWork {
    /// The operations of the requests.
    pub direction: Direction,
    /// The order of offsets.
    pub pattern: Pattern,
    /// Where the pattern starts.
    pub start: Start,
    /// Request size in bytes, a multiple of 512.
    pub block_size: u64,
    /// Number of requests in flight per thread, 1 to [`MAX_QUEUE_DEPTH`](crate::MAX_QUEUE_DEPTH).
    pub queue_depth: u32,
    /// Threads, 1 to [`MAX_THREADS`](crate::MAX_THREADS).
    pub threads: u32,
    /// The time or amount of data that a trial measures.
    pub amount: WorkAmount,
    /// When written data must be on the device.
    pub flush: Flush,
    /// The content of written data.
    pub content: Content,
    /// Rate limit, if any.
    pub rate: Option<Rate>,
    /// Number of requests whose offset and latency are recorded.
    pub samples: u32,
    /// The file used.
    pub file: FileUse,
    /// State of the page cache when a trial begins; irrelevant for direct I/O.
    pub cache: Cache,
    /// Whether requests go through a stdio buffer, as with fwrite(3) and fread(3).
    pub stdio: bool,
}

/// The time or amount of data that a trial of a workload measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkAmount {
    /// The duration of a trial.
    #[default]
    Time,
    /// This number of bytes.
    Bytes(u64),
    /// The size of the storage in bytes, which is known only in a run: [`Profile::over`](super::Profile::over).
    Whole,
}

/// The file that a trial's requests access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// The given number of bytes at the start of the filled scratch file; if `None`, the whole file.
    Scratch(Option<u64>),
    /// A new, empty file for each trial, which grows to this number of bytes.
    Fresh(u64),
}

/// State of the page cache when a trial begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// Holds nothing of the file.
    #[default]
    Cold,
    /// Holds whatever earlier trials left.
    Warm,
}

/// One action on many small files.
#[derive(Clone, Debug, PartialEq)]
pub struct FileWork {
    /// The action on each file.
    pub action: FileAction,
    /// Number of files.
    pub count: u32,
    /// Their sizes.
    pub sizes: FileSizes,
}

cryptbench_catalog::named! {
    /// The action on each file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FileAction {
        /// Creates and writes the files, then flushes all of them at the end.
        Create = "create",
        /// stat(2).
        Stat = "stat",
        /// Opens each file and reads it to the end.
        Read = "read",
        /// rename(2) within its directory.
        Rename = "rename",
        /// unlink(2).
        Delete = "delete",
    }
}

impl Default for FileUse {
    fn default() -> Self {
        Self::Scratch(None)
    }
}

impl BlockWork {
    /// Requests of one thread to the whole scratch file, with timed trials and defaults for everything else.
    pub fn new(direction: Direction, pattern: Pattern, block_size: u64, queue_depth: u32) -> Self {
        Self {
            direction,
            pattern,
            start: Start::default(),
            block_size,
            queue_depth,
            threads: 1,
            amount: WorkAmount::default(),
            flush: Flush::default(),
            content: Content::default(),
            rate: None,
            samples: 0,
            file: FileUse::default(),
            cache: Cache::default(),
            stdio: false,
        }
    }
}

impl Work {
    /// Request size in bytes; for small files, the mean size of a file; 0 for a volume.
    pub fn block_size(&self) -> u64 {
        match self {
            Self::Block(block) => block.block_size,
            Self::Files(files) => files.sizes.mean(),
            Self::Unlock(_) => 0,
        }
    }

    /// Whether the storage is read or written completely, from the first to the last byte.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Block(block) if block.amount == WorkAmount::Whole)
    }
}

impl FileSizes {
    /// Upper limit of log-normal sizes in bytes.
    pub const CAP: u64 = 1 << 20;

    /// Mean size in bytes, not taking the upper limit into account.
    pub fn mean(self) -> u64 {
        match self {
            Self::Fixed(bytes) => bytes,
            Self::LogNormal { median, sigma } => {
                (median as f64 * (sigma * sigma / 2.0).exp()) as u64
            }
        }
    }
}

/// Sizes of small files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FileSizes {
    /// One size for all files, in bytes.
    Fixed(u64),
    /// Sizes whose logarithm is normally distributed, derived from the seed and limited to 1 MiB.
    LogNormal {
        /// Median in bytes.
        median: u64,
        /// Standard deviation of ln(size).
        sigma: f64,
    },
}

/// Opening an encrypted volume: the time from the passphrase to the first block read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnlockWork {
    /// Whether the passphrase is correct.
    pub right: bool,
    /// Whether the PRF is specified; otherwise all PRFs of the format are tried.
    pub prf_known: bool,
}
