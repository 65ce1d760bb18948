//! The fused XTS kernel over any [`Vector`]: tweaks in registers, unit borders hidden by batching.
//!
//! The tweaks of up to [`UNITS`] data units are enciphered together, since one after another each would
//! cost the latency of a whole AES. Data goes in groups of [`GROUP`] vectors, whose masks come from one
//! another by carry-less multiplication, off the ports that do the AES rounds. The last round takes
//! `key + mask` as its key and so saves the final addition.

use super::keys::{RoundKeys, XtsKeys};
use super::vector::{GROUP, Vector};
use crate::kernel::{BLOCK, Block, Buffer, Run};

/// Data units whose tweaks are enciphered together.
const UNITS: usize = 32;

/// Transforms the units of `buffer`.
///
/// # Safety
/// The caller must have `V`'s instruction set enabled (see [`Vector`]). `R` must be `keys.rounds`.
#[inline(always)]
pub(super) unsafe fn units<V: Vector, const R: usize, const ENCRYPT: bool>(
    keys: &XtsKeys,
    mut run: Run,
    mut buffer: Buffer<'_>,
) {
    let unit = run.layout.data_unit;
    let mut left = buffer.len() / unit;
    let (mut src, mut dst) = buffer.pointers();
    let data_keys = if ENCRYPT { &keys.encrypt } else { &keys.decrypt };
    let mut tweaks = [[0; BLOCK]; UNITS];
    while left > 0 {
        let batch = left.min(UNITS);
        for (index, tweak) in tweaks[..batch].iter_mut().enumerate() {
            *tweak = run.after(index).first.to_le_bytes();
        }
        // SAFETY: the instruction set is the caller's promise. `src` and `dst` are valid for `left`
        // units and `batch` is at most that.
        unsafe {
            encrypt_tweaks::<V, R>(&keys.tweak, &mut tweaks, batch);
            for tweak in &tweaks[..batch] {
                one_unit::<V, R, ENCRYPT>(data_keys, tweak, src, dst, unit / BLOCK);
                src = src.add(unit);
                dst = dst.add(unit);
            }
        }
        run = run.after(batch);
        left -= batch;
    }
}

/// Enciphers the first `count` tweaks; the others of the last vector are touched too.
///
/// # Safety
/// As for [`units`].
#[inline(always)]
unsafe fn encrypt_tweaks<V: Vector, const R: usize>(
    keys: &RoundKeys,
    tweaks: &mut [Block; UNITS],
    count: usize,
) {
    let start = tweaks.as_mut_ptr().cast::<u8>();
    let mut done = 0;
    // SAFETY: the instruction set is the caller's promise. `UNITS` is a multiple of the blocks of a
    // group and of a vector, so rounding `count <= UNITS` up to either stays inside the array.
    unsafe {
        while count - done >= GROUP * V::BLOCKS {
            let at = start.add(done * BLOCK);
            let mut x = [V::key(&keys[0]); GROUP];
            for (j, x) in x.iter_mut().enumerate() {
                *x = x.xor(V::load(at.add(j * V::BLOCKS * BLOCK)));
            }
            rounds::<V, R, GROUP, true>(keys, &mut x);
            for (j, x) in x.into_iter().enumerate() {
                x.enc_last(V::key(&keys[R])).store(at.add(j * V::BLOCKS * BLOCK));
            }
            done += GROUP * V::BLOCKS;
        }
        while done < count {
            let at = start.add(done * BLOCK);
            let mut x = [V::load(at).xor(V::key(&keys[0]))];
            rounds::<V, R, 1, true>(keys, &mut x);
            x[0].enc_last(V::key(&keys[R])).store(at);
            done += V::BLOCKS;
        }
    }
}

/// Transforms a data unit of `blocks` blocks whose enciphered tweak is `tweak`.
///
/// # Safety
/// As for [`units`]; `src` and `dst` must be valid for `blocks` blocks, and equal or apart.
#[inline(always)]
unsafe fn one_unit<V: Vector, const R: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    tweak: &Block,
    mut src: *const u8,
    mut dst: *mut u8,
    mut blocks: usize,
) {
    let bytes = V::BLOCKS * BLOCK;
    // SAFETY: the instruction set is the caller's promise. Every access is to one of the `blocks`
    // blocks left at `src` and `dst`: whole groups and vectors while there are so many, then a part.
    unsafe {
        let mut masks = V::first_masks(tweak);
        while blocks >= GROUP * V::BLOCKS {
            let first = V::key(&keys[0]);
            let mut x = [first; GROUP];
            for j in 0..GROUP {
                x[j] = V::load(src.add(j * bytes)).xor3(masks[j], first);
            }
            rounds::<V, R, GROUP, ENCRYPT>(keys, &mut x);
            let last = V::key(&keys[R]);
            for j in 0..GROUP {
                final_round::<V, ENCRYPT>(x[j], last.xor(masks[j])).store(dst.add(j * bytes));
            }
            blocks -= GROUP * V::BLOCKS;
            if blocks == 0 {
                return;
            }
            // Not before the unit is known to go on: short units have no use for these.
            for mask in &mut masks {
                *mask = mask.next_group();
            }
            src = src.add(GROUP * bytes);
            dst = dst.add(GROUP * bytes);
        }
        for mask in masks {
            if blocks < V::BLOCKS {
                if blocks > 0 {
                    let x = V::load_part(src, blocks);
                    one_vector::<V, R, ENCRYPT>(keys, x, mask).store_part(dst, blocks);
                }
                return;
            }
            one_vector::<V, R, ENCRYPT>(keys, V::load(src), mask).store(dst);
            src = src.add(bytes);
            dst = dst.add(bytes);
            blocks -= V::BLOCKS;
        }
    }
}

/// One vector from plain to cipher or back.
///
/// # Safety
/// As for [`units`].
#[inline(always)]
unsafe fn one_vector<V: Vector, const R: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    x: V,
    mask: V,
) -> V {
    // SAFETY: the instruction set is the caller's promise.
    unsafe {
        let mut x = [x.xor3(mask, V::key(&keys[0]))];
        rounds::<V, R, 1, ENCRYPT>(keys, &mut x);
        final_round::<V, ENCRYPT>(x[0], mask.xor(V::key(&keys[R])))
    }
}

/// All rounds but the last on `N` vectors.
///
/// # Safety
/// As for [`units`].
#[inline(always)]
unsafe fn rounds<V: Vector, const R: usize, const N: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    x: &mut [V; N],
) {
    for key in &keys[1..R] {
        // SAFETY: the instruction set is the caller's promise.
        unsafe {
            let key = V::key(key);
            for x in x.iter_mut() {
                *x = if ENCRYPT { x.enc(key) } else { x.dec(key) };
            }
        }
    }
}

/// The last round, whose key is the last round key plus the mask.
///
/// # Safety
/// As for [`units`].
#[inline(always)]
unsafe fn final_round<V: Vector, const ENCRYPT: bool>(x: V, key: V) -> V {
    // SAFETY: the instruction set is the caller's promise.
    unsafe { if ENCRYPT { x.enc_last(key) } else { x.dec_last(key) } }
}
