//! The io_uring engine: registered file, registered buffers, batched submission.
//!
//! A job of one thread runs in the calling thread, whose ring is kept for the next job. A job of several
//! threads has a ring in each of them, since a ring belongs to the thread that made it.

mod arena;
mod drive;
mod issue;
mod lanes;
mod pipe;
mod polled;
mod probe;
mod session;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cryptbench_blockdev::Surface;

use self::drive::drive;
use self::issue::Issuer;
use self::lanes::Lanes;
use self::session::Session;
use super::crew::{Crew, Ready};
use super::transfer::{Task, Transfer};
use super::{STOP_PATIENCE, STOP_POLL};
use crate::LoadError;
use crate::clock::Clock;
use crate::memory::buffers_len;
use crate::places::{Places, Share};
use crate::window::Sink;

/// Fewest entries of a ring, so that the jobs of low queue depths share one.
const MIN_ENTRIES: u32 = 64;

pub(super) struct Uring {
    session: Option<Session>,
    /// Completions are polled for.
    polled: bool,
    /// How the latest job was carried.
    how: String,
}

impl Uring {
    /// An engine, or why io_uring cannot be used here.
    pub(super) fn probe(polled: bool) -> Result<Self, String> {
        probe::probe()?;
        let session = match polled {
            true => Some(Session::new(MIN_ENTRIES, true).map_err(|e| e.to_string())?),
            false => None,
        };
        Ok(Self { session, polled, how: "no job yet".to_owned() })
    }

    pub(super) fn name(&self) -> &'static str {
        if self.polled { "io_uring, polled" } else { "io_uring" }
    }

    pub(super) fn details(&self) -> String {
        self.how.clone()
    }

    /// Whether this engine can work on a surface.
    pub(super) fn check(&self, surface: &Surface) -> Result<(), LoadError> {
        if self.polled { polled::check(surface) } else { Ok(()) }
    }

    /// Runs the requests of a task of one thread in this thread; returns whether the stop flag ended it.
    /// `begin` is told when it began.
    pub(super) fn drive<P: Places, S: Sink>(
        &mut self,
        task: &Task,
        places: P,
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
        let part = Part { task, places, number: 0, polled, clock: &clock };
        part.carry(&mut self.session, &mut self.how, &mut ready, sink, stop)
    }

    /// As [`drive`](Self::drive), for a task of several threads, each with a sink of its own.
    pub(super) fn drive_crew<P: Places, S: Sink + Send + 'static>(
        &mut self,
        task: &Task,
        places: P,
        sink: impl Fn() -> S,
        begin: &dyn Fn(u64),
        stop: &AtomicBool,
    ) -> Result<(Vec<S>, bool), LoadError> {
        let (crew, polled) = (Crew::new(), self.polled);
        let workers = (0..task.threads).map(|number| {
            let (mut sink, crew) = (sink(), Arc::clone(&crew));
            let share = Share { places, part: number, of: task.threads };
            let pace = task.pace.map(|pace| pace.share(number, task.threads));
            let task = Task { pace, ..task.clone() };
            move |ready: Ready<'_>| {
                let mut how = String::new();
                let part = Part { task: &task, places: share, number, polled, clock: &crew.clock };
                let result = part.carry(&mut None, &mut how, ready, &mut sink, &crew.halt);
                ((sink, how), result.map(|_| ()))
            }
        });
        // A ring waits for its own requests so long; its thread is to outlive that.
        let patience = STOP_PATIENCE + 4 * STOP_POLL;
        let (counted, interrupted) = crew.run(workers, begin, (stop, patience), &mut || ())?;
        let (sinks, hows): (Vec<S>, Vec<String>) = counted.into_iter().unzip();
        if let Some(how) = hows.into_iter().next() {
            self.how = format!("{} rings: {how}", task.threads);
        }
        Ok((sinks, interrupted))
    }
}

/// One thread's part of a task.
struct Part<'a, P> {
    task: &'a Task,
    places: P,
    /// Of the thread.
    number: u32,
    polled: bool,
    clock: &'a Clock,
}

