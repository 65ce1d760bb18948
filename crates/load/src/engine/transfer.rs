//! What both engines need to know to move one block, and the sinks of a prefill.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};

use cryptbench_blockdev::{SectorTransform, Surface};

use super::STOP_POLL;
use crate::stamp::{Stamper, fill_random};
use crate::window::Sink;
use crate::{LoadError, Operation};

/// One direction of traffic between buffers and a surface.
#[derive(Clone)]
pub(super) struct Transfer {
    pub(super) file: Arc<File>,
    /// First byte of the extent in the file.
    pub(super) base: u64,
    pub(super) operation: Operation,
    pub(super) transform: Option<Arc<dyn SectorTransform>>,
    pub(super) stamper: Stamper,
    seed: u64,
}

impl Transfer {
    pub(super) fn new(surface: &Surface, operation: Operation, generation: u64, seed: u64) -> Self {
        Self {
            file: Arc::clone(&surface.file),
            base: surface.extent.offset,
            operation,
            transform: surface.transform.clone(),
            stamper: Stamper::new(generation, seed),
            seed,
        }
    }

    /// Whether requests need a second buffer for what belongs on the device.
    pub(super) fn needs_bounce(&self) -> bool {
        self.operation == Operation::Write && self.transform.is_some()
    }

    /// Fills the source buffer of `slot` with what is going to be written, stamps aside.
    pub(super) fn fill_source(&self, source: &mut [u8], slot: u32) {
        if self.operation == Operation::Write {
            fill_random(source, self.seed.rotate_left(32) ^ u64::from(slot));
        }
    }
}

/// Tells a caller how far a prefill has come.
pub(super) struct Fill<'a> {
    bytes: u64,
    progress: &'a mut dyn FnMut(u64),
}

impl<'a> Fill<'a> {
    pub(super) fn telling(progress: &'a mut dyn FnMut(u64)) -> Self {
        Self { bytes: 0, progress }
    }
}

impl Sink for Fill<'_> {
    fn begin(&mut self, _: u64) {}

    fn completed(&mut self, len: u32, _: u64, _: u64) {
        self.bytes += u64::from(len);
        (self.progress)(self.bytes);
    }

    fn finished(&self) -> bool {
        false
    }
}

/// As [`Fill`], for threads: the coordinating thread tells the caller.
#[derive(Clone, Default)]
pub(super) struct SharedFill(Arc<AtomicU64>);

impl SharedFill {
    pub(super) fn bytes(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Sink for SharedFill {
    fn begin(&mut self, _: u64) {}

    fn completed(&mut self, len: u32, _: u64, _: u64) {
        self.0.fetch_add(u64::from(len), Relaxed);
    }

    fn finished(&self) -> bool {
        false
    }
}

/// Flushes the file's data to the device; `false` when `stop` was raised meanwhile.
///
/// The flush cannot be called off, so it runs in a thread of its own that may outlive the call.
pub(super) fn sync_data(file: &Arc<File>, stop: &AtomicBool) -> Result<bool, LoadError> {
    let (tell, told) = channel();
    let file = Arc::clone(file);
    std::thread::Builder::new()
        .name("load-flush".to_owned())
        .spawn(move || {
            let result = file.sync_data();
            // The file is let go before the result is told: the caller may unmount it next.
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
