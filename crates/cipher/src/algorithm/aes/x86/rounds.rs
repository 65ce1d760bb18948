//! The AES rounds for a vector of cipher blocks.

use super::super::blocks::GROUP;
use super::super::keys::{RoundKeys, WideKey};
use super::super::wide::Cipher;
use crate::vector::Vector;

/// Several cipher blocks in one register.
///
/// # Safety
/// As for [`Vector`].
pub(super) trait Rounds: Vector {
    /// Reads `blocks < LANES` blocks and sets the rest to zero; `from` must be valid for that many blocks.
    unsafe fn load_part(from: *const u8, blocks: usize) -> Self;
    /// Writes the first `blocks < LANES` blocks; `to` must be valid for that many blocks.
    unsafe fn store_part(self, to: *mut u8, blocks: usize);
    /// Loads a round key into every block of the vector.
    unsafe fn key(key: &WideKey) -> Self;

    /// Returns the vector unchanged, and forces it to be computed at this point. Otherwise the compiler would move
    /// the computation to where the vector is used, although it is meant to fill gaps in other work.
    unsafe fn pin(self) -> Self;

    /// A round of the cipher.
    unsafe fn enc(self, key: Self) -> Self;
    /// The last round of the cipher.
    unsafe fn enc_last(self, key: Self) -> Self;
    /// A round of the equivalent inverse cipher.
    unsafe fn dec(self, key: Self) -> Self;
    /// The last round of the equivalent inverse cipher.
    unsafe fn dec_last(self, key: Self) -> Self;

    /// The masks of a unit's first group: block `i` of vector `j` is `tweak * x^(LANES j + i)`. Every block of
    /// `tweak` contains the tweak; `before` contains the vectors before vector `j`, where `j < GROUP`.
    unsafe fn first_mask(j: usize, tweak: Self, before: &[Self; GROUP]) -> Self;
    /// Multiplies each block by `x^(GROUP * LANES)`; the result is the mask at the same position in the next group.
    unsafe fn next_group(self) -> Self;
}

impl<V: Rounds> Cipher for V {
    #[inline(always)]
    unsafe fn cipher<const R: usize, const N: usize, const ENCRYPT: bool>(
        keys: &RoundKeys,
        mut x: [V; N],
    ) -> [V; N] {
        // SAFETY: the trait's contract.
        unsafe {
            for x in &mut x {
                *x ^= V::key(&keys[0]);
            }
            let mut x = rounds::<V, R, N, ENCRYPT>(keys, x);
            for x in &mut x {
                *x = final_round::<V, ENCRYPT>(*x, V::key(&keys[R]));
            }
            x
        }
    }

    #[inline(always)]
    unsafe fn cipher_part<const R: usize, const ENCRYPT: bool>(
        keys: &RoundKeys,
        at: *mut u8,
        blocks: usize,
    ) {
        // SAFETY: the trait's contract.
        unsafe {
            let [x] = V::cipher::<R, 1, ENCRYPT>(keys, [V::load_part(at, blocks)]);
            x.store_part(at, blocks);
        }
    }
}

/// Repeats a block of code for each number. These loops come close to the compiler's own limits for unrolling. Beyond
/// these limits, the arrays of vectors would be stored in memory, and the speed would vary between builds.
macro_rules! unrolled {
    ($i:ident in $($number:literal)* => $body:block) => {
        $({
            let $i = $number;
            $body
        })*
    };
}

pub(super) use unrolled;

/// Methods of [`Rounds`], each one instruction.
macro_rules! aes {
    ($($method:ident = $instruction:ident;)*) => {
        $(
            #[inline(always)]
            unsafe fn $method(self, key: Self) -> Self {
                // SAFETY: the trait's contract.
                Self(unsafe { $instruction(self.0, key.0) })
            }
        )*
    };
}

pub(super) use aes;

/// Applies all rounds except the last.
///
/// # Safety
/// As for [`Rounds`].
#[inline(always)]
pub(super) unsafe fn rounds<V: Rounds, const R: usize, const N: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    mut x: [V; N],
) -> [V; N] {
    unrolled!(round in 1 2 3 4 5 6 7 8 9 10 11 12 13 => {
        if round < R {
            // SAFETY: the caller guarantees the instruction set.
            x = unsafe { round_of::<V, N, ENCRYPT>(x, &keys[round]) };
        }
    });
    x
}

/// Applies one round, which must not be the last one.
///
/// # Safety
/// As for [`Rounds`].
#[inline(always)]
pub(super) unsafe fn round_of<V: Rounds, const N: usize, const ENCRYPT: bool>(
    mut x: [V; N],
    key: &WideKey,
) -> [V; N] {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        let key = V::key(key);
        for x in &mut x {
            *x = if ENCRYPT { x.enc(key) } else { x.dec(key) };
        }
    }
    x
}

/// Applies the last round. In XTS its key is the last round key XORed with the mask.
///
/// # Safety
/// As for [`Rounds`].
#[inline(always)]
pub(super) unsafe fn final_round<V: Rounds, const ENCRYPT: bool>(x: V, key: V) -> V {
    // SAFETY: the caller guarantees the instruction set.
    unsafe { if ENCRYPT { x.enc_last(key) } else { x.dec_last(key) } }
}
