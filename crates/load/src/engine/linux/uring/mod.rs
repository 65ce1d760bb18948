//! The io_uring engine, with registered files, registered buffers and batched submission.
//!
//! A job of one thread runs in the calling thread, which keeps its ring for the next job. A job of several threads has
//! a ring in each thread, because a ring belongs to the thread that created it. A polled job always gets separate
//! threads: if a device hangs, a thread that polls it is stuck in the kernel, so another thread must watch the stop
//! flag.

mod arena;
mod drive;
mod io_buffers;
mod pipe;
mod polled;
mod probe;
mod session;
mod submit;
mod target;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cryptbench_blockdev::IoTarget;

use self::drive::{Ends, drive};
use self::io_buffers::IoBuffers;
use self::session::Session;
use self::submit::Submitter;
use self::target::Carriage;
use crate::LoadError;
use crate::clock::Clock;
use crate::engine::transfer::{Task, Transfer};
use crate::engine::worker_pool::{Ready, WorkerPool};
use crate::engine::{STOP_PATIENCE, STOP_POLL};
use crate::memory::buffers_len;
use crate::offsets::{OffsetGenerator, Share};
use crate::window::Sink;

/// Minimum number of entries in a ring, so that jobs with low queue depths share a ring.
const MIN_ENTRIES: u32 = 64;

pub(in crate::engine) struct Uring {
    session: Option<Session>,
    /// Whether the engine polls for completions.
    polled: bool,
    /// How the latest job was executed, in words.
    how: String,
}

impl Uring {
    /// Opens the engine, or returns the reason why io_uring cannot be used.
    pub(in crate::engine) fn probe(polled: bool) -> Result<Self, String> {
        probe::probe()?;
        if polled {
            Session::new(MIN_ENTRIES, true).map_err(|e| e.to_string())?;
        }
        Ok(Self { session: None, polled, how: "no job yet".to_owned() })
    }

    pub(in crate::engine) fn name(&self) -> &'static str {
        if self.polled { "io_uring, polled" } else { "io_uring" }
    }

    pub(in crate::engine) fn details(&self) -> String {
        self.how.clone()
    }

    /// Checks whether this engine can use an I/O target.
    pub(in crate::engine) fn check(&self, io_target: &IoTarget) -> Result<(), LoadError> {
        if self.polled { polled::check(io_target) } else { Ok(()) }
    }

    /// Whether a task must be executed by [`drive_pool`](Self::drive_pool).
    pub(in crate::engine) fn takes_pool(&self, task: &Task) -> bool {
        self.polled || task.threads > 1
    }

    /// Executes the requests of a one-threaded task in this thread. Calls `begin` with the start time. Returns
    /// whether the stop flag ended the task.
    pub(in crate::engine) fn drive<P: OffsetGenerator, S: Sink>(
        &mut self,
        task: &Task,
        offsets: P,
        sink: &mut S,
        begin: &dyn Fn(u64),
        stop: &AtomicBool,
    ) -> Result<bool, LoadError> {
        let clock = Clock::start();
        let mut ready = || {
            let now = clock.ns();
            begin(now);
            Some(now)
        };
        let polled = self.polled;
        let part = Part { task, offsets, polled, clock: &clock };
        let ends = Ends { halt: &AtomicBool::new(false), stop };
        part.carry(&mut self.session, &mut self.how, &mut ready, sink, ends)
    }

    /// Like [`drive`](Self::drive), but in separate threads, each with its own sink. Calls `tick` at intervals.
    pub(in crate::engine) fn drive_pool<P: OffsetGenerator, S: Sink + Send + 'static>(
        &mut self,
        task: &Task,
        offsets: P,
        sink: impl Fn() -> S,
        begin: &dyn Fn(u64),
        stop: &AtomicBool,
        tick: &mut dyn FnMut(),
    ) -> Result<(Vec<S>, bool), LoadError> {
        // The session is dropped, because these rings cannot use its memory, which would stay locked in addition to
        // their own.
        self.session = None;
        let (pool, polled) = (WorkerPool::new(), self.polled);
        let workers = (0..task.threads).map(|number| {
            let (mut sink, pool) = (sink(), Arc::clone(&pool));
            let share = Share { offsets, part: number, of: task.threads };
            let rate_limit =
                task.rate_limit.map(|rate_limit| rate_limit.share(number, task.threads));
            let task = Task { rate_limit, ..task.clone() };
            move |ready: Ready<'_>| {
                let mut how = String::new();
                let part = Part { task: &task, offsets: share, polled, clock: &pool.clock };
                let ends = Ends { halt: &pool.halt, stop: &pool.stopped };
                let result = part.carry(&mut None, &mut how, ready, &mut sink, ends);
                ((sink, how), result.map(|_| ()))
            }
        });
        // A ring waits for its own requests for `STOP_PATIENCE`; the ring's thread must be given longer.
        let patience = STOP_PATIENCE + 4 * STOP_POLL;
        let (counted, interrupted) = pool.run(workers, begin, (stop, patience), tick)?;
        let (sinks, hows): (Vec<S>, Vec<String>) = counted.into_iter().unzip();
        if !hows.is_empty() {
            self.how = joined(hows);
        }
        Ok((sinks, interrupted))
    }
}

