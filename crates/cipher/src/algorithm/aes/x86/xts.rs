//! The fused XTS kernel for any [`Rounds`]: tweaks stay in registers, and batching hides unit borders.
//!
//! The kernel encrypts the tweaks of up to [`UNITS`] data units together, because encrypting each tweak separately
//! would take the latency of a whole AES encryption. Data is processed in groups of [`GROUP`] vectors. The masks of
//! each group are derived from those of the previous group by carry-less multiplication, which uses different execution
//! ports from the AES rounds. These masks are always computed one group in advance, even across unit borders. Rounds
//! therefore never wait for masks, and 512-byte units are as fast as long ones. The last round uses `key + mask` as its
//! key, which saves the final XOR.

use super::super::blocks::GROUP;
use super::super::keys::{RoundKeys, XtsKeys};
use super::rounds::{Rounds, final_round, round_of, rounds, unrolled};
use crate::kernel::{BLOCK, Block, Buffer, Run};

/// Number of data units whose tweaks are encrypted together.
pub(super) const UNITS: usize = 32;

/// A batch of tweaks and one more tweak.
pub(super) type Tweaks = [Block; UNITS + 1];

/// Transforms the units of `buffer`.
///
/// # Safety
/// `V`'s instruction set must be enabled in the calling function. `R` must be the number of rounds of `keys`.
#[inline(always)]
pub(super) unsafe fn units<V: Rounds, const R: usize, const ENCRYPT: bool>(
    keys: &XtsKeys,
    run: Run,
    mut buffer: Buffer<'_>,
) {
    let unit = run.layout.data_unit;
    let mut left = buffer.len() / unit;
    let (mut src, mut dst) = buffer.pointers();
    let data_keys = if ENCRYPT { &keys.data.encrypt } else { &keys.data.decrypt };
    // One more tweak than a batch, because the last unit also prepares the masks of a next unit, which are not used.
    let mut tweaks: Tweaks = [[0; BLOCK]; UNITS + 1];
    let step = u128::from(run.layout.tweak_step);
    let mut number = run.first;
    while left > 0 {
        let batch = left.min(UNITS);
        for tweak in &mut tweaks[..batch] {
            *tweak = number.to_le_bytes();
            number = number.wrapping_add(step);
        }
        // SAFETY: the caller guarantees the instruction set. `src` and `dst` are valid for `left` units, and `batch` is
        // not greater than `left`.
        unsafe {
            encrypt_tweaks::<V, R>(&keys.tweak, &mut tweaks, batch);
            let mut masks = first_masks(&tweaks[0]);
            for index in 0..batch {
                masks = one_unit::<V, R, ENCRYPT>(
                    data_keys,
                    masks,
                    &tweaks[index + 1],
                    src,
                    dst,
                    unit / BLOCK,
                );
                src = src.add(unit);
                dst = dst.add(unit);
            }
        }
        left -= batch;
    }
}

/// Encrypts the first `count` tweaks, and also changes the rest of the last vector of tweaks.
///
/// # Safety
/// As for [`units`].
#[inline(always)]
pub(super) unsafe fn encrypt_tweaks<V: Rounds, const R: usize>(
    keys: &RoundKeys,
    tweaks: &mut Tweaks,
    count: usize,
) {
    let start = tweaks.as_mut_ptr().cast::<u8>();
    let mut done = 0;
    // SAFETY: the caller guarantees the instruction set. `UNITS` is a multiple of the blocks of a group and of a
    // vector, so rounding `count <= UNITS` up to a multiple of either stays inside the array.
    unsafe {
        while count - done >= GROUP * V::LANES {
            let at = start.add(done * BLOCK);
            let mut x = [V::key(&keys[0]); GROUP];
            for (j, x) in x.iter_mut().enumerate() {
                *x = x.xor(V::load(at.add(j * V::BYTES)));
            }
            let x = rounds::<V, R, GROUP, true>(keys, x);
            for (j, x) in x.into_iter().enumerate() {
                x.enc_last(V::key(&keys[R])).store(at.add(j * V::BYTES));
            }
            done += GROUP * V::LANES;
        }
        while done < count {
            let at = start.add(done * BLOCK);
            let x = [V::load(at).xor(V::key(&keys[0]))];
            let [x] = rounds::<V, R, 1, true>(keys, x);
            x.enc_last(V::key(&keys[R])).store(at);
            done += V::LANES;
        }
    }
}

