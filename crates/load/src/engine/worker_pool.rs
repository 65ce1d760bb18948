//! The threads of one job: they prepare their work, start together, and are abandoned if they hang.
//!
//! The threads can end early for two reasons. After an error in one thread, the others do not submit further requests,
//! and the pool waits for the requests in flight without a time limit. After the user's stop flag is set, this wait is
//! limited.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::STOP_POLL;
use crate::LoadError;
use crate::clock::Clock;

/// Stack size of an I/O thread in bytes; inline layers do not need a large stack.
const STACK: usize = 256 << 10;

/// State shared by the threads of one job.
pub(super) struct WorkerPool {
    pub(super) clock: Clock,
    /// Set when the job has finished: threads complete the requests in flight, and do not submit further requests.
    pub(super) halt: AtomicBool,
    /// Set when the stop flag has been detected: requests in flight get a limited time, and are then abandoned.
    pub(super) stopped: AtomicBool,
    start: Mutex<Start>,
    started: Condvar,
}

#[derive(Clone, Copy, PartialEq)]
enum Start {
    Wait,
    /// Start at this time, in nanoseconds.
    Go(u64),
    Cancel,
}

enum Message<S> {
    Ready,
    /// The thread's sink, and the thread's result.
    Done(Option<S>, Result<(), LoadError>),
}

/// Each thread calls this when it is ready; the call waits for the other threads. Returns the start time of the job, or
/// `None` if the job does not start.
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

    /// Runs each worker in a separate thread. Returns their sinks and whether the stop flag ended the job. Threads
    /// that have not finished within `patience` after a stop are abandoned. Calls `begin` with the start time, and
    /// `tick` at intervals.
    ///
    /// A worker owns all data that it uses, and drops this data before it counts as finished.
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
        // A panic can leave only the worker's own state inconsistent, and this state is dropped together with the
        // worker.
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
            // The other threads exit immediately and release the file.
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
