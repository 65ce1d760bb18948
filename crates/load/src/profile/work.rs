//! What one workload of a profile does.

use crate::{Content, Direction, Flush, Pattern, Rate, Start};

/// Largest of the small files: each is written from memory at once.
pub(crate) const MAX_SMALL_FILE: u64 = 16 << 20;

/// Most requests of which place and latency are recorded.
pub(crate) const MAX_SAMPLES: u32 = 100_000;

/// What one workload of a profile does.
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
    /// What the requests do.
    pub direction: Direction,
    /// Where consecutive requests go.
    pub pattern: Pattern,
    /// Where the pattern begins.
    pub start: Start,
    /// Bytes per request, a multiple of 512.
    pub block_size: u64,
    /// Requests in flight of each thread, 1 to [`MAX_QUEUE_DEPTH`](crate::MAX_QUEUE_DEPTH).
    pub queue_depth: u32,
    /// Threads, 1 to [`MAX_THREADS`](crate::MAX_THREADS).
    pub threads: u32,
    /// How much a trial measures.
    pub amount: WorkAmount,
    /// When written data must be on the device.
    pub flush: Flush,
    /// What is written.
    pub content: Content,
    /// Upper bound of the speed.
    pub rate: Option<Rate>,
    /// Requests of which place and latency are recorded.
    pub samples: u32,
    /// Which file is used.
    pub file: FileUse,
    /// What the page cache holds when a trial begins; direct I/O does not care.
    pub cache: Cache,
    /// Whether requests pass a stdio buffer, as fwrite(3) and fread(3) do.
    pub stdio: bool,
}

/// How much a trial of a workload measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkAmount {
    /// The trial's time.
    #[default]
    Time,
    /// So many bytes.
    Bytes(u64),
}

/// Which file the requests of a trial go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// The first so many bytes of the filled scratch file; the whole of it where there is no number.
    Scratch(Option<u64>),
    /// A new, empty file for each trial, which grows to so many bytes.
    Fresh(u64),
}

/// What the page cache holds when a trial begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// Nothing of the file.
    #[default]
    Cold,
    /// What the trials before left there.
    Warm,
}

/// One action on many small files.
#[derive(Clone, Debug, PartialEq)]
pub struct FileWork {
    /// What is done to each file.
    pub action: FileAction,
    /// Number of files.
    pub count: u32,
    /// Their sizes.
    pub sizes: FileSizes,
}

/// What is done to each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// Created and written, and all of them flushed at the end.
    Create,
    /// stat(2).
    Stat,
    /// Opened and read to its end.
    Read,
    /// rename(2) within its directory.
    Rename,
    /// unlink(2).
    Delete,
}

impl Default for FileUse {
    fn default() -> Self {
        Self::Scratch(None)
    }
}

impl BlockWork {
    /// Requests of one thread for the trial's time on the whole scratch file, all else at its default.
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
    /// Bytes per request; mean bytes per file for small files; 0 for a volume.
    pub fn block_size(&self) -> u64 {
        match self {
            Self::Block(block) => block.block_size,
            Self::Files(files) => files.sizes.mean(),
            Self::Unlock(_) => 0,
        }
    }

    /// Whether every request is whole data units of `unit` bytes.
    pub fn in_units(&self, unit: u64) -> bool {
        match self {
            Self::Block(block) => block.block_size.is_multiple_of(unit),
            Self::Files(_) | Self::Unlock(_) => true,
        }
    }
}

impl FileSizes {
    /// Cap of log-normal sizes in bytes.
    pub const CAP: u64 = 1 << 20;

    /// Mean size in bytes, the cap aside.
    pub fn mean(self) -> u64 {
        match self {
            Self::Fixed(bytes) => bytes,
            Self::LogNormal { median, sigma } => {
                (median as f64 * (sigma * sigma / 2.0).exp()) as u64
            }
        }
    }
}

impl FileAction {
    /// Every action.
    pub(crate) const ALL: &[Self] =
        &[Self::Create, Self::Stat, Self::Read, Self::Rename, Self::Delete];

    /// `create`, `stat`, `read`, `rename` or `delete`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Stat => "stat",
            Self::Read => "read",
            Self::Rename => "rename",
            Self::Delete => "delete",
        }
    }
}

/// Sizes of small files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FileSizes {
    /// All alike, bytes.
    Fixed(u64),
    /// ln(size) is normally distributed; sizes are drawn from the seed and capped at 1 MiB.
    LogNormal {
        /// Median in bytes.
        median: u64,
        /// Standard deviation of ln(size).
        sigma: f64,
    },
}

/// Opening an encrypted volume: from the passphrase to the first block read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnlockWork {
    /// Whether the passphrase is the right one.
    pub right: bool,
    /// Whether the opener is told the PRF, or has to try all that the format knows.
    pub prf_known: bool,
}
