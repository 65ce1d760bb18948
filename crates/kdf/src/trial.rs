//! Opens a volume whose key derivation function is unknown: tries all functions on all CPUs, in bounded memory.

use std::ops::DerefMut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::derivation::Derivation;
use crate::effort::Effort;
use crate::error::KdfError;
use crate::threads::join;

/// Tries each derivation until `check` accepts a key, and returns the result of `check`. `new_key` allocates memory
/// for a key; the key type must wipe itself. `check` receives the index in `derivations` and the key.
///
/// Derivations run in the given order, as many in parallel as `effort` allows threads. If there are more threads than
/// derivations, the threads are divided among the derivations. Derivations that need memory run last, one at a time,
/// with all threads. When a key is found, the running derivations are stopped.
///
/// # Errors
/// If no key is accepted: the first error of any derivation, such as [`KdfError::Memory`], after all other
/// derivations have been tried. [`KdfError::Stopped`] if the caller's flag stopped the trial.
pub fn first_fit<T: Send, K: DerefMut<Target = [u8]>>(
    password: &[u8],
    salt: &[u8],
    new_key: impl Fn() -> K + Sync,
    derivations: &[Derivation],
    effort: Effort<'_>,
    check: impl Fn(usize, &[u8]) -> Option<T> + Sync,
) -> Result<Option<T>, KdfError> {
    let (large, small): (Vec<usize>, Vec<usize>) =
        (0..derivations.len()).partition(|&index| derivations[index].memory_kib() > 0);
    let found = AtomicBool::new(false);
    let outcome = Mutex::new(Ok(None));
    let attempt = |index: usize, side_by_side: usize| {
        let mut key = new_key();
        let share = effort.share(side_by_side, &found);
        let derived = derivations[index].derive(password, salt, &mut key, share);
        let fit = derived.map(|()| check(index, &key));
        let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
        match fit {
            Ok(None) => {}
            Ok(Some(fit)) => {
                found.store(true, Ordering::Relaxed);
                *outcome = Ok(Some(fit));
            }
            Err(error) => {
                if matches!(*outcome, Ok(None)) {
                    *outcome = Err(error);
                }
            }
        }
    };
    let next = AtomicUsize::new(0);
    let run_small = || {
        while let Some(&index) = small.get(next.fetch_add(1, Ordering::Relaxed)) {
            attempt(index, small.len());
        }
    };
    thread::scope(|scope| {
        let others = 1..effort.threads().min(small.len());
        let others: Vec<_> = others.map(|_| scope.spawn(run_small)).collect();
        run_small();
        others.into_iter().for_each(join);
    });
    // Runs one derivation at a time, because there may not be enough memory for two.
    for index in large {
        if found.load(Ordering::Relaxed) {
            break;
        }
        attempt(index, 1);
    }
    outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
}
