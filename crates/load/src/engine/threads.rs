//! The fallback engine: one thread per request in flight, with positioned reads and writes.
//!
//! The threads own all they touch, so that a thread stuck in a hung device can be left behind
//! when the stop flag ends the job.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use cryptbench_blockdev::AlignedBuf;

use super::transfer::Transfer;
use super::{STOP_PATIENCE, STOP_POLL};
use crate::clock::Clock;
use crate::memory::buffers_len;
use crate::places::{Place, Places};
use crate::window::Sink;
use crate::{LoadError, Operation};

/// Stack of an I/O thread: inline layers keep little on it.
const STACK: usize = 256 << 10;

pub(super) struct Threads;

/// What the threads of one job share.
struct Shared {
    clock: Clock,
    next: AtomicU64,
    halt: AtomicBool,
    start: Mutex<Start>,
    started: Condvar,
}

#[derive(Clone, Copy, PartialEq)]
enum Start {
    Wait,
    Go,
    Cancel,
}

enum Message<S> {
    Ready,
    Done(S, Result<(), LoadError>),
}

impl Threads {
    pub(super) fn new() -> Self {
        Self
    }

    /// Runs the requests; returns the threads' sinks and whether the stop flag ended it. `tick` is
    /// called every now and then.
    #[expect(clippy::too_many_arguments, reason = "the two engines are driven alike")]
    pub(super) fn drive<P: Places, S: Sink + Send + 'static>(
        &mut self,
        transfer: &Transfer,
        places: P,
        block: u32,
        depth: u32,
        sink: impl Fn() -> S,
        stop: &AtomicBool,
        tick: &mut dyn FnMut(),
    ) -> Result<(Vec<S>, bool), LoadError> {
        buffers_len(u64::from(block), depth, transfer.operation)?;
        let shared = Arc::new(Shared {
            clock: Clock::start(),
            next: AtomicU64::new(0),
            halt: AtomicBool::new(false),
            start: Mutex::new(Start::Wait),
            started: Condvar::new(),
        });
        let (tell, told) = channel();
        for slot in 0..depth {
            let (worker, tell) = (Worker::new(transfer, places, &shared), tell.clone());
            let sink = sink();
            std::thread::Builder::new()
                .name(format!("load-{slot}"))
                .stack_size(STACK)
                .spawn(move || worker.work(slot, block, sink, &tell))
                .map_err(|source| {
                    shared.release(Start::Cancel);
                    LoadError::Setup { what: "starting a thread", source }
                })?;
        }
        drop(tell);
        for _ in 0..depth {
            // Only readiness is told before the start.
            if told.recv().is_err() {
                shared.release(Start::Cancel);
                return Err(LoadError::Panicked);
            }
        }
        sink().begin(shared.clock.ns());
        shared.release(Start::Go);
        collect(&shared, &told, depth, stop, tick)
    }
}

/// Waits for the threads of a job, and for no longer than patience allows after a stop.
fn collect<S>(
    shared: &Shared,
    told: &Receiver<Message<S>>,
    depth: u32,
    stop: &AtomicBool,
    tick: &mut dyn FnMut(),
) -> Result<(Vec<S>, bool), LoadError> {
    let mut sinks = Vec::with_capacity(depth as usize);
    let mut failure = None;
    let mut patience = None;
    let mut running = depth;
    while running > 0 {
        match told.recv_timeout(STOP_POLL) {
            Ok(Message::Done(sink, result)) => {
                running -= 1;
                sinks.push(sink);
                if let Err(e) = result {
                    shared.halt.store(true, Relaxed);
                    failure.get_or_insert(e);
                }
            }
            Ok(Message::Ready) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failure.unwrap_or(LoadError::Panicked));
            }
        }
        tick();
        if patience.is_none() && stop.load(Relaxed) {
            shared.halt.store(true, Relaxed);
            patience = Some(Instant::now() + STOP_PATIENCE);
        }
        if patience.is_some_and(|until| Instant::now() > until) {
            break;
        }
    }
    match failure {
        Some(e) => Err(e),
        None => Ok((sinks, patience.is_some())),
    }
}