/// Encrypts or decrypts a data unit of `blocks` blocks whose first masks are `masks`. Returns the first masks of the
/// next unit, whose encrypted tweak is `next_tweak`.
///
/// # Safety
/// As for [`units`]; `src` and `dst` must be valid for `blocks` blocks, and equal or disjoint.
#[inline(always)]
unsafe fn one_unit<V: Rounds, const R: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    mut masks: [V; GROUP],
    next_tweak: &Block,
    mut src: *const u8,
    mut dst: *mut u8,
    mut blocks: usize,
) -> [V; GROUP] {
    let bytes = V::BYTES;
    // SAFETY: the caller guarantees the instruction set. Every access is to one of the `blocks` blocks that remain at
    // `src` and `dst`: whole groups and vectors as long as enough blocks remain, then a part of a vector.
    unsafe {
        while blocks > GROUP * V::LANES {
            let next = one_group::<V, R, ENCRYPT, false>(keys, masks, next_tweak, src, dst);
            masks = next;
            blocks -= GROUP * V::LANES;
            src = src.add(GROUP * bytes);
            dst = dst.add(GROUP * bytes);
        }
        if blocks == GROUP * V::LANES {
            return one_group::<V, R, ENCRYPT, true>(keys, masks, next_tweak, src, dst);
        }
        let next = first_masks(next_tweak);
        for mask in masks {
            if blocks < V::LANES {
                if blocks > 0 {
                    let x = V::load_part(src, blocks);
                    one_vector::<V, R, ENCRYPT>(keys, x, mask).store_part(dst, blocks);
                }
                return next;
            }
            one_vector::<V, R, ENCRYPT>(keys, V::load(src), mask).store(dst);
            src = src.add(bytes);
            dst = dst.add(bytes);
            blocks -= V::LANES;
        }
        next
    }
}

/// Encrypts or decrypts a group of vectors with their masks, and returns the masks of the next group. That group
/// belongs to the same unit or, if this is the unit's `LAST` group, to the unit whose encrypted tweak is
/// `next_tweak`.
///
/// The kernel computes the next masks between the rounds, one vector per round. Before or after the rounds, where the
/// compiler would move these computations, they would compete with the final XORs for execution ports.
///
/// # Safety
/// As for [`units`]; `src` and `dst` must be valid for a group, and equal or disjoint.
#[inline(always)]
unsafe fn one_group<V: Rounds, const R: usize, const ENCRYPT: bool, const LAST: bool>(
    keys: &RoundKeys,
    masks: [V; GROUP],
    next_tweak: &Block,
    src: *const u8,
    dst: *mut u8,
) -> [V; GROUP] {
    // The unrolled loops below assume these values.
    const { assert!(GROUP == 8 && GROUP < R && R <= 14) };
    let bytes = V::BYTES;
    let (mut x, mut next, mut last_keys) = (masks, masks, masks);
    // SAFETY: the caller guarantees the instruction set and the memory.
    unsafe {
        let first = V::key(&keys[0]);
        let last = V::key(&keys[R]);
        let tweak = V::lanes(next_tweak);
        unrolled!(j in 0 1 2 3 4 5 6 7 => {
            x[j] = V::load(src.add(j * bytes)).xor3(masks[j], first).pin();
        });
        unrolled!(j in 0 1 2 3 4 5 6 7 => {
            x = round_of::<V, GROUP, ENCRYPT>(x, &keys[j + 1]);
            let mask = if LAST {
                V::first_mask(j, tweak, &next)
            } else {
                masks[j].next_group()
            };
            next[j] = mask.pin();
            last_keys[j] = masks[j].xor(last);
        });
        unrolled!(round in 9 10 11 12 13 => {
            if round < R {
                x = round_of::<V, GROUP, ENCRYPT>(x, &keys[round]);
            }
        });
        unrolled!(j in 0 1 2 3 4 5 6 7 => {
            final_round::<V, ENCRYPT>(x[j], last_keys[j]).store(dst.add(j * bytes));
        });
    }
    next
}

/// The masks of a unit's first group, computed from its encrypted tweak.
///
/// # Safety
/// As for [`units`].
#[inline(always)]
unsafe fn first_masks<V: Rounds>(tweak: &Block) -> [V; GROUP] {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        let tweak = V::lanes(tweak);
        let mut masks = [tweak; GROUP];
        unrolled!(j in 0 1 2 3 4 5 6 7 => {
            masks[j] = V::first_mask(j, tweak, &masks);
        });
        masks
    }
}

/// Encrypts or decrypts one vector.
///
/// # Safety
/// As for [`units`].
#[inline(always)]
unsafe fn one_vector<V: Rounds, const R: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    x: V,
    mask: V,
) -> V {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        let x = [x.xor3(mask, V::key(&keys[0]))];
        let [x] = rounds::<V, R, 1, ENCRYPT>(keys, x);
        final_round::<V, ENCRYPT>(x, mask.xor(V::key(&keys[R])))
    }
}
