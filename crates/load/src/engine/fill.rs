//! Sinks that report the progress of filling an I/O target.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::window::{Completed, Sink};

/// Reports progress to the caller at each completion.
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
    fn completed(&mut self, request: &Completed) {
        self.bytes += u64::from(request.len);
        (self.progress)(self.bytes);
    }

    fn finished(&self) -> bool {
        false
    }
}

/// Like [`Fill`], for several threads: the coordinating thread reports to the caller.
#[derive(Clone, Default)]
pub(super) struct SharedFill(Arc<AtomicU64>);

impl SharedFill {
    pub(super) fn bytes(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Sink for SharedFill {
    fn completed(&mut self, request: &Completed) {
        self.0.fetch_add(u64::from(request.len), Relaxed);
    }

    fn finished(&self) -> bool {
        false
    }
}
