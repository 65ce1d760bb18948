//! Checks that a job is valid in itself and for its I/O target.

use std::ops::Range;

use cryptbench_blockdev::{IoMode, IoTarget};

use super::{
    Amount, Content, Direction, Flush, Job, MAX_BLOCK_SIZE, MAX_QUEUE_DEPTH, MAX_THREADS, Pattern,
    Rate,
};
use crate::{LoadError, SECTOR};

/// Largest exponent of a Zipf distribution; with larger exponents, nearly all requests go to one block.
const MAX_THETA: f64 = 100.0;

impl Job {
    /// Checks the job against its I/O target.
    pub(crate) fn check(&self, io_target: &IoTarget) -> Result<(), LoadError> {
        check_block(io_target, self.block_size)?;
        let Self { queue_depth, threads, .. } = *self;
        if queue_depth == 0 || queue_depth > MAX_QUEUE_DEPTH {
            return Err(LoadError::QueueDepth { queue_depth });
        }
        if threads == 0 || threads > MAX_THREADS {
            return Err(LoadError::Threads { threads });
        }
        self.check_pattern(io_target.extent.len / self.block_size)?;
        self.check_content()?;
        self.check_end()
    }

    /// Checks that a job can be executed through a stdio buffer.
    pub(crate) fn check_stdio(&self) -> Result<(), LoadError> {
        let one = self.threads == 1 && self.queue_depth == 1;
        let plain = matches!(self.direction, Direction::Read | Direction::Write)
            && matches!(self.flush, Flush::Never | Flush::AtEnd);
        if one && plain && self.pattern == Pattern::Sequential {
            return Ok(());
        }
        Err(LoadError::Stdio)
    }

    fn check_pattern(&self, blocks: u64) -> Result<(), LoadError> {
        match self.pattern {
            // Comparisons with NaN are false.
            Pattern::Zipf { theta } if !(theta > 0.0 && theta <= MAX_THETA) => {
                Err(LoadError::Theta { theta })
            }
            Pattern::Strided { stride } if stride < 2 => Err(LoadError::Stride { stride }),
            Pattern::Sampled { points, run } => {
                let wanted = u64::from(points) * u64::from(run);
                if wanted == 0 || wanted > blocks {
                    return Err(LoadError::Sampled { points, run, blocks });
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn check_content(&self) -> Result<(), LoadError> {
        if let Direction::Mixed { read_percent } = self.direction
            && !(1..=99).contains(&read_percent)
        {
            return Err(LoadError::ReadPercent { read_percent });
        }
        if let Content::Compressible { percent } = self.content
            && !(1..=99).contains(&percent)
        {
            return Err(LoadError::CompressPercent { percent });
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), LoadError> {
        if self.amount == Amount::Bytes(0) {
            return Err(LoadError::NoBytes);
        }
        match self.flush {
            Flush::AtEnd if matches!(self.amount, Amount::Time { .. }) => {
                return Err(LoadError::FlushAtNoEnd);
            }
            Flush::Every { writes: 0, .. } => return Err(LoadError::FlushInterval),
            _ => {}
        }
        match self.rate {
            Some(Rate::Requests(rate) | Rate::Bytes(rate)) if !(rate > 0.0 && rate.is_finite()) => {
                Err(LoadError::Rate { rate })
            }
            _ => Ok(()),
        }
    }
}

/// Checks that an I/O target accepts requests of `block_size` bytes, and is large enough for one such request.
fn check_block(io_target: &IoTarget, block_size: u64) -> Result<(), LoadError> {
    if block_size == 0 || !block_size.is_multiple_of(SECTOR as u64) || block_size > MAX_BLOCK_SIZE {
        return Err(LoadError::BlockSize { block_size });
    }
    if let Some(transform) = &io_target.transform {
        let unit = transform.unit() as u64;
        if !block_size.is_multiple_of(unit) {
            return Err(LoadError::BlockNotUnits { block_size, unit });
        }
    }
    check_range(io_target)?;
    let len = io_target.extent.len;
    if len < block_size {
        return Err(LoadError::ExtentTooSmall { len, block_size });
    }
    Ok(())
}

/// Checks that an I/O target can be filled completely in blocks of `block` bytes.
pub(crate) fn check_fill(
    io_target: &IoTarget,
    part: &Range<u64>,
    block: u64,
) -> Result<(), LoadError> {
    check_range(io_target)?;
    let unit = io_target.transform.as_ref().map_or(SECTOR, |t| t.unit().max(SECTOR)) as u64;
    let (offset, len) = (part.start, part.end.saturating_sub(part.start));
    if len == 0 {
        return Err(LoadError::ExtentTooSmall { len, block_size: unit });
    }
    if part.end > io_target.extent.len {
        return Err(LoadError::ExtentRange { offset, len });
    }
    if !offset.is_multiple_of(unit) || !len.is_multiple_of(unit) {
        return Err(LoadError::ExtentUnaligned { offset, len, unit });
    }
    if block == 0 || !block.is_multiple_of(SECTOR as u64) || block > MAX_BLOCK_SIZE {
        return Err(LoadError::BlockSize { block_size: block });
    }
    if !block.is_multiple_of(unit) {
        return Err(LoadError::BlockNotUnits { block_size: block, unit });
    }
    Ok(())
}

pub(crate) fn check_range(io_target: &IoTarget) -> Result<(), LoadError> {
    let (offset, len) = (io_target.extent.offset, io_target.extent.len);
    if offset.checked_add(len).is_none_or(|end| end > i64::MAX as u64) {
        return Err(LoadError::ExtentRange { offset, len });
    }
    let unit = SECTOR as u64;
    if io_target.mode == IoMode::Direct && !offset.is_multiple_of(unit) {
        return Err(LoadError::ExtentUnaligned { offset, len, unit });
    }
    Ok(())
}
