//! CBC encryption fused with the cipher: the chains of several data units run at once, each in a
//! register.

use super::keys::BlockKeys;
use super::vector::Vector;
use super::xts::{final_round, rounds};
use crate::kernel::{BLOCK, Block, Buffer};

/// Encrypts as many data units in CBC as `chain` has IVs: eight at a time to hide the latency of
/// the rounds, then fewer.
///
/// # Safety
/// The caller must have `V`'s instruction set enabled (see [`Vector`]). `R` must be `keys.rounds`.
#[inline(always)]
pub(super) unsafe fn chains<V: Vector, const R: usize>(
    keys: &BlockKeys,
    chain: &mut [Block],
    mut buffer: Buffer<'_>,
) {
    if chain.is_empty() {
        return;
    }
    let unit = buffer.len() / chain.len();
    assert!(unit.is_multiple_of(BLOCK), "data units are whole blocks");
    let (src, dst) = buffer.pointers();
    let mut done = 0;
    // SAFETY: the caller guarantees the instruction set. `src` and `dst` are valid for one unit per
    // IV, and each step takes as many units as it has IVs.
    unsafe {
        while chain.len() - done >= 8 {
            lanes::<V, R, 8>(
                keys,
                &chain[done..],
                src.add(done * unit),
                dst.add(done * unit),
                unit,
            );
            done += 8;
        }
        if chain.len() - done >= 4 {
            lanes::<V, R, 4>(
                keys,
                &chain[done..],
                src.add(done * unit),
                dst.add(done * unit),
                unit,
            );
            done += 4;
        }
        if chain.len() - done >= 2 {
            lanes::<V, R, 2>(
                keys,
                &chain[done..],
                src.add(done * unit),
                dst.add(done * unit),
                unit,
            );
            done += 2;
        }
        if chain.len() > done {
            lanes::<V, R, 1>(
                keys,
                &chain[done..],
                src.add(done * unit),
                dst.add(done * unit),
                unit,
            );
        }
    }
}

/// Encrypts `N` data units of `unit` bytes with the first `N` IVs of `ivs`.
///
/// # Safety
/// As for [`chains`]; `src` and `dst` must be valid for the units, and equal or disjoint; `unit`
/// must be a multiple of [`BLOCK`].
#[inline(always)]
unsafe fn lanes<V: Vector, const R: usize, const N: usize>(
    keys: &BlockKeys,
    ivs: &[Block],
    src: *const u8,
    dst: *mut u8,
    unit: usize,
) {
    const { assert!(V::BLOCKS == 1) };
    let keys = &keys.encrypt;
    // SAFETY: the instruction set and the memory are the caller's promise.
    unsafe {
        let mut x = [V::broadcast(&ivs[0]); N];
        for (x, iv) in x.iter_mut().zip(ivs) {
            *x = V::broadcast(iv);
        }
        for at in (0..unit).step_by(BLOCK) {
            for (lane, x) in x.iter_mut().enumerate() {
                *x = x.xor3(V::load(src.add(lane * unit + at)), V::key(&keys[0]));
            }
            x = rounds::<V, R, N, true>(keys, x);
            for (lane, x) in x.iter_mut().enumerate() {
                *x = final_round::<V, true>(*x, V::key(&keys[R]));
                x.store(dst.add(lane * unit + at));
            }
        }
    }
}
