//! The fallback engine: one thread per request in flight, with positioned reads and writes.
//!
//! Each thread owns all data that it uses. If the stop flag ends the job while a device hangs, a thread may be left
//! behind.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cryptbench_blockdev::AlignedBuf;
use cryptbench_os::files::{read_at, write_at};

use super::flush_barrier::{Entry, FlushBarrier};
use super::rate_limit::RateLimit;
use super::system::{Stream, write_through};
use super::transfer::{Task, Transfer};
use super::worker_pool::{Ready, WorkerPool};
use super::{STOP_PATIENCE, STOP_POLL};
use crate::memory::buffers_len;
use crate::offsets::{IoRequest, OffsetGenerator, Share};
use crate::window::{Completed, Sink};
use crate::{LoadError, Operation};

pub(super) struct Threads {
    /// How requests reach the kernel.
    pub(super) way: Way,
}

/// How requests reach the kernel.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Way {
    /// As positioned reads and writes.
    Positioned,
    /// Through a stdio buffer.
    Stdio,
}

/// State shared by the system threads of one thread of a job.
struct Group {
    next: AtomicU64,
    /// Flushes after every n writes, if the job requires it.
    barrier: Option<FlushBarrier>,
    /// Held while a request is executed, if the inline layer handles one request at a time.
    turn: Option<Arc<Mutex<()>>>,
}

impl Threads {
    /// Executes the requests. Calls `begin` with the start time, and `tick` at intervals. Returns the threads' sinks
    /// and whether the stop flag ended the job.
    pub(super) fn drive<P: OffsetGenerator, S: Sink + Send + 'static>(
        &mut self,
        task: &Task,
        offsets: P,
        sink: impl Fn() -> S,
        begin: &dyn Fn(u64),
        stop: &AtomicBool,
        tick: &mut dyn FnMut(),
    ) -> Result<(Vec<S>, bool), LoadError> {
        let Task { block, depth, threads, .. } = *task;
        buffers_len(block, depth, threads, task.transfer.direction.writes())?;
        let pool = WorkerPool::new();
        let way = self.way;
        let groups: Vec<Arc<Group>> = (0..threads)
            .map(|_| {
                let barrier = task.transfer.every.map(FlushBarrier::new);
                let turn = task.transfer.passes.is_serial.then(|| Arc::clone(&task.turn));
                Arc::new(Group { next: AtomicU64::new(0), barrier, turn })
            })
            .collect();
        let workers = (0..threads * depth).map(|slot| {
            // Every thread starts its first request before any thread starts its second.
            let part = slot % threads;
            let worker = Worker {
                transfer: task.transfer.clone(),
                offsets: Share { offsets, part, of: threads },
                rate_limit: task.rate_limit.map(|rate_limit| rate_limit.share(part, threads)),
                pool: Arc::clone(&pool),
                group: Arc::clone(&groups[part as usize]),
            };
            let mut sink = sink();
            move |ready: Ready<'_>| {
                let result = worker.work((block, way), &mut sink, ready);
                (sink, result)
            }
        });
        pool.run(workers, begin, (stop, STOP_PATIENCE), tick)
    }
}

/// The memory for one request. A single page is always contiguous, and one huge page per thread would waste memory.
fn buffer(len: usize) -> AlignedBuf {
    if len > AlignedBuf::ALIGN { AlignedBuf::on_huge_pages(len) } else { AlignedBuf::zeroed(len) }
}

struct Worker<P> {
    transfer: Transfer,
    offsets: P,
    rate_limit: Option<RateLimit>,
    pool: Arc<WorkerPool>,
    group: Arc<Group>,
}

/// The means by which a thread transfers data.
struct Hands {
    source: AlignedBuf,
    second: Option<AlignedBuf>,
    stream: Option<Stream>,
}

impl<P: OffsetGenerator> Worker<P> {
    fn work<S: Sink>(
        self,
        (block, way): (u32, Way),
        sink: &mut S,
        ready: Ready<'_>,
    ) -> Result<(), LoadError> {
        let block = block as usize;
        let mut hands = Hands {
            source: buffer(block),
            second: self.transfer.needs_second().then(|| buffer(block)),
            stream: match way {
                Way::Positioned => None,
                Way::Stdio => Some(Stream::open(&self.transfer)?),
            },
        };
        self.transfer.fill_source(&mut hands.source);
        match ready() {
            Some(began) => self.requests(began, &mut hands, sink),
            None => Ok(()),
        }
    }

