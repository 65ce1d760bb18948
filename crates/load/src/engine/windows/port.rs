//! The engine for Windows: overlapped reads and writes, whose completions arrive at a completion port.
//!
//! Each thread of a job has its own port and file handle, because a handle that was opened for synchronous I/O would
//! execute only one request at a time.

use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use cryptbench_blockdev::{AlignedBuf, IoMode, IoTarget, Passes};
use cryptbench_os::{direct_unit, reopen_overlapped};
use windows_sys::Win32::Foundation::{
    ERROR_HANDLE_EOF, ERROR_IO_PENDING, INVALID_HANDLE_VALUE, RtlNtStatusToDosError, WAIT_TIMEOUT,
};
use windows_sys::Win32::Storage::FileSystem::{ReadFile, WriteFile};
use windows_sys::Win32::System::IO::{
    CancelIoEx, CreateIoCompletionPort, GetQueuedCompletionStatusEx, OVERLAPPED, OVERLAPPED_ENTRY,
};

use crate::clock::Clock;
use crate::engine::rate_limit::RateLimit;
use crate::engine::transfer::{FlushEvery, Task, Transfer, flush_or_stop, passes};
use crate::engine::worker_pool::{Ready, WorkerPool};
use crate::engine::{LOOK_EVERY, STOP_PATIENCE, STOP_POLL};
use crate::memory::buffers_len;
use crate::offsets::{IoRequest, OffsetGenerator, Share};
use crate::window::{Completed, Sink};
use crate::{LoadError, Operation};

/// Maximum number of completions taken from the port in one call.
const BATCH: usize = 64;

pub(in crate::engine) struct Queue {
    how: &'static str,
}

impl Queue {
    /// Opens the engine, or returns the reason why it cannot be used.
    pub(in crate::engine) fn probe(polled: bool) -> Result<Self, String> {
        if polled {
            return Err("programs cannot poll a device on Windows".to_owned());
        }
        new_port().map_err(|e| e.to_string())?;
        Ok(Self { how: "no job yet" })
    }

    pub(in crate::engine) fn name(&self) -> &'static str {
        "completion port"
    }

    pub(in crate::engine) fn details(&self) -> String {
        self.how.to_owned()
    }

    /// Checks whether this engine can use an I/O target: the engine can neither send a request twice nor split it.
    pub(in crate::engine) fn check(&self, io_target: &IoTarget) -> Result<(), LoadError> {
        let Passes { piece, writes_twice, .. } = passes(io_target);
        if piece.is_none() && !writes_twice {
            return Ok(());
        }
        let reason = "it can neither split requests nor send them twice, as this inline layer does; use --engine \
                      threads";
        Err(LoadError::Unavailable { engine: self.name(), reason: reason.to_owned() })
    }

    /// Whether a task must be executed by [`drive_pool`](Self::drive_pool).
    pub(in crate::engine) fn takes_pool(&self, task: &Task) -> bool {
        task.threads > 1
    }

    fn note(&mut self, task: &Task) {
        self.how = match task.transfer.mode {
            IoMode::Direct => "overlapped, FILE_FLAG_NO_BUFFERING | FILE_FLAG_WRITE_THROUGH",
            IoMode::Buffered => "overlapped, through the file cache",
        };
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
        self.note(task);
        let clock = Clock::start();
        let mut port = Port::open(task)?;
        let began = clock.ns();
        begin(began);
        let ends = Ends { halt: &AtomicBool::new(false), stop };
        Driver::new(&mut port, task, offsets, clock, began).drive(sink, ends)
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
        self.note(task);
        let pool = WorkerPool::new();
        let workers = (0..task.threads).map(|number| {
            let (mut sink, pool) = (sink(), Arc::clone(&pool));
            let share = Share { offsets, part: number, of: task.threads };
            let rate_limit = task.rate_limit.map(|limit| limit.share(number, task.threads));
            let task = Task { rate_limit, ..task.clone() };
            move |ready: Ready<'_>| {
                let mut work = || {
                    let mut port = Port::open(&task)?;
                    let Some(began) = ready() else { return Ok(()) };
                    let ends = Ends { halt: &pool.halt, stop: &pool.stopped };
                    let driver = Driver::new(&mut port, &task, share, pool.clock, began);
                    driver.drive(&mut sink, ends).map(|_| ())
                };
                let result = work();
                (sink, result)
            }
        });
        // A port waits for its own requests for `STOP_PATIENCE`; the port's thread must be given longer.
        pool.run(workers, begin, (stop, STOP_PATIENCE + 4 * STOP_POLL), tick)
    }
}

