//! The load engine: io_uring where the kernel offers it, threads elsewhere.

mod fill;
mod flush_barrier;
mod prepare;
mod rate_limit;
mod slices;
mod threads;
mod transfer;
mod worker_pool;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use cryptbench_blockdev::IoTarget;

pub use self::prepare::Precondition;
pub use self::slices::{Slice, Slices};
use self::system::Uring;
use self::threads::{Threads, Way};
use self::transfer::Task;
use crate::offsets::{JobOffsets, OffsetGenerator};
use crate::verify::Traced;
use crate::window::{Gate, Sink, Tally};
use crate::{Acknowledged, Job, LoadError, Measurement};

/// How long the stop flag may go unseen.
const STOP_POLL: Duration = Duration::from_millis(50);

/// How long requests in flight are waited for once the stop flag is up. Requests that hang longer
/// are abandoned together with their buffers, which are never freed.
const STOP_PATIENCE: Duration = Duration::from_millis(500);

/// Which engine is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring, or threads where it is denied.
    #[default]
    Auto,
    /// io_uring or an error.
    Uring,
    /// io_uring that polls the device for completions instead of waiting for interrupts, or an error: it
    /// takes direct I/O, and a device with queues for it.
    Polled,
    /// One thread per request in flight, with positioned reads and writes.
    Threads,
}

/// Runs jobs against I/O targets, one at a time.
///
/// With io_uring one thread for each of the job's threads prepares, submits and completes requests, the
/// inline layer's work included; a job of one thread stays in the calling thread, unless it polls. With
/// threads each of `threads * queue_depth` threads does its own. The two are therefore not comparable with
/// one another: all arms of a run must use one engine.
pub struct Engine {
    kind: Kind,
}

enum Kind {
    Uring(Box<Uring>),
    Threads(Threads),
}

impl Engine {
    /// Makes an engine ready, and says why it is not io_uring when [`EngineChoice::Auto`] had to
    /// settle for threads.
    ///
    /// io_uring is really tried: a ring is set up and an operation is sent through it, since
    /// kernels, `io_uring_disabled` and seccomp filters deny it in different places. Whether a device can
    /// be polled shows only when it is [run](Self::run) on.
    ///
    /// # Errors
    /// [`LoadError::Unavailable`] when [`EngineChoice::Uring`] or [`EngineChoice::Polled`] cannot be had.
    pub fn open(choice: EngineChoice) -> Result<(Self, Option<String>), LoadError> {
        let threads = || Self { kind: Kind::Threads(Threads { way: Way::Positioned }) };
        if choice == EngineChoice::Threads {
            return Ok((threads(), None));
        }
        let polled = choice == EngineChoice::Polled;
        match Self::open_uring(polled) {
            Ok(engine) => Ok((engine, None)),
            Err(reason) if choice == EngineChoice::Auto => Ok((threads(), Some(reason))),
            Err(reason) => {
                let engine = if polled { "polled io_uring" } else { "io_uring" };
                Err(LoadError::Unavailable { engine, reason })
            }
        }
    }

    fn open_uring(polled: bool) -> Result<Self, String> {
        Uring::probe(polled).map(|u| Self { kind: Kind::Uring(Box::new(u)) })
    }

