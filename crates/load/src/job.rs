//! One workload for some time or some bytes.

mod check;

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

pub(crate) use self::check::{check_fill, check_range};

/// Most requests in flight.
pub const MAX_QUEUE_DEPTH: u32 = 1024;

/// Most threads of a job.
pub const MAX_THREADS: u32 = 256;

/// Largest block size in bytes (1 GiB, below the kernel's limit of 2 GiB per request).
pub const MAX_BLOCK_SIZE: u64 = 1 << 30;

/// Direction of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// From the I/O target.
    Read,
    /// To the I/O target.
    Write,
}

impl Operation {
    /// `read` or `write`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the requests of a job do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// All read.
    Read,
    /// All write.
    Write,
    /// Each is a read with this probability in percent (1 to 99), drawn from the job's seed.
    Mixed {
        /// Share of reads.
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

/// Where consecutive requests go, in blocks of the extent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Block after block, wrapping at the end of the extent.
    Sequential,
    /// Any block of the extent, uniformly and independently.
    Random,
    /// Any block, the k-th most popular with probability proportional to k^-theta (theta above 0);
    /// which blocks are popular follows from the seed.
    Zipf {
        /// Exponent.
        theta: f64,
    },
    /// Every block exactly once in a random order, then again in another one.
    Permutation,
    /// From the last block to the first, wrapping.
    Backward,
    /// Every `stride`-th block, wrapping to the next residue at the end, so that one pass visits every
    /// block once (iozone's stride read).
    Strided {
        /// Distance of consecutive requests in blocks, at least 2.
        stride: u32,
    },
    /// One block again and again (iozone's record rewrite).
    Same,
    /// `run` consecutive blocks at each of `points` places spread evenly over the extent, in
    /// ascending order, wrapping (HD Tune's curve over the I/O target).
    Sampled {
        /// Places.
        points: u32,
        /// Blocks at each.
        run: u32,
    },
}

impl Pattern {
    /// `sequential`, `random`, `zipf`, `permutation`, `backward`, `strided`, `same` or `sampled`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
            Self::Zipf { .. } => "zipf",
            Self::Permutation => "permutation",
            Self::Backward => "backward",
            Self::Strided { .. } => "strided",
            Self::Same => "same",
            Self::Sampled { .. } => "sampled",
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where the patterns that have a beginning begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// At a block drawn from the seed, so that short jobs cover the extent over many trials.
    #[default]
    Seeded,
    /// At the first block of the pattern.
    First,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A time.
    Time {
        /// Unmeasured lead-in, in which queues and caches of the device reach their steady state.
        ramp: Duration,
        /// Measured time. The request that is being waited for when it ends is still counted.
        duration: Duration,
    },
    /// So many bytes, rounded up to whole requests; more than a pass of the pattern has begin another
    /// pass. From before the first request to the completion of the last one, or of the last flush.
    Bytes(u64),
}

/// When written data must be on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flush {
    /// A write is done when the system says so.
    #[default]
    Never,
    /// Each write completes when it is on stable storage (`RWF_DSYNC`, as `O_DSYNC`).
    EachWrite,
    /// A flush after so many writes of a thread.
    Every {
        /// Writes between two flushes, at least 1.
        writes: u32,
        /// fdatasync(2) instead of fsync(2).
        data_only: bool,
        /// All requests of the thread are awaited before the flush, and its next one comes after it: what a
        /// database's commit does. Otherwise the flush is one more request in the queue, after which the
        /// next one follows at once, and none comes after the last write: what fio's `fsync=` does.
        drained: bool,
    },
    /// Once after the last request, within the measured time; takes [`Amount::Bytes`].
    AtEnd,
}

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Incompressible, with verify headers.
    #[default]
    Random,
    /// Zeros without verify headers, as `dd if=/dev/zero` writes them.
    Zeros,
    /// This share in percent (1 to 99) of each 4 KiB can be compressed away; with verify headers.
    Compressible {
        /// Share.
        percent: u8,
    },
}

/// Upper bound of the speed at which requests are issued, over all threads of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Requests per second.
    Requests(f64),
    /// Bytes per second.
    Bytes(f64),
}

/// One workload for some time or some bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What the requests do.
    pub direction: Direction,
    /// Where consecutive requests go.
    pub pattern: Pattern,
    /// Where the pattern begins.
    pub start: Start,
    /// Bytes per request: a multiple of 512 and of the I/O target's data unit.
    pub block_size: u64,
    /// Requests in flight of each thread, 1 to [`MAX_QUEUE_DEPTH`].
    pub queue_depth: u32,
    /// Threads that issue requests, 1 to [`MAX_THREADS`]; they share one sequence of offsets.
    pub threads: u32,
    /// How much is measured.
    pub amount: Amount,
    /// When written data must be on the device.
    pub flush: Flush,
    /// What is written.
    pub content: Content,
    /// Upper bound of the speed, where there is one.
    pub rate: Option<Rate>,
    /// Place and latency are kept of so many measured requests from the first on.
    pub samples: u32,
    /// Determines the offsets: jobs with the same seed, pattern, block size and extent visit the
    /// same offsets in the same order, whatever the I/O target and the engine.
    pub seed: u64,
    /// In the verify headers of written sectors, so that a later reader can tell which job wrote them.
    pub generation: u64,
}

impl Job {
    /// One second of requests of one thread without ramp, flush, rate bound and samples; seed and
    /// generation 0.
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