/// Flags that end the requests early.
#[derive(Clone, Copy)]
struct Ends<'a> {
    /// Set when another thread of the job has failed: no further requests are submitted.
    halt: &'a AtomicBool,
    /// Set when the user stops the job: requests in flight that take too long are abandoned.
    stop: &'a AtomicBool,
}

fn new_port() -> io::Result<OwnedHandle> {
    // SAFETY: without a file and an existing port, the call creates a port.
    let handle = unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, null_mut(), 0, 1) };
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was just created by the call, and nothing else owns it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// The request in flight in a slot, if any.
struct Slot {
    /// Windows' from submission to completion.
    overlapped: OVERLAPPED,
    request: IoRequest,
    started: u64,
}

/// Memory that Windows uses while requests are in flight.
struct Memory {
    /// One slot per request in flight; slots never move.
    slots: Box<[Slot]>,
    /// One block per slot with the data to write, and a second block for sealed or read data if the first block must
    /// not be overwritten.
    buffers: AlignedBuf,
    file: File,
}

/// A completion port with the file, the slots and their buffers.
struct Port {
    port: OwnedHandle,
    /// `None` once it was abandoned.
    memory: Option<Memory>,
    in_flight: usize,
    block: usize,
    /// Distances in bytes from a slot's source data to its sealed data and to its read buffer.
    sealed_at: usize,
    read_at: usize,
}

// SAFETY: only the thread that owns the port uses the pointers in the slots.
unsafe impl Send for Slot {}

impl Port {
    fn open(task: &Task) -> Result<Self, LoadError> {
        let Task { transfer, block, depth, threads, .. } = task;
        let len = buffers_len(*block, *depth, *threads, transfer.direction.writes())?;
        let failed = |source| LoadError::Setup { what: "setting up a completion port", source };
        let file =
            reopen_overlapped(&transfer.file, transfer.mode == IoMode::Direct).map_err(failed)?;
        if transfer.mode == IoMode::Direct
            && let Some(unit) = direct_unit(&file)
            && !u64::from(*block).is_multiple_of(unit)
        {
            let reason = format!(
                "requests of {block} bytes are not multiples of the disk's {unit}-byte sectors; use larger ones, or \
                 --buffered"
            );
            return Err(LoadError::Unavailable { engine: "direct I/O", reason });
        }
        let port = new_port().map_err(failed)?;
        // SAFETY: both handles are open.
        let joined =
            unsafe { CreateIoCompletionPort(file.as_raw_handle(), port.as_raw_handle(), 0, 1) };
        if joined.is_null() {
            return Err(failed(io::Error::last_os_error()));
        }
        let none = IoRequest { operation: Operation::Read, offset: 0, len: 0 };
        let slots = (0..*depth)
            .map(|_| Slot { overlapped: OVERLAPPED::default(), request: none, started: 0 })
            .collect();
        let (block, depth) = (*block as usize, *depth as usize);
        let mut buffers = AlignedBuf::on_huge_pages(len);
        for slot in 0..depth {
            transfer.fill_source(&mut buffers[slot * block..(slot + 1) * block]);
        }
        let memory = Some(Memory { slots, buffers, file });
        let sealed_at = depth * block;
        let read_at = if transfer.reads_into_second() { sealed_at } else { 0 };
        Ok(Self { port, memory, in_flight: 0, block, sealed_at, read_at })
    }

    fn memory(&mut self) -> &mut Memory {
        self.memory.as_mut().expect("it is abandoned only when the port is dropped")
    }

