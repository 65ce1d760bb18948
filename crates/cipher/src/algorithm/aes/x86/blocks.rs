//! Single blocks over any [`Vector`], for modes that are not fused with the cipher.

use super::keys::{BlockKeys, RoundKeys};
use super::vector::{GROUP, Vector};
use super::xts::{final_round, rounds};
use crate::kernel::{BLOCK, Block};

/// Blocks per call that keep every kernel busy: a group of the widest vectors.
pub(super) const PARALLEL: usize = 32;

/// Transforms blocks in place: whole groups of vectors first, then smaller and smaller ones, so
/// that a few blocks take as long as one.
///
/// # Safety
/// The caller must have `V`'s instruction set enabled (see [`Vector`]). `R` must be `keys.rounds`.
#[inline(always)]
pub(super) unsafe fn blocks<V: Vector, const R: usize, const ENCRYPT: bool>(
    keys: &BlockKeys,
    data: &mut [Block],
) {
    let keys = if ENCRYPT { &keys.encrypt } else { &keys.decrypt };
    let mut left = data.len();
    let mut at = data.as_mut_ptr().cast::<u8>();
    // SAFETY: the caller guarantees the instruction set. `at` is valid for `left` blocks, and no
    // step takes more than that.
    unsafe {
        while left >= GROUP * V::BLOCKS {
            at = vectors::<V, R, GROUP, ENCRYPT>(keys, at);
            left -= GROUP * V::BLOCKS;
        }
        if left >= 4 * V::BLOCKS {
            at = vectors::<V, R, 4, ENCRYPT>(keys, at);
            left -= 4 * V::BLOCKS;
        }
        if left >= 2 * V::BLOCKS {
            at = vectors::<V, R, 2, ENCRYPT>(keys, at);
            left -= 2 * V::BLOCKS;
        }
        if left >= V::BLOCKS {
            at = vectors::<V, R, 1, ENCRYPT>(keys, at);
            left -= V::BLOCKS;
        }
        if left > 0 {
            let [x] = transform::<V, R, 1, ENCRYPT>(keys, [V::load_part(at, left)]);
            x.store_part(at, left);
        }
    }
}

/// Transforms `N` vectors at `at` and returns the address after them.
///
/// # Safety
/// As for [`blocks`]; `at` must be valid for the vectors.
#[inline(always)]
unsafe fn vectors<V: Vector, const R: usize, const N: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    at: *mut u8,
) -> *mut u8 {
    let bytes = V::BLOCKS * BLOCK;
    // SAFETY: the instruction set and the memory are the caller's promise.
    unsafe {
        let mut x = [V::load(at); N];
        for (j, x) in x.iter_mut().enumerate() {
            *x = V::load(at.add(j * bytes));
        }
        for (j, x) in transform::<V, R, N, ENCRYPT>(keys, x).into_iter().enumerate() {
            x.store(at.add(j * bytes));
        }
        at.add(N * bytes)
    }
}

/// Applies all rounds.
///
/// # Safety
/// As for [`blocks`].
#[inline(always)]
unsafe fn transform<V: Vector, const R: usize, const N: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    mut x: [V; N],
) -> [V; N] {
    // SAFETY: the instruction set is the caller's promise.
    unsafe {
        for x in &mut x {
            *x = x.xor(V::key(&keys[0]));
        }
        let mut x = rounds::<V, R, N, ENCRYPT>(keys, x);
        for x in &mut x {
            *x = final_round::<V, ENCRYPT>(*x, V::key(&keys[R]));
        }
        x
    }
}