/// A thread's part of a task.
struct Part<'a, P> {
    task: &'a Task,
    offsets: P,
    polled: bool,
    clock: &'a Clock,
}

impl<P: OffsetGenerator> Part<'_, P> {
    /// Prepares the ring and the buffers, waits until all workers are `ready`, and executes the requests. Leaves the
    /// session in `kept` if the next job can use it.
    fn carry<S: Sink>(
        self,
        kept: &mut Option<Session>,
        how: &mut String,
        ready: Ready<'_>,
        sink: &mut S,
        ends: Ends<'_>,
    ) -> Result<bool, LoadError> {
        let Task { transfer, block, depth, threads, .. } = self.task;
        let len = buffers_len(*block, *depth, *threads, transfer.direction.writes())?;
        // The session is taken out of `kept`, so that a panic in the inline layer drops it. After a panic or if the
        // device hangs, requests in flight are leaked, and the next job gets a new session.
        let mut session = match kept.take() {
            Some(session) if session.serves(*depth) => session,
            // The ring has one more entry than the depth, for the timer.
            _ => Session::new((depth + 1).next_power_of_two().max(MIN_ENTRIES), self.polled)
                .map_err(|source| LoadError::Setup { what: "setting up io_uring", source })?,
        };
        let base = session.arena(len);
        let buffers = (transfer.needs_second(), transfer.reads_into_second());
        // SAFETY: the arena has `len` bytes: `depth` blocks, and as many again for jobs that write, because only such
        // jobs need second buffers. Nothing else refers to the arena while the buffers exist: no request is in flight
        // before `drive`, and afterwards the session frees the arena only if no request is in flight.
        let io_buffers = unsafe { IoBuffers::new(base, *block as usize, *depth as usize, buffers) };
        let filling = transfer.filling(*block, *depth);
        if filling.is_none() || session.filled != filling {
            for slot in 0..*depth {
                // SAFETY: no request is in flight yet.
                let source = unsafe { io_buffers.source(slot as usize, io_buffers.block) };
                transfer.fill_source(source);
            }
            session.filled = filling;
        }
        let carriage = Carriage::of(transfer);
        let file = register_file(&session, transfer);
        let fixed = (file.is_ok(), session.unregistered.is_none());
        let mut submitter =
            Submitter::new(self.task, self.offsets, &io_buffers, *self.clock, fixed);
        if session.polled {
            submitter.drain_before_flushes();
        }
        let result = match ready() {
            Some(began) => {
                let times = (self.clock, began);
                drive(&mut session, submitter, (&io_buffers, self.task), times, sink, ends)
            }
            None => Ok(true),
        };
        *how = describe(&session, &file, carriage);
        if session.in_flight == 0 {
            // Unregistering releases the file, because the caller may unmount its file system next.
            if file.is_ok() {
                let _ = session.ring.submitter().unregister_files();
            }
            *kept = Some(session);
        }
        if self.polled { result.map_err(polled::explain) } else { result }
    }
}

/// Describes how the rings of a job were used: one description if all rings agree, otherwise each description with the
/// number of rings to which it applies.
fn joined(hows: Vec<String>) -> String {
    let mut ways: Vec<(String, usize)> = Vec::new();
    for how in hows {
        match ways.iter_mut().find(|(way, _)| *way == how) {
            Some((_, rings)) => *rings += 1,
            None => ways.push((how, 1)),
        }
    }
    if let [(way, 1)] = &mut ways[..] {
        return std::mem::take(way);
    }
    let name = |rings| if rings == 1 { "ring" } else { "rings" };
    let told = ways.iter().map(|(way, rings)| format!("{rings} {}: {way}", name(*rings)));
    told.collect::<Vec<_>>().join("; ")
}

fn describe(session: &Session, file: &Result<(), String>, carriage: Carriage) -> String {
    let registered = |what: &str, denied: Option<&String>| match denied {
        None => format!("registered {what}"),
        Some(why) => format!("unregistered {what} ({why})"),
    };
    format!(
        "{}{}, {} on {}, {}",
        carriage.as_str(),
        registered("file", file.as_ref().err()),
        registered("buffers", session.unregistered.as_ref()),
        session.pages(),
        session.flags
    )
}

fn register_file(session: &Session, transfer: &Transfer) -> Result<(), String> {
    use std::os::fd::AsRawFd;
    session.ring.submitter().register_files(&[transfer.file.as_raw_fd()]).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_that_were_carried_differently_are_told_apart() {
        let joined = |hows: &[&str]| joined(hows.iter().map(|&h| h.to_owned()).collect());
        assert_eq!(joined(&["a"]), "a");
        assert_eq!(joined(&["a", "a", "a"]), "3 rings: a");
        assert_eq!(joined(&["a", "b", "a"]), "2 rings: a; 1 ring: b");
    }
}
