//! The parameters that the engines need to transfer one block.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};

use cryptbench_blockdev::{IoMode, IoTarget, Passes, SectorTransform};

use super::STOP_POLL;
use super::rate_limit::RateLimit;
use crate::verify_header::{HeaderWriter, body_seed, fill_bodies};
use crate::{Content, Direction, Flush, Job, LoadError};

/// The work of an engine, apart from the offsets.
#[derive(Clone)]
pub(super) struct Task {
    pub(super) transfer: Transfer,
    /// Largest request in bytes.
    pub(super) block: u32,
    /// Requests in flight per thread.
    pub(super) depth: u32,
    pub(super) threads: u32,
    pub(super) rate_limit: Option<RateLimit>,
    /// Number of additional requests per thread that wait because the inline layer processes one request at a time.
    pub(super) waiting: u32,
    /// Lock shared by the threads that use such a layer.
    pub(super) turn: Arc<Mutex<()>>,
}

impl Task {
    /// The same task for an engine with asynchronous requests: with a serial layer, only one request per thread is in
    /// flight, and the other requests wait.
    pub(super) fn in_a_queue(&self) -> Self {
        let depth = if self.transfer.passes.is_serial { 1 } else { self.depth };
        Self { depth, waiting: self.depth - depth, ..self.clone() }
    }

    pub(super) fn of_job(io_target: &IoTarget, job: &Job) -> Self {
        Self {
            transfer: Transfer::of_job(io_target, job),
            block: job.block_size as u32,
            depth: job.queue_depth,
            threads: job.threads,
            rate_limit: RateLimit::of_job(job),
            waiting: 0,
            turn: Arc::default(),
        }
    }
}

/// Transfers between buffers and an I/O target.
#[derive(Clone)]
pub(super) struct Transfer {
    pub(super) file: Arc<File>,
    /// Offset of the extent in the file, in bytes.
    pub(super) base: u64,
    /// How the file was opened, for engines that open the file a second time.
    #[cfg_attr(target_os = "linux", expect(dead_code, reason = "io_uring uses the open file"))]
    pub(super) mode: IoMode,
    pub(super) direction: Direction,
    pub(super) transform: Option<Arc<dyn SectorTransform>>,
    /// The way in which the inline layer forwards requests.
    pub(super) passes: Passes,
    /// `None` if written data has no verify headers.
    pub(super) headers: Option<HeaderWriter>,
    /// Whether a write completes only when it is on stable storage.
    pub(super) dsync: bool,
    pub(super) every: Option<FlushEvery>,
    content: Content,
    /// Seed of the written data, apart from the verify headers.
    body_seed: u64,
}

/// The data in the source buffers of a job that writes. Requests change only the verify headers in this data.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Filling {
    content: Content,
    body_seed: u64,
    block: u32,
    depth: u32,
}

/// A flush after every n writes.
#[derive(Clone, Copy)]
pub(super) struct FlushEvery {
    pub(super) writes: u32,
    pub(super) data_only: bool,
    /// Whether no other request may be in flight during the flush.
    pub(super) drained: bool,
}

impl Transfer {
    pub(super) fn of_job(io_target: &IoTarget, job: &Job) -> Self {
        let has_headers = job.content != Content::Zeros;
        Self {
            file: Arc::clone(&io_target.file),
            base: io_target.extent.offset,
            mode: io_target.mode,
            direction: job.direction,
            transform: io_target.transform.clone(),
            passes: passes(io_target),
            headers: has_headers.then(|| HeaderWriter::new(job.generation, job.seed)),
            dsync: job.flush == Flush::EachWrite,
            every: match job.flush {
                Flush::Every { writes, data_only, drained } => {
                    Some(FlushEvery { writes, data_only, drained })
                }
                _ => None,
            },
            content: job.content,
            body_seed: body_seed(job.generation, job.seed),
        }
    }

    /// A transfer of incompressible data of generation 0.
    pub(super) fn of_fill(io_target: &IoTarget, seed: u64) -> Self {
        Self {
            file: Arc::clone(&io_target.file),
            base: io_target.extent.offset,
            mode: io_target.mode,
            direction: Direction::Write,
            transform: io_target.transform.clone(),
            passes: passes(io_target),
            headers: Some(HeaderWriter::new(0, seed)),
            dsync: false,
            every: None,
            content: Content::Random,
            body_seed: body_seed(0, seed),
        }
    }

    /// Whether requests need a second buffer: for sealed data, or for reads if the first buffer contains data to be
    /// written.
    pub(super) fn needs_second(&self) -> bool {
        self.direction.writes() && self.transform.is_some() || self.reads_into_second()
    }

    /// Whether reads must not overwrite the source buffers of writes.
    pub(super) fn reads_into_second(&self) -> bool {
        matches!(self.direction, Direction::Mixed { .. })
    }

    /// Fills a source buffer with the data to be written, without verify headers. This data is the same for each
    /// request.
    pub(super) fn fill_source(&self, source: &mut [u8]) {
        if !self.direction.writes() {
            return;
        }
        match self.content {
            Content::Random => fill_bodies(source, self.body_seed, 0),
            Content::Compressible { percent } => fill_bodies(source, self.body_seed, percent),
            // Buffers are reused and may contain data from other jobs.
            Content::Zeros => source.fill(0),
        }
    }

    /// The data that [`fill_source`](Self::fill_source) leaves in `depth` buffers of `block` bytes.
    /// `None` for a job that reads into these buffers.
    pub(super) fn filling(&self, block: u32, depth: u32) -> Option<Filling> {
        let (content, body_seed) = (self.content, self.body_seed);
        self.direction.writes().then_some(Filling { content, body_seed, block, depth })
    }

    /// Flushes the file to the device; `data_only` omits metadata that is not needed to read the data.
    pub(super) fn flush(&self, data_only: bool) -> Result<(), LoadError> {
        flush(&self.file, data_only).map_err(|source| LoadError::Sync { source })
    }
}

/// How the inline layer of a target forwards requests.
pub(super) fn passes(io_target: &IoTarget) -> Passes {
    io_target.transform.as_ref().map(|transform| transform.passes()).unwrap_or_default()
}

fn flush(file: &File, data_only: bool) -> io::Result<()> {
    if data_only { file.sync_data() } else { file.sync_all() }
}

/// Flushes the file to the device. Returns false if `stop` was set before the flush completed.
///
/// A flush cannot be cancelled, so it runs in a thread that may outlive the call.
pub(super) fn flush_or_stop(
    file: &Arc<File>,
    data_only: bool,
    stop: &AtomicBool,
) -> Result<bool, LoadError> {
    let (tell, told) = channel();
    let file = Arc::clone(file);
    std::thread::Builder::new()
        .name("load-flush".to_owned())
        .spawn(move || {
            let result = flush(&file, data_only);
            // Closes the file before it reports the result, because the caller may unmount the file system next.
            drop(file);
            let _ = tell.send(result);
        })
        .map_err(|source| LoadError::Setup { what: "starting a thread", source })?;
    loop {
        match told.recv_timeout(STOP_POLL) {
            Ok(result) => {
                return result.map(|()| true).map_err(|source| LoadError::Sync { source });
            }
            Err(RecvTimeoutError::Timeout) if stop.load(Relaxed) => return Ok(false),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(LoadError::Panicked),
        }
    }
}
