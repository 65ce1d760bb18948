//! The threads of a server: if one thread exits for any reason, all threads are stopped.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::ExportError;
use crate::stop::Stop;

pub(crate) struct Threads {
    shared: Arc<Shared>,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    stop: Stop,
    running: AtomicUsize,
    /// What the last thread to exit does.
    at_end: Box<dyn Fn() + Send + Sync>,
}

impl Threads {
    /// Creates an empty group; its last thread to exit calls `at_end`.
    pub(crate) fn new(at_end: impl Fn() + Send + Sync + 'static) -> Result<Self, ExportError> {
        let stop = Stop::new().map_err(|e| ExportError::system("make an event", e))?;
        let at_end = Box::new(at_end);
        let shared = Arc::new(Shared { stop, running: AtomicUsize::new(0), at_end });
        Ok(Self { shared, handles: Mutex::default() })
    }

    /// Starts a thread. `body` must return soon after the flag passed to it is raised.
    pub(crate) fn start(
        &self,
        name: String,
        body: impl FnOnce(&Stop) + Send + 'static,
    ) -> Result<(), ExportError> {
        let shared = Arc::clone(&self.shared);
        shared.running.fetch_add(1, Ordering::AcqRel);
        let end = EndsAll(shared);
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || {
                let end = end;
                body(&end.0.stop);
            })
            .map_err(|e| ExportError::system("start a thread", e))?;
        self.handles.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// Stops all threads, and waits until they have exited.
    pub(crate) fn stop(&self) {
        self.shared.stop.raise();
        self.wait();
    }

    /// Waits until all have exited.
    pub(crate) fn wait(&self) {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in handles.drain(..) {
            // The panic has already been reported, and has stopped the other threads.
            let _ = thread.join();
        }
    }

    pub(crate) fn have_ended(&self) -> bool {
        self.shared.running.load(Ordering::Acquire) == 0
    }
}

/// Waits until this many threads have reported that they are serving, or until one thread has reported that it cannot
/// serve.
pub(crate) fn all_serve(reports: &Receiver<io::Result<()>>, threads: usize) -> io::Result<()> {
    let none = |_| Err(io::ErrorKind::BrokenPipe.into());
    (0..threads).try_for_each(|_| reports.recv().unwrap_or_else(none))
}

struct EndsAll(Arc<Shared>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        self.0.stop.raise();
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            (self.0.at_end)();
        }
    }
}
