//! One workload for some seconds.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use cryptbench_blockdev::{IoMode, Surface};
use serde::Deserialize;

use crate::{LoadError, SECTOR};

/// Most requests in flight.
pub const MAX_QUEUE_DEPTH: u32 = 1024;

/// Largest block size in bytes (1 GiB, below the kernel's limit of 2 GiB per request).
pub const MAX_BLOCK_SIZE: u64 = 1 << 30;

/// Direction of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// From the surface.
    Read,
    /// To the surface.
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

/// Where consecutive requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Block after block from a seeded start, wrapping at the end of the extent.
    Sequential,
    /// Any block of the extent, uniformly and independently.
    Random,
}

impl Pattern {
    /// `sequential` or `random`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One workload for some seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Direction of the requests.
    pub operation: Operation,
    /// Where consecutive requests go.
    pub pattern: Pattern,
    /// Bytes per request: a multiple of 512 and of the surface's data unit.
    pub block_size: u64,
    /// Requests in flight, 1 to [`MAX_QUEUE_DEPTH`].
    pub queue_depth: u32,
    /// Unmeasured lead-in, in which queues and caches of the device reach their steady state.
    pub ramp: Duration,
    /// Measured time. The request that is being waited for when it ends is still counted.
    pub duration: Duration,
    /// Determines the places: jobs with the same seed, pattern, block size and extent visit the
    /// same places in the same order, whatever the surface and the engine.
    pub seed: u64,
    /// Stamped into written sectors, so that a later reader can tell which job wrote them.
    pub generation: u64,
}

impl Job {
    /// Checks the job against the surface it is to run on.
    pub(crate) fn check(&self, surface: &Surface) -> Result<(), LoadError> {
        let Self { block_size, queue_depth, .. } = *self;
        if block_size == 0 || block_size % SECTOR as u64 != 0 || block_size > MAX_BLOCK_SIZE {
            return Err(LoadError::BlockSize { block_size });
        }
        if queue_depth == 0 || queue_depth > MAX_QUEUE_DEPTH {
            return Err(LoadError::QueueDepth { queue_depth });
        }
        if let Some(transform) = &surface.transform {
            let unit = transform.unit() as u64;
            if !block_size.is_multiple_of(unit) {
                return Err(LoadError::BlockNotUnits { block_size, unit });
            }
        }
        check_range(surface)?;
        let len = surface.extent.len;
        if len < block_size {
            return Err(LoadError::ExtentTooSmall { len, block_size });
        }
        Ok(())
    }
}

/// Checks that a surface may be filled to its last byte.
pub(crate) fn check_fill(surface: &Surface, part: &Range<u64>) -> Result<(), LoadError> {
    check_range(surface)?;
    let unit = surface.transform.as_ref().map_or(SECTOR, |t| t.unit().max(SECTOR)) as u64;
    let (offset, len) = (part.start, part.end.saturating_sub(part.start));
    if len == 0 {
        return Err(LoadError::ExtentTooSmall { len, block_size: unit });
    }
    if part.end > surface.extent.len {
        return Err(LoadError::ExtentRange { offset, len });
    }
    if !offset.is_multiple_of(unit) || !len.is_multiple_of(unit) {
        return Err(LoadError::ExtentUnaligned { offset, len, unit });
    }
    Ok(())
}

fn check_range(surface: &Surface) -> Result<(), LoadError> {
    let (offset, len) = (surface.extent.offset, surface.extent.len);
    if offset.checked_add(len).is_none_or(|end| end > i64::MAX as u64) {
        return Err(LoadError::ExtentRange { offset, len });
    }
    let unit = SECTOR as u64;
    if surface.mode == IoMode::Direct && !offset.is_multiple_of(unit) {
        return Err(LoadError::ExtentUnaligned { offset, len, unit });
    }
    Ok(())
}
