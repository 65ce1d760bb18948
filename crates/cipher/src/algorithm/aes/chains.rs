//! CBC encryption fused with the cipher: the chains of several data units are computed in parallel, each in a
//! register.

use super::keys::RoundKeys;
use super::wide::Cipher;
use crate::kernel::{BLOCK, Block, Buffer};

/// Encrypts as many data units in CBC mode as there are IVs: eight at a time to hide the latency of the rounds, then
/// fewer at a time.
///
/// # Safety
/// As for [`Cipher`].
#[inline(always)]
pub(super) unsafe fn chains<V: Cipher, const R: usize>(
    keys: &RoundKeys,
    ivs: &[Block],
    mut buffer: Buffer<'_>,
) {
    if ivs.is_empty() {
        return;
    }
    let unit = buffer.len() / ivs.len();
    assert!(unit.is_multiple_of(BLOCK), "data units are whole blocks");
    let (mut src, mut dst) = buffer.pointers();
    let mut left = ivs;
    macro_rules! take {
        ($lanes:literal) => {
            while let Some((ivs, rest)) = left.split_first_chunk::<$lanes>() {
                // SAFETY: the caller guarantees the instruction set. `src` and `dst` are valid for one unit per
                // remaining IV.
                unsafe {
                    lanes::<V, R, $lanes>(keys, ivs, src, dst, unit);
                    (src, dst) = (src.add($lanes * unit), dst.add($lanes * unit));
                }
                left = rest;
            }
        };
    }
    take!(8);
    take!(4);
    take!(2);
    take!(1);
}

/// Encrypts `N` data units of `unit` bytes.
///
/// # Safety
/// As for [`chains`]; `src` and `dst` must be valid for the units, and equal or disjoint; `unit`
/// must be a multiple of [`BLOCK`].
#[inline(always)]
unsafe fn lanes<V: Cipher, const R: usize, const N: usize>(
    keys: &RoundKeys,
    ivs: &[Block; N],
    src: *const u8,
    dst: *mut u8,
    unit: usize,
) {
    const { assert!(V::LANES == 1) };
    // SAFETY: the caller guarantees the instruction set and the memory.
    unsafe {
        let mut x = [V::splat(0); N];
        for (x, iv) in x.iter_mut().zip(ivs) {
            *x = V::lanes(iv);
        }
        for at in (0..unit).step_by(BLOCK) {
            for (lane, x) in x.iter_mut().enumerate() {
                *x ^= V::load(src.add(lane * unit + at));
            }
            x = V::cipher::<R, N, true>(keys, x);
            for (lane, x) in x.iter().enumerate() {
                x.store(dst.add(lane * unit + at));
            }
        }
    }
}
