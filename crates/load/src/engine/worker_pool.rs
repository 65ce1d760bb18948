//! The threads of one job: they get ready, start together, and are left behind when they hang.
//!
//! What ends them early are two things. An error of one keeps the others from further requests, and what
//! they have in flight is waited for as long as it takes. The user's stop flag also bounds that wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::STOP_POLL;
use crate::LoadError;
use crate::clock::Clock;

/// Stack of an I/O thread: inline layers keep little on it.
const STACK: usize = 256 << 10;

/// What the threads of one job share.
pub(super) struct WorkerPool {
    pub(super) clock: Clock,
    /// The job is over: no further requests. Those in flight are waited for.
    pub(super) halt: AtomicBool,
    /// The stop flag was seen: requests in flight are waited for with patience, and then abandoned.
    pub(super) stopped: AtomicBool,
    start: Mutex<Start>,
    started: Condvar,
}

#[derive(Clone, Copy, PartialEq)]
enum Start {
    Wait,
    /// At this time.
    Go(u64),
    Cancel,
}

enum Message<S> {
    Ready,
    /// What a thread counted, and how it ended.
    Done(Option<S>, Result<(), LoadError>),
}

/// Called by a thread once it is ready: waits for the others. The time at which the job began, or
/// nothing if it does not begin.
pub(super) type Ready<'a> = &'a mut dyn FnMut() -> Option<u64>;

impl WorkerPool {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            clock: Clock::start(),
            halt: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            start: Mutex::new(Start::Wait),
            started: Condvar::new(),
        })
    }

    /// Runs the workers, each in a thread of its own; returns what they counted and whether the stop
    /// flag ended it. Threads that are not done so long after a stop are left behind. `begin` is told
    /// the time of the start, and `tick` is called every now and then.
    ///
    /// A worker owns all it touches, and lets go of it before it is taken for done.
    pub(super) fn run<S, W>(
        self: &Arc<Self>,
        workers: impl Iterator<Item = W>,
        begin: &dyn Fn(u64),
        (stop, patience): (&AtomicBool, Duration),
        tick: &mut dyn FnMut(),
    ) -> Result<(Vec<S>, bool), LoadError>
    where
        S: Send + 'static,
        W: FnOnce(Ready<'_>) -> (S, Result<(), LoadError>) + Send + 'static,
    {
        let (tell, told) = channel();
        let mut count = 0;
        for worker in workers {
            let (pool, tell) = (Arc::clone(self), tell.clone());
            std::thread::Builder::new()
                .name(format!("load-{count}"))
                .stack_size(STACK)
                .spawn(move || pool.work(worker, &tell))
                .map_err(|source| {
                    self.release(Start::Cancel);
                    LoadError::Setup { what: "starting a thread", source }
                })?;
            count += 1;
        }
        drop(tell);
        self.muster(&told, count)?;
        let now = self.clock.ns();
        begin(now);
        self.release(Start::Go(now));
        self.collect(&told, count, (stop, patience), tick)
    }

    fn work<S, W>(&self, worker: W, tell: &Sender<Message<S>>)
    where
        W: FnOnce(Ready<'_>) -> (S, Result<(), LoadError>),
    {
        let mut ready = || {
            tell.send(Message::Ready).ok()?;
            self.wait()
        };
        // Only the worker's own state may be left half-done by a panic, and it is dropped with it.
        let message = match catch_unwind(AssertUnwindSafe(|| worker(&mut ready))) {
            Ok((counted, result)) => Message::Done(Some(counted), result),
            Err(_) => Message::Done(None, Err(LoadError::Panicked)),
        };
        let _ = tell.send(message);
    }

    /// Waits until all threads are ready.
    fn muster<S>(&self, told: &Receiver<Message<S>>, count: u32) -> Result<(), LoadError> {
        for _ in 0..count {
            let failure = match told.recv() {
                Ok(Message::Ready) => continue,
                Ok(Message::Done(_, Err(e))) => e,
                _ => LoadError::Panicked,
            };
            self.release(Start::Cancel);
            // The others end at once, and let go of the file.
            while told.recv().is_ok() {}
            return Err(failure);
        }
        Ok(())
    }

    fn collect<S>(
        &self,
        told: &Receiver<Message<S>>,
        count: u32,
        (stop, patience): (&AtomicBool, Duration),
        tick: &mut dyn FnMut(),
    ) -> Result<(Vec<S>, bool), LoadError> {
        let mut counted = Vec::with_capacity(count as usize);
        let mut failure = None;
        let mut until = None;
        let mut running = count;
        while running > 0 {
            match told.recv_timeout(STOP_POLL) {
                Ok(Message::Done(sum, result)) => {
                    running -= 1;
                    counted.extend(sum);
                    if let Err(e) = result {
                        self.halt.store(true, Relaxed);
                        failure.get_or_insert(e);
                    }
                }
                Ok(Message::Ready) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(failure.unwrap_or(LoadError::Panicked));
                }
            }
            tick();
            if until.is_none() && stop.load(Relaxed) {
                self.halt.store(true, Relaxed);
                self.stopped.store(true, Relaxed);
                until = Some(Instant::now() + patience);
            }
            if until.is_some_and(|until| Instant::now() > until) {
                break;
            }
        }
        match failure {
            Some(e) => Err(e),
            None => Ok((counted, until.is_some())),
        }
    }

    fn release(&self, how: Start) {
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = how;
        self.started.notify_all();
    }

    fn wait(&self) -> Option<u64> {
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *start {
                Start::Go(at) => return Some(at),
                Start::Cancel => return None,
                Start::Wait => {
                    start = self.started.wait(start).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}