    /// Waits at most `patience` for completions, and returns their slots and results.
    fn wait(
        &mut self,
        patience: Duration,
        done: &mut Vec<(usize, io::Result<u32>)>,
    ) -> io::Result<()> {
        let mut entries = [OVERLAPPED_ENTRY::default(); BATCH];
        let mut count = 0;
        let patience = u32::try_from(patience.as_micros().div_ceil(1000)).unwrap_or(u32::MAX - 1);
        // SAFETY: the port is open, and the number of entries is the length of the array.
        let told = unsafe {
            GetQueuedCompletionStatusEx(
                self.port.as_raw_handle(),
                entries.as_mut_ptr(),
                BATCH as u32,
                &raw mut count,
                patience,
                0,
            )
        };
        if told == 0 {
            let error = io::Error::last_os_error();
            let is_late = error.raw_os_error() == Some(WAIT_TIMEOUT.cast_signed());
            return if is_late { Ok(()) } else { Err(error) };
        }
        let memory = self.memory.as_ref().expect("as above");
        let first = memory.slots.as_ptr() as usize;
        for entry in &entries[..count as usize] {
            let slot = (entry.lpOverlapped as usize - first) / size_of::<Slot>();
            let status = memory.slots[slot].overlapped.Internal as u32;
            let result = match status.cast_signed() {
                // SAFETY: the function only converts a number.
                ..0 => Err(io::Error::from_raw_os_error(
                    unsafe { RtlNtStatusToDosError(status.cast_signed()) }.cast_signed(),
                )),
                _ => Ok(entry.dwNumberOfBytesTransferred),
            };
            done.push((slot, result));
        }
        self.in_flight -= count as usize;
        Ok(())
    }
}

impl Drop for Port {
    /// If requests hang, their memory and the file are never freed.
    fn drop(&mut self) {
        if self.in_flight == 0 {
            return;
        }
        let file = self.memory().file.as_raw_handle();
        // SAFETY: the file is open.
        unsafe { CancelIoEx(file, null_mut()) };
        let (until, mut done) = (Instant::now() + STOP_PATIENCE, Vec::new());
        while self.in_flight > 0 && Instant::now() < until {
            if self.wait(STOP_POLL, &mut done).is_err() {
                break;
            }
        }
        if self.in_flight > 0 {
            std::mem::forget(self.memory.take());
        }
    }
}

/// Why the next request must wait.
enum Hold {
    No,
    /// Until all earlier requests and a flush have completed.
    Flush,
    /// Until this time, at which the request is due.
    Until(u64),
}

/// Whether a request was started.
enum Start {
    Started,
    /// There is no next request, or the next request must wait.
    Not,
}

/// Prepares requests, submits them and waits for them.
struct Driver<'a, P> {
    port: &'a mut Port,
    transfer: &'a Transfer,
    rate_limit: Option<RateLimit>,
    offsets: P,
    clock: Clock,
    began: u64,
    next: u64,
    /// Whether no requests remain.
    ended: bool,
    /// Writes since the last flush.
    writes: u32,
    /// Time at which Windows had accepted each slot's request; 0 if this time was not measured.
    taken: Box<[u64]>,
}

impl<'a, P: OffsetGenerator> Driver<'a, P> {
    fn new(port: &'a mut Port, task: &'a Task, offsets: P, clock: Clock, began: u64) -> Self {
        let (transfer, rate_limit) = (&task.transfer, task.rate_limit);
        let taken = vec![0; task.depth as usize].into();
        let (next, ended, writes) = (0, false, 0);
        Self { port, transfer, rate_limit, offsets, clock, began, next, ended, writes, taken }
    }

