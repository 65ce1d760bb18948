//! Filling the scratch file before the first trial.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptbench_blockdev::Surface;
use cryptbench_load::{Engine, LoadError, Pattern, Precondition};
use cryptbench_record as record;

use crate::plan::{Resolved, least_scratch};
use crate::target::Stretch;
use crate::{Event, Observer, Request, RunError};

/// Bytes of a request of preconditioning (SNIA PTS, workload-independent preconditioning).
const PRECONDITION_BLOCK: u64 = 128 << 10;

/// Share of the budget that filling the scratch file may take; a slower disk gets a smaller file.
const FILL_SHARE: f64 = 0.15;

/// The smallest part of a scratch file that is still worth measuring on.
const LEAST_FILLED: u64 = 64 << 20;

/// Fills the scratch file; a disk too slow for its size gets a smaller one.
///
/// Returns the bytes that are filled, which is the file's size afterwards.
pub(super) fn fill(
    engine: &mut Engine,
    scratch: &mut Stretch,
    resolved: &Resolved,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<u64, RunError> {
    let total = scratch.len();
    let deadline = Instant::now() + Duration::from_secs_f64(resolved.plan.budget_s * FILL_SHARE);
    // In steps, so that a slow disk can end between two of them.
    let mut done = 0;
    let least = LEAST_FILLED.max(least_scratch(&resolved.workloads)).max(scratch.least());
    let surface = scratch.surface();
    while done < total {
        // Not a byte is written for who has changed their mind.
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if Instant::now() >= deadline && done >= least {
            scratch.shrink(done)?;
            break;
        }
        let end = (done + LEAST_FILLED).min(total);
        let seed = resolved.plan.seed;
        match engine.prefill_part(&surface, done..end, seed, stop, &mut |bytes| {
            observer.event(Event::Filling { done: done + bytes, total });
        }) {
            // The schedule sees the same flag and ends before its first trial.
            Err(LoadError::Interrupted) => break,
            other => other?,
        }
        done = end;
    }
    Ok(scratch.len())
}

/// Writes the scratch file again in a random order, as often as the user asked.
pub(super) fn precondition(
    engine: &mut Engine,
    surface: &Surface,
    request: &Request,
    plan: &record::Plan,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    if request.precondition == 0 || stop.load(Ordering::Relaxed) {
        return Ok(());
    }
    let total = surface.extent.len * u64::from(request.precondition);
    let how = Precondition {
        pattern: Pattern::Permutation,
        passes: request.precondition,
        block_size: PRECONDITION_BLOCK,
        seed: plan.seed,
    };
    let mut tell = |done| observer.event(Event::Filling { done, total });
    match engine.precondition(surface, &how, stop, &mut tell) {
        // The schedule sees the same flag and ends before its first trial.
        Err(LoadError::Interrupted) => Ok(()),
        other => Ok(other?),
    }
}

/// Fills a surface, however long it takes; what is cut short ends the run before its first trial.
pub(super) fn prefill(
    engine: &mut Engine,
    surface: &Surface,
    seed: u64,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    if stop.load(Ordering::Relaxed) {
        return Ok(());
    }
    let total = surface.extent.len;
    let mut tell = |done| observer.event(Event::Filling { done, total });
    match engine.prefill(surface, seed, stop, &mut tell) {
        // The schedule sees the same flag and ends before its first trial.
        Err(LoadError::Interrupted) => Ok(()),
        other => Ok(other?),
    }
}
