//! A workload that runs for a given time or amount of data.

mod check;

use std::fmt;
use std::time::Duration;

use cryptbench_catalog as catalog;
use serde::Deserialize;

pub(crate) use self::check::{check_fill, check_range};

/// Largest queue depth.
pub const MAX_QUEUE_DEPTH: u32 = 1024;

/// Maximum number of threads of a job.
pub const MAX_THREADS: u32 = 256;

/// Largest block size in bytes (1 GiB, below the kernel's limit of 2 GiB per request).
pub const MAX_BLOCK_SIZE: u64 = 1 << 30;

cryptbench_catalog::named! {
    /// The operation of a request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Operation {
        /// Read from the I/O target.
        Read = "read",
        /// Write to the I/O target.
        Write = "write",
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The operations of a job's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Only reads.
    Read,
    /// Only writes.
    Write,
    /// The probability that a request is a read; the random choice depends on the job's seed.
    Mixed {
        /// Probability in percent, 1 to 99.
        read_percent: u8,
    },
}

impl Direction {
    /// `read`, `write` or `mixed`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Mixed { .. } => "mixed",
        }
    }

    /// Whether any request writes.
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read)
    }
}

impl From<Operation> for Direction {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Read => Self::Read,
            Operation::Write => Self::Write,
        }
    }
}

/// The order of offsets, in blocks of the extent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Block after block, continuing at the start after the end of the extent.
    Sequential,
    /// Any block of the extent, uniformly and independently.
    Random,
    /// Any block; the k-th most popular block has a probability proportional to k^-theta. The seed determines which
    /// blocks are popular.
    Zipf {
        /// Exponent, above 0.
        theta: f64,
    },
    /// Every block exactly once in a random order, then all blocks again in a different order.
    Permutation,
    /// From the last block to the first, then again from the last.
    Backward,
    /// Every `stride`-th block, continuing with the next residue after the end, so that one pass visits every block
    /// once (iozone's stride read).
    Strided {
        /// Distance between consecutive requests in blocks, at least 2.
        stride: u32,
    },
    /// The same block repeatedly (iozone's record rewrite).
    Same,
    /// `run` consecutive blocks at each of `points` points spread evenly over the extent, in ascending order, then
    /// again from the start (HD Tune's curve over the I/O target).
    Sampled {
        /// Number of points.
        points: u32,
        /// Blocks at each point.
        run: u32,
    },
}

impl Pattern {
    /// `sequential`, `random`, `zipf`, `permutation`, `backward`, `strided`, `same` or `sampled`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sequential => catalog::Pattern::Sequential.as_str(),
            Self::Random => catalog::Pattern::Random.as_str(),
            Self::Zipf { .. } => catalog::Pattern::Zipf.as_str(),
            Self::Permutation => catalog::Pattern::Permutation.as_str(),
            Self::Backward => catalog::Pattern::Backward.as_str(),
            Self::Strided { .. } => catalog::Pattern::Strided.as_str(),
            Self::Same => catalog::Pattern::Same.as_str(),
            Self::Sampled { .. } => catalog::Pattern::Sampled.as_str(),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The first block, for patterns that have a starting point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Start at a block derived from the seed, so that short jobs together cover the extent over many trials.
    #[default]
    Seeded,
    /// Start at the first block of the pattern.
    First,
}

/// The measured time or amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// For a time.
    Time {
        /// Unmeasured time before the measured time, in which the queues and caches of the device reach their steady
        /// state.
        ramp: Duration,
        /// Measured time. A request in flight at its end is still counted.
        duration: Duration,
    },
    /// This number of bytes, rounded up to whole requests. If this is more than one pass of the pattern, further passes
    /// follow. The time is measured from before the first request to the completion of the last request or flush.
    Bytes(u64),
}

/// When written data must be on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flush {
    /// A write is complete when the kernel reports its completion.
    #[default]
    Never,
    /// Each write completes only when it is on stable storage (`RWF_DSYNC`, like `O_DSYNC`).
    EachWrite,
    /// A flush after every n writes of a thread.
    Every {
        /// Number of writes between two flushes, at least 1.
        writes: u32,
        /// Use fdatasync(2) instead of fsync(2).
        data_only: bool,
        /// Whether the flush waits for all earlier requests of the thread, and the thread's next request waits for the
        /// flush, as in a database commit. Otherwise the flush is queued like a request: the next request follows
        /// immediately, and there is no flush after the last write, as with fio's `fsync=`.
        drained: bool,
    },
    /// One flush after the last request, within the measured time. Requires [`Amount::Bytes`].
    AtEnd,
}

/// The content of written data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Incompressible, with verify headers.
    #[default]
    Random,
    /// Zeros without verify headers, as written by `dd if=/dev/zero`.
    Zeros,
    /// Data with verify headers, in which this share of each 4 KiB is compressible.
    Compressible {
        /// Share in percent, 1 to 99.
        percent: u8,
    },
}

/// Maximum rate at which all threads of a job together submit requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Requests per second.
    Requests(f64),
    /// Bytes per second.
    Bytes(f64),
}

/// One workload for a given time or amount of data.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The operations of the requests.
    pub direction: Direction,
    /// The order of offsets.
    pub pattern: Pattern,
    /// Where the pattern starts.
    pub start: Start,
    /// Request size in bytes: a multiple of 512 and of the I/O target's data unit.
    pub block_size: u64,
    /// Number of requests in flight per thread, 1 to [`MAX_QUEUE_DEPTH`].
    pub queue_depth: u32,
    /// Number of threads that submit requests, 1 to [`MAX_THREADS`]; the threads share one sequence of offsets.
    pub threads: u32,
    /// The measured time or amount of data.
    pub amount: Amount,
    /// When written data must be on the device.
    pub flush: Flush,
    /// The content of written data.
    pub content: Content,
    /// Rate limit, if any.
    pub rate: Option<Rate>,
    /// Number of measured requests whose offset and latency are recorded: the first requests or, for a job with an
    /// amount of bytes, requests that are distributed evenly over the job.
    pub samples: u32,
    /// Determines the offsets: jobs with the same seed, pattern, block size and extent use the same
    /// offsets in the same order, for any I/O target and engine.
    pub seed: u64,
    /// Written into the verify headers, so that the job that wrote a sector can be identified later.
    pub generation: u64,
}

impl Job {
    /// One second of requests by one thread, without ramp, flush, rate limit or samples. Seed and generation are 0.
    pub fn new(
        direction: impl Into<Direction>,
        pattern: Pattern,
        block_size: u64,
        queue_depth: u32,
    ) -> Self {
        Self {
            direction: direction.into(),
            pattern,
            start: Start::default(),
            block_size,
            queue_depth,
            threads: 1,
            amount: Amount::Time { ramp: Duration::ZERO, duration: Duration::from_secs(1) },
            flush: Flush::default(),
            content: Content::default(),
            rate: None,
            samples: 0,
            seed: 0,
            generation: 0,
        }
    }
}
