//! The machine's resources that a key derivation may use, and when it must stop.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::cpu::Tier;
use crate::error::KdfError;
use crate::stopwatch::{Running, Stopwatch};

/// Instruction sets, threads, stop flags and stopwatch of a key derivation.
#[derive(Debug, Clone, Copy)]
pub struct Effort<'a> {
    tier: Tier,
    threads: usize,
    /// The caller's flag, and this crate's own flag for several derivations.
    stops: [Option<&'a AtomicBool>; 2],
    stopwatch: Option<&'a Stopwatch>,
}

impl<'a> Effort<'a> {
    /// Allows the instruction sets up to `tier` and `threads` threads; 0 counts as 1.
    pub fn new(tier: Tier, threads: usize) -> Self {
        Self { tier, threads: threads.max(1), stops: [None; 2], stopwatch: None }
    }

    /// Stops the derivation within milliseconds of `stop` becoming true, with [`KdfError::Stopped`]. scrypt checks
    /// `stop` only before it starts, but the cost of scrypt is always chosen by this program.
    pub fn stopped_by(mut self, stop: &'a AtomicBool) -> Self {
        self.stops[0] = Some(stop);
        self
    }

    /// Counts the time of the derivations with `stopwatch`.
    pub fn timed_by(mut self, stopwatch: &'a Stopwatch) -> Self {
        self.stopwatch = Some(stopwatch);
        self
    }

    /// The highest tier of instruction sets to use.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Maximum number of threads to use, at least 1.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The same effort, divided among `parts` derivations that run in parallel and are all stopped by `stop`.
    pub(crate) fn share(mut self, parts: usize, stop: &'a AtomicBool) -> Self {
        self.threads = (self.threads / parts.max(1)).max(1);
        self.stops[1] = Some(stop);
        self
    }

    /// Counts the time of a derivation until the result is dropped.
    pub(crate) fn start(&self) -> Option<Running<'a>> {
        self.stopwatch.map(Stopwatch::run)
    }

    /// # Errors
    /// [`KdfError::Stopped`] if a flag is set.
    pub(crate) fn check(&self) -> Result<(), KdfError> {
        if self.stops.iter().flatten().any(|stop| stop.load(Ordering::Relaxed)) {
            return Err(KdfError::Stopped);
        }
        Ok(())
    }
}
