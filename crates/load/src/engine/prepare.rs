//! Fills an I/O target before it is measured.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use cryptbench_blockdev::{IoMode, IoTarget};

use super::fill::{Fill, SharedFill};
use super::transfer::{Task, Transfer, flush_or_stop};
use super::{Engine, Kind};
use crate::job::check_fill;
use crate::offsets::FillOffsets;
use crate::{LoadError, MAX_BLOCK_SIZE, Pattern};

/// Request size and depth of a [prefill](Engine::prefill): enough to use the full bandwidth of any device.
const FILL_BLOCK: u32 = 1 << 20;
const FILL_DEPTH: u32 = 4;

/// Request size of a prefill through the page cache. Such a prefill is done in steps of the amount that the device
/// writes in [`STEP`], because neither a flush nor a process that waits for a flush can be interrupted.
const BUFFERED_BLOCK: u32 = 128 << 10;
const STEP: Duration = Duration::from_millis(300);
const LONGEST_STEP: u64 = 64 << 20;

/// Maximum queue depth for [preconditioning](Engine::precondition) with small blocks.
const SMALL_DEPTH: u32 = 64;

/// Options for bringing an I/O target to a known state before it is measured.
///
/// The SNIA Solid State Storage Performance Test Specification prescribes preconditioning with two passes of sequential
/// 128 KiB writes for any load. Passes in random order leave a device in the state that it has after random writes;
/// each of these passes also writes every block once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precondition {
    /// [`Pattern::Sequential`] or [`Pattern::Permutation`], with a different order in each pass.
    pub pattern: Pattern,
    /// Number of times that the whole extent is written, at least 1.
    pub passes: u32,
    /// Request size in bytes: a multiple of 512 and of the I/O target's data unit. The last request may be shorter.
    pub block_size: u64,
    /// Determines data and order.
    pub seed: u64,
}

impl Engine {
    /// Fills the whole extent with incompressible data that has verify headers (generation 0), through the I/O
    /// target's inline layer and at full speed, and flushes the data to the device.
    ///
    /// Calls `progress` with the number of bytes written so far.
    ///
    /// # Errors
    /// [`LoadError::Interrupted`] if `stop` was set before the end; otherwise the errors of [`run`](Self::run).
    pub fn prefill(
        &mut self,
        io_target: &IoTarget,
        seed: u64,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), LoadError> {
        self.prefill_part(io_target, 0..io_target.extent.len, seed, stop, progress)
    }

    /// Like [`prefill`](Self::prefill), but only for the bytes in `part`, counted from the start of the I/O target.
    ///
    /// Filling consecutive parts results in the same data as filling the whole target once.
    ///
    /// # Errors
    /// The errors of `prefill`; also refuses a part that is empty, unaligned or beyond the I/O target.
    pub fn prefill_part(
        &mut self,
        io_target: &IoTarget,
        part: Range<u64>,
        seed: u64,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), LoadError> {
        let is_direct = io_target.mode == IoMode::Direct;
        let block = fill_block(io_target, if is_direct { FILL_BLOCK } else { BUFFERED_BLOCK })?;
        check_fill(io_target, &part, u64::from(block))?;
        if is_direct {
            let offsets = FillOffsets::sequential(block, part);
            return self.fill(io_target, offsets, block, seed, stop, progress);
        }
        let (mut done, mut step) = (part.start, u64::from(block));
        while done < part.end {
            let end = (done + step).min(part.end);
            let offsets = FillOffsets::sequential(block, done..end);
            let (began, before) = (Instant::now(), done - part.start);
            let mut tell = |bytes| progress(before + bytes);
            self.fill(io_target, offsets, block, seed, stop, &mut tell)?;
            step = next_step(end - done, began.elapsed(), u64::from(block));
            done = end;
        }
        Ok(())
    }