impl Shared {
    fn release(&self, how: Start) {
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = how;
        self.started.notify_all();
    }

    /// Whether to go ahead.
    fn wait(&self) -> bool {
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        while *start == Start::Wait {
            start = self.started.wait(start).unwrap_or_else(PoisonError::into_inner);
        }
        *start == Start::Go
    }
}

/// Memory of one request. One page is in one piece wherever it lies, and many threads with a huge page
/// each would take memory for nothing.
fn buffer(len: usize) -> AlignedBuf {
    if len > AlignedBuf::ALIGN { AlignedBuf::on_huge_pages(len) } else { AlignedBuf::zeroed(len) }
}

struct Worker<P> {
    transfer: Transfer,
    places: P,
    shared: Arc<Shared>,
}

impl<P: Places> Worker<P> {
    fn new(transfer: &Transfer, places: P, shared: &Arc<Shared>) -> Self {
        Self { transfer: transfer.clone(), places, shared: Arc::clone(shared) }
    }

    fn work<S: Sink>(self, slot: u32, block: u32, mut sink: S, tell: &Sender<Message<S>>) {
        let mut source = buffer(block as usize);
        let mut bounce = self.transfer.needs_bounce().then(|| buffer(block as usize));
        self.transfer.fill_source(&mut source, slot);
        if tell.send(Message::Ready).is_err() || !self.shared.wait() {
            return;
        }
        let result = self.requests(&mut source, bounce.as_deref_mut(), &mut sink);
        // The file is let go before the result is told: the caller may unmount it next.
        drop(self);
        let _ = tell.send(Message::Done(sink, result));
    }

    /// Request after request; one clock read each, since the end of one starts the next.
    fn requests<S: Sink>(
        &self,
        source: &mut [u8],
        mut bounce: Option<&mut [u8]>,
        sink: &mut S,
    ) -> Result<(), LoadError> {
        let mut started = self.shared.clock.ns();
        while !self.shared.halt.load(Relaxed) && !sink.finished() {
            let index = self.shared.next.fetch_add(1, Relaxed);
            let Some(place) = self.places.place(index) else {
                break;
            };
            let source = &mut source[..place.len as usize];
            match self.transfer.operation {
                Operation::Read => self.read(place, source)?,
                Operation::Write => self.write(place, source, bounce.as_deref_mut())?,
            }
            let done = self.shared.clock.ns();
            sink.completed(place.len, started, done);
            started = done;
        }
        Ok(())
    }

    fn read(&self, place: Place, data: &mut [u8]) -> Result<(), LoadError> {
        let at = self.transfer.base + place.offset;
        let moved = retry(|| self.transfer.file.read_at(data, at));
        self.moved(place, moved)?;
        if let Some(transform) = &self.transfer.transform {
            transform.open(place.offset, data);
        }
        Ok(())
    }

    fn write(
        &self,
        place: Place,
        source: &mut [u8],
        bounce: Option<&mut [u8]>,
    ) -> Result<(), LoadError> {
        self.transfer.stamper.stamp(source, place.offset);
        let stored = match (&self.transfer.transform, bounce) {
            (Some(transform), Some(bounce)) => {
                let bounce = &mut bounce[..place.len as usize];
                transform.seal(place.offset, source, bounce);
                &*bounce
            }
            _ => &*source,
        };
        let at = self.transfer.base + place.offset;
        let moved = retry(|| self.transfer.file.write_at(stored, at));
        self.moved(place, moved)
    }

    fn moved(&self, place: Place, moved: io::Result<usize>) -> Result<(), LoadError> {
        let Place { offset, len } = place;
        let operation = self.transfer.operation;
        match moved {
            Ok(got) if got == len as usize => Ok(()),
            Ok(got) => Err(LoadError::Short { operation, offset, wanted: len, got: got as u32 }),
            Err(source) => Err(LoadError::Io { operation, offset, len, source }),
        }
    }
}

fn retry(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