    /// `io_uring`, `io_uring, polled` or `threads`.
    pub fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Uring(u) => u.name(),
            Kind::Threads(_) => "threads",
        }
    }

    /// How the most recent job was carried, in words: which kernel features were used, and which
    /// were denied.
    pub fn details(&self) -> String {
        match &self.kind {
            Kind::Uring(u) => u.details(),
            Kind::Threads(_) => "positioned reads and writes, one thread per request".to_owned(),
        }
    }

    /// Runs one job: ramp, measured time, drain; or its bytes and the flush at their end. Set-up happens
    /// before the ramp.
    ///
    /// Returns within about half a second after `stop` is raised, even when the device hangs.
    ///
    /// # Errors
    /// What makes no sense is refused. The first request that failed ends the job; what was in flight is
    /// waited for. [`LoadError::Unavailable`] when a device cannot be polled.
    pub fn run(
        &mut self,
        io_target: &IoTarget,
        job: &Job,
        stop: &AtomicBool,
    ) -> Result<Measurement, LoadError> {
        self.measure(io_target, job, stop, |tally| tally, |tally| tally)
    }

    /// As [`run`](Self::run), noting each write that was acknowledged, so that what the I/O target holds can
    /// be [verified](Acknowledged::verify) later.
    ///
    /// # Errors
    /// As for `run`; [`LoadError::Untraceable`] for writes that carry no verify headers or are no whole units of
    /// the map.
    pub fn run_traced(
        &mut self,
        io_target: &IoTarget,
        job: &Job,
        acknowledged: &Arc<Acknowledged>,
        stop: &AtomicBool,
    ) -> Result<Measurement, LoadError> {
        job.check(io_target)?;
        acknowledged.check(io_target, job)?;
        acknowledged.begin(job);
        let trace = |tally| Traced::new(tally, acknowledged, job.generation);
        let measured = self.measure(io_target, job, stop, trace, Traced::into_inner);
        // Only a stop leaves requests behind, and one that comes late does not interrupt.
        if measured.is_ok() && !stop.load(Relaxed) {
            acknowledged.end(job);
        }
        measured
    }

    /// As [`run`](Self::run), with requests that go through a stdio buffer of 4 KiB as fwrite(3) and
    /// fread(3) take them, one thread, whatever the engine. An inline layer works before the buffer.
    /// [`Amount::Bytes`](crate::Amount::Bytes) ends when the buffer's rest has been written.
    ///
    /// # Errors
    /// As for `run`; [`LoadError::Stdio`] for what is not sequential, one request at a time.
    pub fn run_stdio(
        &mut self,
        io_target: &IoTarget,
        job: &Job,
        stop: &AtomicBool,
    ) -> Result<Measurement, LoadError> {
        job.check_stdio()?;
        let mut engine = Self { kind: Kind::Threads(Threads { way: Way::Stdio }) };
        engine.run(io_target, job, stop)
    }

    fn measure<S: Sink + Send + 'static>(
        &mut self,
        io_target: &IoTarget,
        job: &Job,
        stop: &AtomicBool,
        wrap: impl Fn(Tally) -> S,
        unwrap: impl Fn(S) -> Tally,
    ) -> Result<Measurement, LoadError> {
        job.check(io_target)?;
        let task = Task::of_job(io_target, job);
        let offsets = JobOffsets::new(job, io_target.extent.len);
        let gate = Arc::new(Gate::new(job, self.tallies(job)));
        let sink = || wrap(Tally::new(&gate, job));
        let (sinks, interrupted) =
            self.carry(io_target, &task, offsets, sink, &|now| gate.begin(now), stop)?;
        Ok(Tally::sum(&gate, sinks.into_iter().map(unwrap).collect(), interrupted))
    }

    /// Threads of this process that carry a job.
    fn tallies(&self, job: &Job) -> u32 {
        match &self.kind {
            Kind::Uring(_) => job.threads,
            Kind::Threads(_) => job.threads * job.queue_depth,
        }
    }

    fn carry<P: OffsetGenerator, S: Sink + Send + 'static>(
        &mut self,
        io_target: &IoTarget,
        task: &Task,
        offsets: P,
        sink: impl Fn() -> S,
        begin: &dyn Fn(u64),
        stop: &AtomicBool,
    ) -> Result<(Vec<S>, bool), LoadError> {
        match &mut self.kind {
            Kind::Uring(u) => {
                u.check(io_target)?;
                if u.takes_pool(task) {
                    return u.drive_pool(task, offsets, sink, begin, stop, &mut || ());
                }
                let mut sink = sink();
                let interrupted = u.drive(task, offsets, &mut sink, begin, stop)?;
                Ok((vec![sink], interrupted))
            }
            Kind::Threads(t) => t.drive(task, offsets, sink, begin, stop, &mut || ()),
        }
    }
}
