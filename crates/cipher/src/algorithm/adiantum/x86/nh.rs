//! NH over vectors of several pieces.

use super::super::nh::{NhKey, PASSES, rest};
use crate::kernel::BLOCK;

/// Lanes of 64 bits, two for each piece of a message.
///
/// # Safety
/// As for `chacha::Words`.
pub(super) trait Pieces: Copy {
    /// Pieces of 16 bytes in a vector.
    const PIECES: usize;

    unsafe fn zero() -> Self;
    /// Words 0 and 1 of each piece of the message at `from`, each in the lower half of a lane, and words 2 and 3. What the upper
    /// halves hold is of no account.
    unsafe fn halves(from: *const u8) -> (Self, Self);
    /// Reads a part of the key.
    unsafe fn key(from: *const u64) -> Self;
    /// The sums of the halves of lanes.
    unsafe fn add_words(self, other: Self) -> Self;
    /// The products of the lower halves of lanes.
    unsafe fn product(self, other: Self) -> Self;
    /// The sums of lanes.
    unsafe fn add(self, other: Self) -> Self;
    /// The sum of all lanes.
    unsafe fn total(self) -> u64;
}

/// NH of a message of at most `MOST` bytes.
///
/// # Safety
/// As for the methods of [`Pieces`].
#[inline(always)]
pub(super) unsafe fn nh<P: Pieces>(key: &NhKey, message: &[u8]) -> [u64; PASSES] {
    let whole = message.len() / (P::PIECES * BLOCK) * P::PIECES;
    // The last vector's last pass reads this far into the key.
    assert!(whole + PASSES - 1 <= key.first.len(), "NH takes no longer message");
    // SAFETY: the instruction set is the caller's promise. A vector begins at a piece of the message and `pass` pieces later in
    // the key, and ends within both, by `whole` and the assertion.
    unsafe {
        let mut sums = [P::zero(); PASSES];
        for index in (0..whole).step_by(P::PIECES) {
            let (first, second) = P::halves(message.as_ptr().add(index * BLOCK));
            for (pass, sum) in sums.iter_mut().enumerate() {
                let first = first.add_words(P::key(key.first.as_ptr().add(index + pass).cast()));
                let second = second.add_words(P::key(key.second.as_ptr().add(index + pass).cast()));
                *sum = sum.add(first.product(second));
            }
        }
        let mut totals = [0; PASSES];
        for (total, sum) in totals.iter_mut().zip(sums) {
            *total = sum.total();
        }
        rest(key, message, whole, totals)
    }
}