    /// Executes requests until the sink has enough, no requests remain, a request fails, or a flag is set. Then waits
    /// for the requests in flight. Returns whether the stop flag ended the job.
    fn drive<S: Sink>(mut self, sink: &mut S, ends: Ends<'_>) -> Result<bool, LoadError> {
        let depth = self.port.memory().slots.len();
        let mut idle: Vec<usize> = (0..depth).rev().collect();
        let mut done = Vec::with_capacity(BATCH);
        let (mut failure, mut draining, mut idled) = (None, false, false);
        let mut stopped = None;
        let mut now = self.clock.ns();
        loop {
            while !draining && let Some(&slot) = idle.last() {
                match self.start(slot) {
                    Ok(Start::Started) => {}
                    Ok(Start::Not) => break,
                    Err(e) => {
                        failure.get_or_insert(e);
                        draining = true;
                        break;
                    }
                }
                idle.pop();
                if idled {
                    idled = false;
                    sink.resumed();
                }
            }
            let mut pause = None;
            if !draining {
                match self.hold(now) {
                    Hold::Flush if self.port.in_flight == 0 => {
                        let data_only = self.transfer.every.is_some_and(|every| every.data_only);
                        let flushed = flush_or_stop(&self.transfer.file, data_only, ends.stop);
                        now = self.clock.ns();
                        match flushed {
                            Ok(true) => {
                                self.writes = 0;
                                sink.flushed(now);
                                continue;
                            }
                            Ok(false) => stopped = Some(now),
                            Err(e) => failure = Some(e),
                        }
                        break;
                    }
                    Hold::Until(due) if !self.ended => {
                        pause = Some(Duration::from_nanos(due.saturating_sub(now)));
                    }
                    _ => {}
                }
            }
            if self.port.in_flight == 0 {
                let Some(pause) = pause else { break };
                std::thread::sleep(pause.min(STOP_POLL));
                now = self.clock.ns();
                sink.idle(now);
                draining |= sink.finished();
                idled = true;
            } else if let Err(source) =
                self.port.wait(pause.unwrap_or(STOP_POLL).min(STOP_POLL), &mut done)
            {
                let what = "waiting for a completion port";
                return Err(failure.unwrap_or(LoadError::Setup { what, source }));
            }
            now = self.clock.ns();
            draining |= ends.halt.load(Relaxed);
            if ends.stop.load(Relaxed) {
                draining = true;
                stopped.get_or_insert(now);
            }
            for (slot, result) in done.drain(..) {
                let Slot { request, started, .. } = self.port.memory().slots[slot];
                idle.push(slot);
                if let Err(e) = moved(request, result) {
                    draining = true;
                    failure.get_or_insert(e);
                    continue;
                }
                let IoRequest { operation, offset, len } = request;
                let mut at = now;
                if let (Operation::Read, Some(transform)) = (operation, &self.transfer.transform) {
                    let (block, read_at) = (self.port.block, self.port.read_at);
                    let from = slot * block + read_at;
                    let data = &mut self.port.memory().buffers[from..from + len as usize];
                    transform.open(offset, data);
                    at = self.clock.ns();
                }
                let taken = self.taken[slot];
                sink.completed(&Completed { operation, offset, len, started, taken, done: at });
                draining |= sink.finished();
            }
            let patience = STOP_PATIENCE.as_nanos() as u64;
            if self.port.in_flight > 0 && stopped.is_some_and(|at| now - at > patience) {
                return failure.map_or(Ok(true), Err);
            }
        }
        if failure.is_none() && stopped.is_none() && self.ended && sink.exhausted(now) {
            match flush_or_stop(&self.transfer.file, false, ends.stop) {
                Ok(true) => sink.flushed(self.clock.ns()),
                Ok(false) => stopped = Some(now),
                Err(e) => failure = Some(e),
            }
        }
        failure.map_or(Ok(stopped.is_some()), Err)
    }

    /// Whether the next request must wait, and the reason. Windows does not support asynchronous flushes, so each flush
    /// waits for the requests before it. A queued flush precedes a write, so there is no flush after the last write.
    fn hold(&self, now: u64) -> Hold {
        let is_due =
            |every: FlushEvery| self.writes >= every.writes && (every.drained || !self.ended);
        if self.transfer.every.is_some_and(is_due) {
            return Hold::Flush;
        }
        match self.rate_limit.map(|limit| limit.due(self.began, self.next)) {
            Some(due) if due > now => Hold::Until(due),
            _ => Hold::No,
        }
    }

