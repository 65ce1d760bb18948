//! Locks on byte ranges of a device. The locks ensure that a read-modify-write of a sector does not lose data that
//! another request writes at the same time.

use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Binary logarithm of the number of bytes under one lock.
const STRIPE: u32 = 20;

/// How a range is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Shared by any number of writes of whole sectors: each write replaces all sectors in its range.
    Shared,
    /// Held by a single request that reads a sector and writes it back.
    Exclusive,
}

/// 64 locks, assigned to a device's stripes in turn.
///
/// A caller that blocks acquires the locks of a range in ascending order, and a caller that cannot block only tries to
/// acquire them, so no deadlock can occur. Any thread may release a held range.
pub(crate) struct Stripes {
    locks: [Lock; 64],
}

#[derive(Default)]
struct Lock {
    holders: Mutex<Holders>,
    freed: Condvar,
}

#[derive(Default)]
struct Holders {
    shared: u32,
    exclusive: bool,
    /// Number of waiting exclusive requests; new shared requests wait for these.
    waiting: u32,
}

impl Holders {
    fn admits(&self, hold: Hold) -> bool {
        match hold {
            Hold::Shared => !self.exclusive && self.waiting == 0,
            Hold::Exclusive => !self.exclusive && self.shared == 0,
        }
    }

    fn enter(&mut self, hold: Hold) {
        match hold {
            Hold::Shared => self.shared += 1,
            Hold::Exclusive => self.exclusive = true,
        }
    }
}

impl Lock {
    fn holders(&self) -> MutexGuard<'_, Holders> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn acquire(&self, hold: Hold) {
        let mut holders = self.holders();
        if hold == Hold::Exclusive {
            holders.waiting += 1;
        }
        while !holders.admits(hold) {
            holders = self.freed.wait(holders).unwrap_or_else(PoisonError::into_inner);
        }
        if hold == Hold::Exclusive {
            holders.waiting -= 1;
        }
        holders.enter(hold);
    }

    fn release(&self, hold: Hold) {
        let mut holders = self.holders();
        match hold {
            Hold::Shared => holders.shared -= 1,
            Hold::Exclusive => holders.exclusive = false,
        }
        // Shared holders can delay only exclusive requests, which are counted as waiting.
        if hold == Hold::Exclusive || holders.waiting > 0 {
            drop(holders);
            self.freed.notify_all();
        }
    }
}

impl Stripes {
    pub(crate) fn new() -> Self {
        Self { locks: std::array::from_fn(|_| Lock::default()) }
    }

    /// Waits until `range` can be held, and holds it until the result is dropped.
    pub(crate) fn hold(&self, range: &Range<u64>, hold: Hold) -> Held<'_> {
        for lock in self.of(range) {
            lock.acquire(hold);
        }
        Held { stripes: self, range: range.clone(), hold }
    }

    /// Holds `range` if it is free at this moment, until [`release`](Self::release).
    pub(crate) fn try_acquire(&self, range: &Range<u64>, hold: Hold) -> bool {
        for (taken, lock) in self.of(range).enumerate() {
            let mut holders = lock.holders();
            if !holders.admits(hold) {
                drop(holders);
                self.of(range).take(taken).for_each(|lock| lock.release(hold));
                return false;
            }
            holders.enter(hold);
        }
        true
    }

    /// Releases a range that was acquired with the same arguments.
    pub(crate) fn release(&self, range: &Range<u64>, hold: Hold) {
        self.of(range).for_each(|lock| lock.release(hold));
    }

    /// The locks of a range in ascending order, without duplicates.
    fn of(&self, range: &Range<u64>) -> impl Iterator<Item = &Lock> {
        let (first, end) = (range.start >> STRIPE, range.end.div_ceil(1 << STRIPE));
        let mut wanted = 0u64;
        for stripe in first..end.min(first + 64) {
            wanted |= 1 << (stripe % 64);
        }
        self.locks.iter().enumerate().filter(move |(i, _)| wanted >> i & 1 == 1).map(|(_, l)| l)
    }
}

/// A held range. The range is released even if its holder panics; otherwise the requests that wait for it, and with
/// them the server, would wait for ever.
pub(crate) struct Held<'a> {
    stripes: &'a Stripes,
    range: Range<u64>,
    hold: Hold,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.stripes.release(&self.range, self.hold);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn whole_writes_share_and_partial_ones_exclude() {
        let stripes = Stripes::new();
        let (low, across, high) = (0..512, MIB - 512..MIB + 512, MIB..2 * MIB);
        assert!(stripes.try_acquire(&low, Hold::Shared));
        assert!(stripes.try_acquire(&across, Hold::Shared));
        assert!(!stripes.try_acquire(&high, Hold::Exclusive));
        stripes.release(&across, Hold::Shared);
        assert!(stripes.try_acquire(&high, Hold::Exclusive));
        assert!(!stripes.try_acquire(&across, Hold::Shared), "its second half is taken");
        assert!(!stripes.try_acquire(&low, Hold::Exclusive), "the refusal gave back only its own");
        stripes.release(&low, Hold::Shared);
        assert!(stripes.try_acquire(&low, Hold::Exclusive));
        stripes.release(&low, Hold::Exclusive);
        stripes.release(&high, Hold::Exclusive);
        assert!(stripes.try_acquire(&(0..64 * MIB), Hold::Exclusive));
        stripes.release(&(0..64 * MIB), Hold::Exclusive);
        // Longer than there are locks, and starting in the middle of them: each is taken once.
        assert!(stripes.try_acquire(&(70 * MIB..400 * MIB), Hold::Exclusive));
        stripes.release(&(70 * MIB..400 * MIB), Hold::Exclusive);
    }

    #[test]
    fn counts_survive_threads_that_mix_both_holds() {
        let stripes = Stripes::new();
        let cell = Mutex::new(0u64);
        std::thread::scope(|scope| {
            for t in 0..4u64 {
                let (stripes, cell) = (&stripes, &cell);
                scope.spawn(move || {
                    for i in 0..2000 {
                        let range = (t % 2) * MIB / 2..MIB + i % 3;
                        if t == 0 {
                            drop(stripes.hold(&range, Hold::Shared));
                            continue;
                        }
                        let held = stripes.hold(&range, Hold::Exclusive);
                        // A lock that admits two would lose additions here.
                        let before = *cell.lock().unwrap();
                        std::thread::yield_now();
                        *cell.lock().unwrap() = before + 1;
                        drop(held);
                    }
                });
            }
        });
        assert_eq!(*cell.lock().unwrap(), 3 * 2000);
    }
}
