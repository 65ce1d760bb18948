//! How long a thread that waits takes to be woken by another, which a request waits for where a program serves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, Thread};
use std::time::Instant;

/// Wakings of one look, and looks.
const WAKINGS: u32 = 400;
const LOOKS: usize = 5;

/// Seconds of one waking, in the middle of some looks: two threads wake each other by turns.
pub(super) fn wake_up_s() -> Option<f64> {
    let mut looks: Vec<f64> = (0..LOOKS).map(|_| look()).collect::<Option<_>>()?;
    looks.sort_by(f64::total_cmp);
    Some(looks[LOOKS / 2])
}

/// `None` if no thread can be started.
fn look() -> Option<f64> {
    let turn = Arc::new(AtomicU32::new(0));
    let (its_turn, this) = (Arc::clone(&turn), thread::current());
    let other = thread::Builder::new().spawn(move || take_turns(&its_turn, 1, &this)).ok()?;
    let began = Instant::now();
    take_turns(&turn, 0, other.thread());
    let took = began.elapsed();
    other.join().ok()?;
    Some(took.as_secs_f64() / f64::from(WAKINGS))
}

/// Takes each second turn, from `first` on, and wakes the `other` thread after it.
fn take_turns(turn: &AtomicU32, first: u32, other: &Thread) {
    for own in (first..WAKINGS).step_by(2) {
        while turn.load(Ordering::Acquire) != own {
            thread::park();
        }
        turn.store(own + 1, Ordering::Release);
        other.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waking_takes_a_while() {
        let seconds = wake_up_s().unwrap();
        assert!(seconds > 0.0 && seconds < 1.0, "{seconds}");
    }
}
