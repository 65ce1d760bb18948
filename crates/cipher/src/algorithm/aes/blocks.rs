//! Single blocks with vectors of any width, for modes that are not fused with the cipher.

use super::keys::RoundKeys;
use super::wide::Cipher;
use crate::kernel::Block;

/// Number of vectors processed together: AES rounds have a latency of 3 to 5 cycles, and 1 to 2 can start per cycle.
pub(super) const GROUP: usize = 8;

/// Number of blocks per call that keeps every kernel busy: a group of the widest vectors.
pub(super) const PARALLEL: usize = 32;

/// Transforms blocks in place: first whole groups of vectors, then increasingly smaller groups, so that a few blocks
/// take no longer than a single block.
///
/// # Safety
/// As for [`Cipher`].
#[inline(always)]
pub(super) unsafe fn blocks<V: Cipher, const R: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    data: &mut [Block],
) {
    let mut left = data.len();
    let mut at = data.as_mut_ptr().cast::<u8>();
    // SAFETY: the caller guarantees the instruction set. `at` is valid for `left` blocks, and no step processes more
    // blocks than that.
    unsafe {
        while left >= GROUP * V::LANES {
            at = vectors::<V, R, GROUP, ENCRYPT>(keys, at);
            left -= GROUP * V::LANES;
        }
        if left >= 4 * V::LANES {
            at = vectors::<V, R, 4, ENCRYPT>(keys, at);
            left -= 4 * V::LANES;
        }
        if left >= 2 * V::LANES {
            at = vectors::<V, R, 2, ENCRYPT>(keys, at);
            left -= 2 * V::LANES;
        }
        if left >= V::LANES {
            at = vectors::<V, R, 1, ENCRYPT>(keys, at);
            left -= V::LANES;
        }
        if left > 0 {
            V::cipher_part::<R, ENCRYPT>(keys, at, left);
        }
    }
}

/// Encrypts or decrypts `N` vectors at `at`, and returns the address after them.
///
/// # Safety
/// As for [`blocks`]; `at` must be valid for the vectors.
#[inline(always)]
unsafe fn vectors<V: Cipher, const R: usize, const N: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    at: *mut u8,
) -> *mut u8 {
    // SAFETY: the caller guarantees the instruction set and the memory.
    unsafe {
        let mut x = [V::load(at); N];
        for (j, x) in x.iter_mut().enumerate() {
            *x = V::load(at.add(j * V::BYTES));
        }
        for (j, x) in V::cipher::<R, N, ENCRYPT>(keys, x).into_iter().enumerate() {
            x.store(at.add(j * V::BYTES));
        }
        at.add(N * V::BYTES)
    }
}
