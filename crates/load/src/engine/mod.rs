//! The load engine: io_uring if the kernel permits it, otherwise threads.

mod fill;
mod flush_barrier;
mod prepare;
mod rate_limit;
mod slices;
mod threads;
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "only io_uring's buffers keep their data from job to job")
)]
mod transfer;
mod worker_pool;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use cryptbench_blockdev::IoTarget;
use tracing::info;

pub use self::prepare::Precondition;
pub use self::slices::{Slice, Slices};
use self::system::Queue;
use self::threads::{Threads, Way};
use self::transfer::Task;
use crate::offsets::{JobOffsets, OffsetGenerator};
use crate::verify::Traced;
use crate::window::{Gate, Sink, Tally};
use crate::{Acknowledged, Job, LoadError, Measurement};

/// Maximum time between two checks of the stop flag.
const STOP_POLL: Duration = Duration::from_millis(50);

/// How long to wait for requests in flight after the stop flag is set. Requests that take longer are abandoned, and
/// their buffers are never freed.
const STOP_PATIENCE: Duration = Duration::from_millis(500);

/// One in this many submissions is timed. The number is prime, so that every position in a queue is timed at some
/// point.
const LOOK_EVERY: u32 = 31;

/// The requested engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring, or threads if io_uring is denied.
    #[default]
    Auto,
    /// io_uring or an error.
    Uring,
    /// io_uring that polls the device for completions instead of waiting for interrupts; an error if this is not
    /// possible. Requires direct I/O and a device with poll queues.
    Polled,
    /// Threads: one per request in flight, with positioned reads and writes.
    Threads,
}

/// Runs jobs against I/O targets, one at a time.
///
/// With io_uring, there is one system thread for each thread of the job. This system thread prepares, submits and
/// completes requests, including the work of the inline layer. A job of one thread runs in the calling thread unless it
/// polls. With threads, each of `threads * queue_depth` system threads handles its own requests. Results of the two
/// engines are therefore not comparable, so all arms of a run must use the same engine.
pub struct Engine {
    kind: Kind,
}

enum Kind {
    /// The engine specific to the operating system: io_uring, or a Windows completion port.
    Queue(Box<Queue>),
    Threads(Threads),
}

impl Engine {
    /// Opens an engine. If [`EngineChoice::Auto`] falls back to threads, also returns the reason.
    ///
    /// Sets up a ring and submits an operation, because kernels, `io_uring_disabled` and seccomp filters deny io_uring
    /// at different points. Only [`run`](Self::run) can determine whether a device supports polling.
    ///
    /// # Errors
    /// [`LoadError::Unavailable`] if [`EngineChoice::Uring`] or [`EngineChoice::Polled`] cannot be
    /// used.
    pub fn open(choice: EngineChoice) -> Result<(Self, Option<String>), LoadError> {
        let threads = || Self { kind: Kind::Threads(Threads { way: Way::Positioned }) };
        if choice == EngineChoice::Threads {
            return Ok((threads(), None));
        }
        let polled = choice == EngineChoice::Polled;
        match Self::open_uring(polled) {
            Ok(engine) => Ok((engine, None)),
            Err(reason) if choice == EngineChoice::Auto => {
                info!("no io_uring, so threads: {reason}");
                Ok((threads(), Some(reason)))
            }
            Err(reason) => {
                let engine = if polled { "polled io_uring" } else { "io_uring" };
                Err(LoadError::Unavailable { engine, reason })
            }
        }
    }

    fn open_uring(polled: bool) -> Result<Self, String> {
        Queue::probe(polled).map(|u| Self { kind: Kind::Queue(Box::new(u)) })
    }

    /// `io_uring`, `io_uring, polled` or `threads`.
    pub fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Queue(u) => u.name(),
            Kind::Threads(_) => "threads",
        }
    }

    /// How the most recent job was executed, in words: the kernel features that were used, and the features that were
    /// not available.
    pub fn details(&self) -> String {
        match &self.kind {
            Kind::Queue(u) => u.details(),
            Kind::Threads(_) => "positioned reads and writes, one thread per request".to_owned(),
        }
    }

    /// Runs one job. A timed job consists of a ramp, the measured time and a drain; a job with an amount of data ends
    /// when its last byte has been transferred and flushed. Set-up precedes the ramp.
    ///
    /// Returns within about half a second after `stop` is set, even if the device hangs.
    ///
    /// # Errors
    /// Invalid jobs are refused. The first failed request ends the job, once the requests in flight have
    /// completed. [`LoadError::Unavailable`] if the device cannot be polled.
    pub fn run(
        &mut self,
        io_target: &IoTarget,
        job: &Job,
        stop: &AtomicBool,
    ) -> Result<Measurement, LoadError> {
        self.measure(io_target, job, stop, |tally| tally, |tally| tally)
    }

    /// Like [`run`](Self::run), but records each acknowledged write, so that the contents of the
    /// I/O target can be [verified](Acknowledged::verify) later.
    ///
    /// # Errors
    /// The errors of `run`; [`LoadError::Untraceable`] for writes without verify headers, or writes that are not
    /// whole units of the map.
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
        // Requests can be left in flight only after a stop, and a late stop does not set `interrupted`.
        if measured.is_ok() && !stop.load(Relaxed) {
            acknowledged.end(job);
        }
        measured
    }

    /// Like [`run`](Self::run), but passes requests through a stdio buffer of 4 KiB, as fwrite(3) and fread(3) do,
    /// with one thread regardless of the engine. An inline layer processes data before it reaches the buffer.
    /// [`Amount::Bytes`](crate::Amount::Bytes) ends when the remaining contents of the buffer have been written.
    ///
    /// # Errors
    /// The errors of `run`; [`LoadError::Stdio`] unless the job is sequential with one request at a time.
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
        let job = &self.merged(io_target, job);
        let task = Task::of_job(io_target, job);
        let offsets = JobOffsets::new(job, io_target.extent.len);
        let gate = Arc::new(Gate::new(job, self.tallies(job)));
        let sink = || wrap(Tally::new(&gate, job));
        let (sinks, interrupted) =
            self.carry(io_target, &task, offsets, sink, &|now| gate.begin(now), stop)?;
        Ok(Tally::sum(&gate, sinks.into_iter().map(unwrap).collect(), interrupted))
    }

    /// The job as executed by this engine: a layer that forwards one request at a time does so across all threads.
    fn merged(&self, io_target: &IoTarget, job: &Job) -> Job {
        let mut job = job.clone();
        if matches!(self.kind, Kind::Queue(_)) && transfer::passes(io_target).is_serial {
            (job.queue_depth, job.threads) = (job.queue_depth * job.threads, 1);
        }
        job
    }

    /// Number of threads of this process that count a job's requests.
    fn tallies(&self, job: &Job) -> u32 {
        match &self.kind {
            Kind::Queue(_) => job.threads,
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
            Kind::Queue(u) => {
                u.check(io_target)?;
                let task = task.in_a_queue();
                if u.takes_pool(&task) {
                    return u.drive_pool(&task, offsets, sink, begin, stop, &mut || ());
                }
                let mut sink = sink();
                let interrupted = u.drive(&task, offsets, &mut sink, begin, stop)?;
                Ok((vec![sink], interrupted))
            }
            Kind::Threads(t) => t.drive(task, offsets, sink, begin, stop, &mut || ()),
        }
    }
}
