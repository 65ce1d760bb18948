//! The end of threads that share the work of a key derivation.

use std::thread::ScopedJoinHandle;

/// Waits for a thread, and returns its result or panics as it did. The end of a scope waits only for a
/// thread's work: its memory may still be freed afterwards.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
