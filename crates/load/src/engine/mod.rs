//! The load engine: io_uring where the kernel offers it, threads elsewhere.

mod threads;
mod transfer;
#[cfg(target_os = "linux")]
mod uring;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cryptbench_blockdev::Surface;

use self::threads::Threads;
use self::transfer::{Transfer, sync_data};
#[cfg(target_os = "linux")]
use self::uring::Uring;
use crate::job::check_fill;
use crate::places::{FillPlaces, JobPlaces};
use crate::window::{Gate, Tally};
use crate::{Job, LoadError, MAX_BLOCK_SIZE, Measurement, Operation};

/// How long the stop flag may go unseen.
const STOP_POLL: Duration = Duration::from_millis(50);

/// How long requests in flight are waited for once the stop flag is up. Requests that hang longer
/// are abandoned together with their buffers, which are never freed.
const STOP_PATIENCE: Duration = Duration::from_millis(500);

/// Requests of a [prefill](Engine::prefill): large enough for full bandwidth on any device.
const FILL_BLOCK: u32 = 1 << 20;
const FILL_DEPTH: u32 = 4;

/// Which engine is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring, or threads where it is denied.
    #[default]
    Auto,
    /// io_uring or an error.
    Uring,
    /// One thread per request in flight, with positioned reads and writes.
    Threads,
}

/// Runs jobs against surfaces, one at a time.
///
/// With io_uring a single thread prepares, submits and completes all requests, the inline layer's
/// work included; with threads each of `queue_depth` threads does its own. The two are therefore
/// not comparable with one another: all arms of a run must use one engine.
pub struct Engine {
    kind: Kind,
}

enum Kind {
    #[cfg(target_os = "linux")]
    Uring(Box<Uring>),
    Threads(Threads),
}

impl Engine {
    /// Makes an engine ready, and says why it is not io_uring when [`EngineChoice::Auto`] had to
    /// settle for threads.
    ///
    /// io_uring is really tried: a ring is set up and an operation is sent through it, since
    /// kernels, `io_uring_disabled` and seccomp filters deny it in different places.
    ///
    /// # Errors
    /// [`LoadError::Unavailable`] when [`EngineChoice::Uring`] cannot be had.
    pub fn open(choice: EngineChoice) -> Result<(Self, Option<String>), LoadError> {
        let threads = || Self { kind: Kind::Threads(Threads::new()) };
        if choice == EngineChoice::Threads {
            return Ok((threads(), None));
        }
        match Self::open_uring() {
            Ok(engine) => Ok((engine, None)),
            Err(reason) if choice == EngineChoice::Auto => Ok((threads(), Some(reason))),
            Err(reason) => Err(LoadError::Unavailable { reason }),
        }
    }

    #[cfg(target_os = "linux")]
    fn open_uring() -> Result<Self, String> {
        Uring::probe().map(|u| Self { kind: Kind::Uring(Box::new(u)) })
    }

    #[cfg(not(target_os = "linux"))]
    fn open_uring() -> Result<Self, String> {
        Err("this is not Linux".to_owned())
    }

    /// `io_uring` or `threads`.
    pub fn name(&self) -> &'static str {
        match &self.kind {
            #[cfg(target_os = "linux")]
            Kind::Uring(_) => "io_uring",
            Kind::Threads(_) => "threads",
        }
    }

    /// How the most recent job was carried, in words: which kernel features were used, and which
    /// were denied.
    pub fn details(&self) -> String {
        match &self.kind {
            #[cfg(target_os = "linux")]
            Kind::Uring(u) => u.details(),
            Kind::Threads(_) => "positioned reads and writes, one thread per request".to_owned(),
        }
    }

    /// Runs one job: ramp, measured time, drain. Set-up happens before the ramp.
    ///
    /// Returns within about half a second after `stop` is raised, even when the device hangs.
    ///
    /// # Errors
    /// The first request that failed ends the job; what was in flight is waited for.
    pub fn run(
        &mut self,
        surface: &Surface,
        job: &Job,
        stop: &AtomicBool,
    ) -> Result<Measurement, LoadError> {
        job.check(surface)?;
        let transfer = Transfer::new(surface, job.operation, job.generation, job.seed);
        let places = JobPlaces::new(job, surface.extent.len);
        let gate = Arc::new(Gate::new(job.ramp, job.duration));
        let (block, depth) = (job.block_size as u32, job.queue_depth);
        match &mut self.kind {
            #[cfg(target_os = "linux")]
            Kind::Uring(u) => {
                let mut tally = Tally::new(Arc::clone(&gate));
                let interrupted = u.drive(&transfer, places, block, depth, &mut tally, stop)?;
                Ok(Tally::sum(&gate, vec![tally], interrupted))
            }
            Kind::Threads(t) => {
                let sinks = || Tally::new(Arc::clone(&gate));
                let (tallies, interrupted) =
                    t.drive(&transfer, places, block, depth, sinks, stop, &mut || ())?;
                Ok(Tally::sum(&gate, tallies, interrupted))
            }
        }
    }

    /// Fills the whole extent with incompressible, stamped data (generation 0) through the
    /// surface's inline layer at full speed, and flushes it to the device.
    ///
    /// `progress` is told the bytes written so far.
    ///
    /// # Errors
    /// [`LoadError::Interrupted`] when `stop` was raised before the end; else as
    /// [`run`](Self::run).
    pub fn prefill(
        &mut self,
        surface: &Surface,
        seed: u64,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), LoadError> {
        self.prefill_part(surface, 0..surface.extent.len, seed, stop, progress)
    }

    /// As [`prefill`](Self::prefill), for the bytes in `part`, counted from the start of the surface.
    ///
    /// Parts that follow one another leave what one fill of the whole would have left.
    ///
    /// # Errors
    /// As `prefill`; a part that is empty, unaligned or beyond the surface is refused.
    pub fn prefill_part(
        &mut self,
        surface: &Surface,
        part: Range<u64>,
        seed: u64,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), LoadError> {
        check_fill(surface, &part)?;
        let transfer = Transfer::new(surface, Operation::Write, 0, seed);
        let block = fill_block(surface)?;
        let places = FillPlaces { block, start: part.start, end: part.end };
        let interrupted = match &mut self.kind {
            #[cfg(target_os = "linux")]
            Kind::Uring(u) => {
                let mut fill = transfer::Fill::telling(progress);
                u.drive(&transfer, places, block, FILL_DEPTH, &mut fill, stop)?
            }
            Kind::Threads(t) => {
                let done = transfer::SharedFill::default();
                let mut tick = || progress(done.bytes());
                t.drive(&transfer, places, block, FILL_DEPTH, || done.clone(), stop, &mut tick)?.1
            }
        };
        if interrupted || !sync_data(&surface.file, stop)? {
            return Err(LoadError::Interrupted);
        }
        Ok(())
    }
}

/// [`FILL_BLOCK`], or the data unit where that is larger or no divisor.
fn fill_block(surface: &Surface) -> Result<u32, LoadError> {
    let unit = surface.transform.as_ref().map_or(1, |t| t.unit() as u64);
    let block = u64::from(FILL_BLOCK).next_multiple_of(unit);
    if block > MAX_BLOCK_SIZE {
        return Err(LoadError::BlockNotUnits { block_size: u64::from(FILL_BLOCK), unit });
    }
    Ok(block as u32)
}