impl<P: Places> Part<'_, P> {
    /// Prepares ring and buffers, waits until all are `ready`, and runs the requests. The session is left
    /// in `kept` for the next job if it can be used again.
    fn carry<S: Sink>(
        self,
        kept: &mut Option<Session>,
        how: &mut String,
        ready: Ready<'_>,
        sink: &mut S,
        stop: &AtomicBool,
    ) -> Result<bool, LoadError> {
        let Task { transfer, block, depth, threads, .. } = self.task;
        let len = buffers_len(*block, *depth, *threads, transfer.direction.writes())?;
        // Taken out, so that a panic of the inline layer drops it: what a panic or a hung device
        // leaves in flight leaks, and the next job gets a new session.
        let mut session = match kept.take() {
            Some(session) if session.serves(*depth) => session,
            // One more entry than the depth: the timer.
            _ => Session::new((depth + 1).next_power_of_two().max(MIN_ENTRIES), self.polled)
                .map_err(|source| LoadError::Setup { what: "setting up io_uring", source })?,
        };
        let base = session.arena(len);
        let buffers = (transfer.needs_second(), transfer.reads_into_second());
        // SAFETY: the arena has `len` bytes: `depth` blocks, and as many again for jobs that write, which
        // alone need second buffers. Nothing else refers to it while the lanes live: no request is in
        // flight before `drive`, and the session frees the arena only when none is in flight after it.
        let lanes = unsafe { Lanes::new(base, *block as usize, *depth as usize, buffers) };
        for slot in 0..*depth {
            // SAFETY: nothing is in flight yet.
            let source = unsafe { lanes.source(slot as usize, lanes.block) };
            transfer.fill_source(source, self.number * depth + slot);
        }
        let inline = never_waits(transfer);
        let file = register_file(&session, transfer);
        let fixed = (file.is_ok(), session.unregistered.is_none());
        let issuer = Issuer::new(self.task, self.places, &lanes, *self.clock, fixed);
        let result = match ready() {
            Some(began) => {
                let times = (self.clock, began);
                drive(&mut session, issuer, (&lanes, self.task), times, sink, stop)
            }
            None => Ok(true),
        };
        *how = describe(&session, &file, inline);
        if session.in_flight == 0 {
            // Unregistering lets go of the file: the caller may unmount it next.
            if file.is_ok() {
                let _ = session.ring.submitter().unregister_files();
            }
            *kept = Some(session);
        }
        if self.polled { result.map_err(polled::explain) } else { result }
    }
}

fn describe(session: &Session, file: &Result<(), String>, inline: bool) -> String {
    let registered = |what: &str, denied: Option<&String>| match denied {
        None => format!("registered {what}"),
        Some(why) => format!("unregistered {what} ({why})"),
    };
    format!(
        "{}{}, {} on {}, {}",
        if inline { "carried out at once (tmpfs), " } else { "" },
        registered("file", file.as_ref().err()),
        registered("buffers", session.unregistered.as_ref()),
        session.pages(),
        session.flags
    )
}

/// Files in RAM never wait for a device, but the kernel does not know it of tmpfs and hands every request to a
/// worker thread: two wake-ups for a copy of 4 KiB. Told that the file must not block, it copies at once.
///
/// True if it was told so.
fn never_waits(transfer: &Transfer) -> bool {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstatfs};
    /// TMPFS_MAGIC of linux/magic.h.
    const TMPFS: u64 = 0x0102_1994;
    let file = &*transfer.file;
    fstatfs(file).is_ok_and(|fs| fs.f_type as u64 == TMPFS)
        && fcntl_getfl(file).and_then(|flags| fcntl_setfl(file, flags | OFlags::NONBLOCK)).is_ok()
}

fn register_file(session: &Session, transfer: &Transfer) -> Result<(), String> {
    use std::os::fd::AsRawFd;
    session.ring.submitter().register_files(&[transfer.file.as_raw_fd()]).map_err(|e| e.to_string())
}
