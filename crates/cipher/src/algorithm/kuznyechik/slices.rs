//! Blocks as slices: slice `i` contains byte `i` of each block.

use crate::kernel::{BLOCK, Block};
use crate::vector::{Vector, transpose_bytes};

/// Loads the slices of a batch, and adds masks and a key.
///
/// # Safety
/// As for [`Vector`]; `src` and `masks` must be valid for a batch.
#[inline(always)]
pub(super) unsafe fn load<V: Vector>(masks: &[u128], src: *const u8, key: &Block) -> [V; BLOCK] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut x = [V::lanes(key); BLOCK];
        for (i, x) in x.iter_mut().enumerate() {
            let mask = V::load(masks.as_ptr().cast::<u8>().add(i * V::BYTES));
            *x = x.xor3(mask, V::load(src.add(i * V::BYTES)));
        }
        transpose_bytes(x)
    }
}

/// The inverse of [`load`].
///
/// # Safety
/// As for [`Vector`]; `dst` and `masks` must be valid for a batch.
#[inline(always)]
pub(super) unsafe fn store<V: Vector>(
    slices: [V; BLOCK],
    masks: &[u128],
    dst: *mut u8,
    key: &Block,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let key = V::lanes(key);
        for (i, x) in transpose_bytes(slices).into_iter().enumerate() {
            let mask = V::load(masks.as_ptr().cast::<u8>().add(i * V::BYTES));
            x.xor3(mask, key).store(dst.add(i * V::BYTES));
        }
    }
}
