//! Runs one job on several I/O targets, interleaved in slices.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cryptbench_blockdev::IoTarget;

use super::{Engine, Task};
use crate::offsets::{From, JobOffsets, mix};
use crate::window::{Gate, Moved, Tally};
use crate::{Amount, Job, LoadError, Measurement};

/// A job that is executed on several I/O targets, interleaved in slices.
///
/// No request is in flight between two slices. Each slice of a target continues the target's sequence of offsets. The
/// sum of a target's slices equals the result of one long trial, except for the requests that fill the queue at the
/// start of each slice and drain it at the end. Targets use different offsets, so that no target reads data that
/// another target has just read into a shared cache.
pub struct Slices {
    turns: Vec<Turn>,
}

/// The state of one I/O target.
struct Turn {
    job: Job,
    io_target: IoTarget,
    task: Task,
    offsets: JobOffsets,
    /// Requests submitted so far.
    issued: u64,
    /// One tally for each thread.
    tallies: Vec<Tally>,
    elapsed: Duration,
    cpu: Duration,
}

/// The measurement of one slice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slice {
    /// Time from the completion of as many requests as the queue depth to the last counted completion.
    pub elapsed: Duration,
    /// Number of requests counted.
    pub ios: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Bytes of all requests, including requests before and after the measured time.
    pub total_bytes: u64,
    /// CPU time of this process, user and system, during the measured time.
    pub cpu: Duration,
    /// Whether the stop flag ended the slice early.
    pub interrupted: bool,
}

impl Engine {
    /// Prepares `job` to run on all of `io_targets`, interleaved. The job's amount is ignored, because each slice has
    /// its own length.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run), for any of the targets.
    pub fn slices(&self, io_targets: &[IoTarget], job: &Job) -> Result<Slices, LoadError> {
        let amount = Amount::Time { ramp: Duration::ZERO, duration: Duration::MAX };
        let job = Job { amount, ..job.clone() };
        let turn = |(number, io_target): (usize, &IoTarget)| {
            job.check(io_target)?;
            let job = self.merged(io_target, &job);
            let gate = Arc::new(Gate::new(&job, self.tallies(&job)));
            let seed = mix(job.seed ^ mix(number as u64 + 1));
            Ok(Turn {
                io_target: io_target.clone(),
                task: Task::of_job(io_target, &job),
                offsets: JobOffsets::new(&Job { seed, ..job.clone() }, io_target.extent.len),
                issued: 0,
                tallies: (0..self.tallies(&job)).map(|_| Tally::new(&gate, &job)).collect(),
                elapsed: Duration::ZERO,
                cpu: Duration::ZERO,
                job,
            })
        };
        let turns = io_targets.iter().enumerate().map(turn).collect::<Result<_, LoadError>>()?;
        Ok(Slices { turns })
    }
}

impl Slices {
    /// Runs the next slice of the target with this `number`. `engine` must be the engine that created these slices. The
    /// slice starts immediately and ends at the first completion after `length`. After the queue has been filled once,
    /// the slice counts at least twice as many requests as the queue depth.
    ///
    /// # Errors
    /// The errors of [`Engine::run`].
    ///
    /// # Panics
    /// If there is no target with this number.
    pub fn carry(
        &mut self,
        engine: &mut Engine,
        number: usize,
        length: Duration,
        stop: &AtomicBool,
    ) -> Result<Slice, LoadError> {
        let turn = &mut self.turns[number];
        let gate = Arc::new(Gate::of_slice(&turn.job, engine.tallies(&turn.job), length));
        let before = moved(&turn.tallies);
        turn.tallies.iter_mut().for_each(|tally| tally.go_on(&gate));
        let kept = RefCell::new(std::mem::take(&mut turn.tallies));
        let sink = || kept.borrow_mut().pop().expect("a tally for each thread");
        let offsets = From { offsets: turn.offsets, first: turn.issued };
        let begin = |now| gate.begin(now);
        let (tallies, interrupted) =
            engine.carry(&turn.io_target, &turn.task, offsets, sink, &begin, stop)?;
        let after = moved(&tallies);
        let last = tallies.iter().map(Tally::last).max().unwrap_or(0);
        turn.tallies = tallies;
        let slice = Slice {
            elapsed: gate.measured(last),
            ios: after.ios - before.ios,
            bytes: after.bytes - before.bytes,
            total_bytes: after.total_bytes - before.total_bytes,
            cpu: gate.cpu(),
            interrupted: interrupted && !gate.is_closed(),
        };
        turn.elapsed += slice.elapsed;
        turn.cpu += slice.cpu;
        turn.issued += slice.total_bytes.div_ceil(u64::from(turn.task.block));
        Ok(slice)
    }

    /// The sum of each target's slices, in the order of the targets.
    pub fn finish(self) -> Vec<Measurement> {
        let sum = |turn: Turn| Measurement {
            elapsed: turn.elapsed,
            cpu: turn.cpu,
            ..Tally::merge(turn.tallies)
        };
        self.turns.into_iter().map(sum).collect()
    }
}

fn moved(tallies: &[Tally]) -> Moved {
    tallies.iter().map(Tally::moved).fold(Moved::default(), |a, b| Moved {
        ios: a.ios + b.ios,
        bytes: a.bytes + b.bytes,
        total_bytes: a.total_bytes + b.total_bytes,
    })
}