    /// Writes the whole extent the given number of times, with data that has verify headers (generation 0), and
    /// flushes the data to the device.
    ///
    /// Calls `progress` with the number of bytes written so far in all passes.
    ///
    /// # Errors
    /// [`LoadError::Precondition`] for any other pattern or zero passes; otherwise the errors of
    /// [`prefill`](Self::prefill).
    pub fn precondition(
        &mut self,
        io_target: &IoTarget,
        how: &Precondition,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), LoadError> {
        let order = match how.pattern {
            Pattern::Sequential => None,
            Pattern::Permutation => Some(how.seed),
            _ => return Err(LoadError::Precondition),
        };
        if how.passes == 0 {
            return Err(LoadError::Precondition);
        }
        let part = 0..io_target.extent.len;
        check_fill(io_target, &part, how.block_size)?;
        let block = how.block_size as u32;
        let offsets = FillOffsets::passes(block, part, how.passes, order);
        self.fill(io_target, offsets, block, how.seed, stop, progress)
    }

    fn fill(
        &mut self,
        io_target: &IoTarget,
        offsets: FillOffsets,
        block: u32,
        seed: u64,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), LoadError> {
        let depth = (FILL_BLOCK * FILL_DEPTH / block).clamp(FILL_DEPTH, SMALL_DEPTH);
        let transfer = Transfer::of_fill(io_target, seed);
        let (threads, waiting, turn) = (1, 0, Arc::default());
        let task = Task { transfer, block, depth, threads, rate_limit: None, waiting, turn };
        let begin = |_| ();
        let interrupted = match &mut self.kind {
            Kind::Queue(u) => {
                u.check(io_target)?;
                if u.takes_pool(&task) {
                    let done = SharedFill::default();
                    let mut tick = || progress(done.bytes());
                    u.drive_pool(&task, offsets, || done.clone(), &begin, stop, &mut tick)?.1
                } else {
                    u.drive(&task, offsets, &mut Fill::telling(progress), &begin, stop)?
                }
            }
            Kind::Threads(t) => {
                let done = SharedFill::default();
                let mut tick = || progress(done.bytes());
                t.drive(&task, offsets, || done.clone(), &begin, stop, &mut tick)?.1
            }
        };
        if interrupted || !flush_or_stop(&io_target.file, true, stop)? {
            return Err(LoadError::Interrupted);
        }
        Ok(())
    }
}

/// `least` bytes, or the data unit, if the data unit is larger or `least` is not a multiple of it.
fn fill_block(io_target: &IoTarget, least: u32) -> Result<u32, LoadError> {
    let unit = io_target.transform.as_ref().map_or(1, |t| t.unit() as u64);
    let block = u64::from(least).next_multiple_of(unit);
    if block > MAX_BLOCK_SIZE {
        return Err(LoadError::BlockNotUnits { block_size: u64::from(least), unit });
    }
    Ok(block as u32)
}

/// Number of bytes for the next step, in whole blocks, after a step with this duration.
fn next_step(written: u64, took: Duration, block: u64) -> u64 {
    let fitting = written as f64 * (STEP.as_secs_f64() / took.as_secs_f64());
    // A device with a write cache accepts the first steps faster than later steps.
    let most = LONGEST_STEP.min(8 * written);
    ((fitting as u64).min(most) / block).max(1) * block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_the_device_and_are_whole_blocks() {
        const BLOCK: u64 = BUFFERED_BLOCK as u64;
        let of = |written, ms| next_step(written, Duration::from_millis(ms), BLOCK);
        assert_eq!(of(BLOCK, 131), 2 * BLOCK, "1 MB/s");
        assert_eq!(of(BLOCK, 4000), BLOCK);
        assert_eq!(of(BLOCK, 0), 8 * BLOCK);
        assert_eq!(of(LONGEST_STEP, 10), LONGEST_STEP);
        // The last step of a part may be shorter than a block.
        assert_eq!(of(4096, 1), BLOCK);
    }
}