    /// Puts the next request into `slot`, which must not have a request in flight.
    fn start(&mut self, slot: usize) -> Result<Start, LoadError> {
        let Some(request) = self.offsets.request(self.next) else {
            self.ended = true;
            return Ok(Start::Not);
        };
        let mut started = self.clock.ns();
        if !matches!(self.hold(started), Hold::No) {
            return Ok(Start::Not);
        }
        self.next += 1;
        let IoRequest { operation, offset, len } = request;
        let (block, sealed_at) = (self.port.block, self.port.sealed_at);
        let mut from = slot * block;
        let transfer = self.transfer;
        match operation {
            Operation::Read => from += self.port.read_at,
            Operation::Write => {
                self.writes += 1;
                let (sources, sealed) = self.port.memory().buffers.split_at_mut(sealed_at);
                let source = &mut sources[from..from + len as usize];
                if let Some(headers) = &transfer.headers {
                    headers.write_headers(source, offset);
                }
                if let Some(transform) = &transfer.transform {
                    transform.seal(offset, source, &mut sealed[from..from + len as usize]);
                    from += sealed_at;
                    started = started.max(self.began);
                }
            }
        }
        let at = transfer.base + offset;
        let memory = self.port.memory();
        assert!(from + len as usize <= memory.buffers.len());
        let chosen = &mut memory.slots[slot];
        *chosen = Slot { overlapped: OVERLAPPED::default(), request, started };
        chosen.overlapped.Anonymous.Anonymous.Offset = at as u32;
        chosen.overlapped.Anonymous.Anonymous.OffsetHigh = (at >> 32) as u32;
        let (file, overlapped) = (memory.file.as_raw_handle(), &raw mut chosen.overlapped);
        // SAFETY: the range is within the buffers, as asserted above.
        let data = unsafe { memory.buffers.as_mut_ptr().add(from) };
        // SAFETY: the buffer and the slot belong to this request until its completion is removed from the port. The
        // port keeps them, and keeps the file open, as long as any request is in flight.
        let begun = unsafe {
            match operation {
                Operation::Read => ReadFile(file, data, len, null_mut(), overlapped),
                Operation::Write => WriteFile(file, data, len, null_mut(), overlapped),
            }
        };
        if begun == 0 {
            let source = io::Error::last_os_error();
            if source.raw_os_error() != Some(ERROR_IO_PENDING.cast_signed()) {
                return Err(failed(request, source));
            }
        }
        self.port.in_flight += 1;
        let is_timed = self.next.is_multiple_of(u64::from(LOOK_EVERY));
        self.taken[slot] = if is_timed { self.clock.ns() } else { 0 };
        Ok(Start::Started)
    }
}

fn moved(request: IoRequest, moved: io::Result<u32>) -> Result<(), LoadError> {
    let IoRequest { operation, offset, len } = request;
    match moved {
        Ok(got) if got == len => Ok(()),
        Ok(got) => Err(LoadError::Short { operation, offset, wanted: len, got }),
        Err(source) => Err(failed(request, source)),
    }
}

/// Windows reports an error for reads beyond the end of the file, where there is nothing to read.
fn failed(request: IoRequest, source: io::Error) -> LoadError {
    let IoRequest { operation, offset, len } = request;
    match source.raw_os_error().map(i32::cast_unsigned) {
        Some(ERROR_HANDLE_EOF) => LoadError::Short { operation, offset, wanted: len, got: 0 },
        _ => LoadError::Io { operation, offset, len, source },
    }
}

#[cfg(test)]
mod tests {
    use cryptbench_blockdev::{Extent, SectorTransform};
    use cryptbench_os::files::{create_own, with_direct};

    use super::*;
    use crate::{
        Amount, Engine, EngineChoice, Flush, Job, Pattern, SECTOR, SectorState, verify_sector,
    };

