//! Threads that start simultaneously and work independently.

use std::sync::{Barrier, mpsc};
use std::thread;

use crate::MicrobenchError;

/// Runs `work` on one thread per worker. No thread begins before all threads have been started and prepared.
///
/// # Errors
/// [`MicrobenchError::Usage`] if the system cannot start this many threads.
pub(crate) fn together<W: Send, T: Send>(
    workers: impl ExactSizeIterator<Item = W>,
    prepare: impl Fn(&mut W) + Sync,
    work: impl Fn(W) -> T + Sync,
) -> Result<Vec<T>, MicrobenchError> {
    let count = workers.len();
    let (barrier, prepare, work) = (&Barrier::new(count), &prepare, &work);
    thread::scope(|scope| {
        let mut started = Vec::with_capacity(count);
        for mut worker in workers {
            let (go, may_go) = mpsc::channel::<()>();
            let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                prepare(&mut worker);
                // The wait fails if another thread could not be started, because the barrier would then never be
                // released.
                may_go.recv().ok()?;
                barrier.wait();
                Some(work(worker))
            });
            let handle = spawned.map_err(|e| {
                MicrobenchError::Usage(format!("cannot start {count} threads ({e}): use fewer"))
            })?;
            started.push((go, handle));
        }
        for (go, _) in &started {
            // Sending fails only if a thread has exited; joining the thread returns the reason.
            let _ = go.send(());
        }
        let done = started.into_iter().filter_map(|(_, handle)| match handle.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        Ok(done.collect())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn all_threads_are_prepared_before_any_works() {
        let prepared = AtomicUsize::new(0);
        let seen = together(
            [10, 20, 30].into_iter(),
            |number| {
                *number += 1;
                prepared.fetch_add(1, Ordering::SeqCst);
            },
            |number| (number, prepared.load(Ordering::SeqCst)),
        );
        assert_eq!(seen.unwrap(), [(11, 3), (21, 3), (31, 3)]);
    }
}