    /// Runs request after request, with one clock reading per request: the end of a request is the start of the next.
    fn requests<S: Sink>(
        &self,
        began: u64,
        hands: &mut Hands,
        sink: &mut S,
    ) -> Result<(), LoadError> {
        let clock = self.pool.clock;
        let mut started = clock.ns();
        while !self.pool.halt.load(Relaxed) && !sink.finished() {
            let index = self.group.next.fetch_add(1, Relaxed);
            let Some(request) = self.offsets.request(index) else {
                return self.end(started, hands, sink);
            };
            if let Some(rate_limit) = &self.rate_limit {
                if !self.await_due(rate_limit.due(began, index), sink) {
                    break;
                }
                started = clock.ns();
            }
            if let Some(barrier) = &self.group.barrier {
                if !self.await_barrier(barrier, request.operation, sink)? {
                    break;
                }
                started = clock.ns();
            }
            let IoRequest { operation, offset, len } = request;
            let turn = self.group.turn.as_ref();
            let turn = turn.map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner));
            match operation {
                Operation::Read => self.read(request, hands)?,
                Operation::Write => self.write(request, hands)?,
            }
            drop(turn);
            let done = clock.ns();
            sink.completed(&Completed { operation, offset, len, started, taken: 0, done });
            started = done;
            if let (Some(barrier), Some(every)) = (&self.group.barrier, self.transfer.every)
                && barrier.leave()
            {
                self.transfer.flush(every.data_only)?;
                started = clock.ns();
                sink.flushed(started);
                barrier.flushed();
            }
        }
        Ok(())
    }

    /// Called after the last request.
    fn end<S: Sink>(
        &self,
        mut done: u64,
        hands: &mut Hands,
        sink: &mut S,
    ) -> Result<(), LoadError> {
        if let Some(stream) = &mut hands.stream {
            stream.end().map_err(|source| LoadError::Sync { source })?;
            done = self.pool.clock.ns();
        }
        if sink.exhausted(done) {
            self.transfer.flush(false)?;
            sink.flushed(self.pool.clock.ns());
        }
        Ok(())
    }

    /// Flushes if it is this thread's turn, otherwise waits for the flush. Returns false if the job ends first.
    fn await_barrier<S: Sink>(
        &self,
        barrier: &FlushBarrier,
        operation: Operation,
        sink: &mut S,
    ) -> Result<bool, LoadError> {
        let data_only = self.transfer.every.is_some_and(|every| every.data_only);
        loop {
            let over = || self.pool.halt.load(Relaxed) || sink.finished();
            match barrier.enter(operation, over) {
                Entry::Submit => return Ok(true),
                Entry::Leave => return Ok(false),
                Entry::Flush => {
                    self.transfer.flush(data_only)?;
                    sink.flushed(self.pool.clock.ns());
                }
            }
        }
    }

    /// Sleeps until `due`. Returns false if the job ends first.
    fn await_due<S: Sink>(&self, due: u64, sink: &mut S) -> bool {
        let mut idled = false;
        loop {
            let now = self.pool.clock.ns();
            if now >= due {
                if idled {
                    sink.resumed();
                }
                return true;
            }
            sink.idle(now);
            idled = true;
            if self.pool.halt.load(Relaxed) || sink.finished() {
                return false;
            }
            std::thread::sleep(Duration::from_nanos(due - now).min(STOP_POLL));
        }
    }

    fn read(&self, request: IoRequest, hands: &mut Hands) -> Result<(), LoadError> {
        let at = self.transfer.base + request.offset;
        let data = match &mut hands.second {
            Some(second) if self.transfer.reads_into_second() => second,
            _ => &mut hands.source,
        };
        let data = &mut data[..request.len as usize];
        if let Some(stream) = &mut hands.stream {
            Self::moved(request, stream.read(data, at))?;
            self.open(request, data);
            return Ok(());
        }
        for (number, piece) in data.chunks_mut(self.piece(request)).enumerate() {
            let at = at + (number * self.piece(request)) as u64;
            let moved = retry(|| read_at(&self.transfer.file, piece, at));
            Self::moved(IoRequest { len: piece.len() as u32, ..request }, moved)?;
        }
        self.open(request, data);
        Ok(())
    }

    fn open(&self, request: IoRequest, data: &mut [u8]) {
        if let Some(transform) = &self.transfer.transform {
            transform.open(request.offset, data);
        }
    }

    fn write(&self, request: IoRequest, hands: &mut Hands) -> Result<(), LoadError> {
        let len = request.len as usize;
        let source = &mut hands.source[..len];
        if let Some(headers) = &self.transfer.headers {
            headers.write_headers(source, request.offset);
        }
        let stored = match (&self.transfer.transform, &mut hands.second) {
            (Some(transform), Some(second)) => {
                let second = &mut second[..len];
                transform.seal(request.offset, source, second);
                &*second
            }
            _ => &*source,
        };
        let at = self.transfer.base + request.offset;
        if let Some(stream) = &mut hands.stream {
            return Self::moved(request, stream.write(stored, at));
        }
        for (number, piece) in stored.chunks(self.piece(request)).enumerate() {
            let at = at + (number * self.piece(request)) as u64;
            for _ in 0..1 + u32::from(self.transfer.passes.writes_twice) {
                let moved = retry(|| match self.transfer.dsync {
                    true => write_through(&self.transfer, piece, at),
                    false => write_at(&self.transfer.file, piece, at),
                });
                Self::moved(IoRequest { len: piece.len() as u32, ..request }, moved)?;
            }
        }
        Ok(())
    }

    /// Number of bytes that the inline layer forwards in one piece.
    fn piece(&self, request: IoRequest) -> usize {
        self.transfer.passes.piece.map_or(request.len, |piece| piece.min(request.len)) as usize
    }

    fn moved(request: IoRequest, moved: io::Result<usize>) -> Result<(), LoadError> {
        let IoRequest { operation, offset, len } = request;
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