    #[test]
    fn each_byte_is_moved_once_at_every_depth_and_through_both_kinds_of_handles() {
        const LEN: u64 = 4 << 20;
        let (directory, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
        for (mode, depth, threads) in
            [(IoMode::Buffered, 1, 1), (IoMode::Direct, 8, 1), (IoMode::Direct, 3, 2)]
        {
            let path = directory.path().join(format!("{depth}-{threads}"));
            let made = Arc::new(create_own(&path, false).unwrap());
            made.set_len(LEN).unwrap();
            let file = with_direct(&made, mode == IoMode::Direct).unwrap();
            let extent = Extent { offset: 0, len: LEN };
            let target = IoTarget { file, extent, mode, transform: None };
            let (mut engine, fallback) = Engine::open(EngineChoice::Auto).unwrap();
            assert_eq!((engine.name(), fallback), ("completion port", None));
            let mut told = 0;
            engine.prefill(&target, 7, &stop, &mut |bytes| told = bytes).unwrap();
            let mut job = Job::new(Operation::Write, Pattern::Permutation, 4096, depth);
            (job.threads, job.generation, job.seed) = (threads, 5, 9);
            job.amount = Amount::Bytes(LEN);
            job.flush = Flush::Every { writes: 100, data_only: true, drained: true };
            let measured = engine.run(&target, &job, &stop).unwrap();
            assert_eq!((measured.bytes, measured.ios, told), (LEN, LEN / 4096, LEN), "{depth}");
            let stored = std::fs::read(&path).unwrap();
            for (number, sector) in stored.chunks(SECTOR).enumerate() {
                let state = verify_sector(sector, (number * SECTOR) as u64);
                assert_eq!(state, SectorState::Valid { generation: 5, seed: 9 }, "{number}");
            }
        }
    }

    /// A layer that only passes requests on, in its way.
    struct Passing(Passes);

    impl SectorTransform for Passing {
        fn unit(&self) -> usize {
            SECTOR
        }

        fn seal(&self, _: u64, plain: &[u8], stored: &mut [u8]) {
            stored.copy_from_slice(plain);
        }

        fn open(&self, _: u64, _: &mut [u8]) {}

        fn passes(&self) -> Passes {
            self.0
        }
    }

    #[test]
    fn a_layer_that_sends_pieces_or_writes_twice_is_refused() {
        let (directory, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
        let file = Arc::new(create_own(&directory.path().join("whole"), false).unwrap());
        file.set_len(1 << 20).unwrap();
        let extent = Extent { offset: 0, len: 1 << 20 };
        let mut job = Job::new(Operation::Write, Pattern::Sequential, 8192, 2);
        job.amount = Amount::Bytes(1 << 20);
        let run = |engine: EngineChoice, passes: Passes| {
            let transform: Arc<dyn SectorTransform> = Arc::new(Passing(passes));
            let file = Arc::clone(&file);
            let target =
                IoTarget { file, extent, mode: IoMode::Buffered, transform: Some(transform) };
            Engine::open(engine).unwrap().0.run(&target, &job, &stop)
        };
        for passes in [
            Passes { piece: Some(4096), ..Passes::default() },
            Passes { writes_twice: true, ..Passes::default() },
        ] {
            let refused = run(EngineChoice::Auto, passes).unwrap_err();
            assert!(matches!(refused, LoadError::Unavailable { .. }), "{refused:?}");
            run(EngineChoice::Threads, passes).unwrap();
        }
        run(EngineChoice::Auto, Passes { is_serial: true, ..Passes::default() }).unwrap();
    }

    #[test]
    fn a_read_past_the_end_is_an_error_and_leaves_nothing_in_flight() {
        let (directory, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
        let file = Arc::new(create_own(&directory.path().join("short"), false).unwrap());
        file.set_len(1 << 20).unwrap();
        let extent = Extent { offset: 0, len: 2 << 20 };
        let target = IoTarget { file, extent, mode: IoMode::Buffered, transform: None };
        let mut engine = Engine::open(EngineChoice::Auto).unwrap().0;
        let mut job = Job::new(Operation::Read, Pattern::Sequential, 4096, 4);
        job.amount = Amount::Bytes(2 << 20);
        let failed = engine.run(&target, &job, &stop).unwrap_err();
        assert!(matches!(failed, LoadError::Io { .. } | LoadError::Short { .. }), "{failed:?}");
    }
}
