//! Joins threads that share the work of a key derivation.

use std::thread::ScopedJoinHandle;

/// Waits for a thread, and returns its result or propagates its panic. Leaving a scope waits only until the thread's
/// work has finished; the thread's memory may be freed later.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
