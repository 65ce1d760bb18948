//! XTS around a byte-sliced kernel, which always transforms a full batch of blocks.
//!
//! Blocks are gathered across unit borders until the kernel's slices are full, so 512-byte units
//! fill them as well as long ones. Only the last batch of a run can leave slices partly empty.

use super::keys::{Keys, RoundKeys};
use crate::kernel::{BLOCK, Block, Buffer, Run};
use crate::mode::xts::double;

/// Largest batch of any kernel, and the number of data units whose tweaks are enciphered together.
const MOST: usize = 64;

/// Masks that a kernel makes at a time.
pub(super) const GROUP: usize = 8;

/// Blocks or masks, aligned for any vector.
#[repr(C, align(64))]
struct Aligned<T>([T; MOST]);

/// A byte-sliced kernel.
///
/// # Safety
/// Every function may use the whole instruction set of the implementing type. Call it only inside a
/// function that enables that set by `target_feature`, after a check that the CPU has it.
pub(super) trait Slices {
    /// Blocks of a batch: a multiple of [`GROUP`] that divides [`MOST`].
    const BLOCKS: usize;

    /// Transforms [`Self::BLOCKS`] blocks from `src` to `dst` and adds `masks` before and after.
    /// `src` and `dst` must be valid for that many blocks, and equal or disjoint. `masks` must have
    /// that many elements and be aligned to 64 bytes.
    unsafe fn transform<const ENCRYPT: bool>(
        keys: &RoundKeys,
        masks: &[u128],
        src: *const u8,
        dst: *mut u8,
    );

    /// Fills `masks` with `first` times the powers of x from x^0 on. The length of `masks` must be
    /// a nonzero multiple of [`GROUP`].
    unsafe fn fill(first: u128, masks: &mut [u128]);
}

/// Transforms the units of `buffer`.
///
/// # Safety
/// The caller must have `S`'s instruction set enabled (see [`Slices`]).
#[inline(always)]
pub(super) unsafe fn units<S: Slices, const ENCRYPT: bool>(
    data: &Keys,
    tweak: &Keys,
    run: Run,
    mut buffer: Buffer<'_>,
) {
    let keys = if ENCRYPT { &data.encrypt } else { &data.decrypt };
    let unit = run.layout.data_unit;
    let step = u128::from(run.layout.tweak_step);
    let mut left = buffer.len() / unit;
    let (mut src, mut dst) = buffer.pointers();
    let mut number = run.first;
    let mut tweaks = Aligned([0u128; MOST]);
    let mut masks = Aligned([0u128; MOST]);
    let mut filled = 0;
    while left > 0 {
        let batch = left.min(S::BLOCKS);
        for tweak in &mut tweaks.0[..batch] {
            *tweak = number;
            number = number.wrapping_add(step);
        }
        let at = tweaks.0.as_mut_ptr().cast::<u8>();
        // SAFETY: the caller guarantees the instruction set; `MOST` blocks are enough.
        unsafe { S::transform::<true>(&tweak.encrypt, &Aligned([0; MOST]).0[..S::BLOCKS], at, at) };
        for &tweak in &tweaks.0[..batch] {
            let mut mask = tweak;
            let mut blocks = unit / BLOCK;
            while blocks > 0 {
                let count = blocks.min(S::BLOCKS - filled);
                // SAFETY: the instruction set is the caller's promise.
                mask = unsafe { fill::<S>(mask, &mut masks.0[filled..filled + count]) };
                filled += count;
                blocks -= count;
                if filled == S::BLOCKS {
                    // SAFETY: the caller guarantees the instruction set. `src` and `dst` are valid
                    // for all blocks whose masks were filled in and are still unused.
                    unsafe {
                        S::transform::<ENCRYPT>(keys, &masks.0[..S::BLOCKS], src, dst);
                        src = src.add(S::BLOCKS * BLOCK);
                        dst = dst.add(S::BLOCKS * BLOCK);
                    }
                    filled = 0;
                }
            }
        }
        left -= batch;
    }
    if filled > 0 {
        let mut blocks: Aligned<Block> = Aligned([[0; BLOCK]; MOST]);
        let at = blocks.0.as_mut_ptr().cast::<u8>();
        // SAFETY: the caller guarantees the instruction set. `filled` blocks are left at `src` and
        // `dst`; the kernel works on a copy of full size.
        unsafe {
            src.copy_to_nonoverlapping(at, filled * BLOCK);
            S::transform::<ENCRYPT>(keys, &masks.0[..S::BLOCKS], at, at);
            at.copy_to_nonoverlapping(dst, filled * BLOCK);
        }
    }
}

/// Fills `masks`, which must not be empty, with `first` and its multiples by powers of x; returns
/// the next mask.
///
/// # Safety
/// As for [`units`].
#[inline(always)]
unsafe fn fill<S: Slices>(first: u128, masks: &mut [u128]) -> u128 {
    let mut next = first;
    let grouped = masks.len() / GROUP * GROUP;
    if grouped > 0 {
        // SAFETY: the instruction set is the caller's promise.
        unsafe { S::fill(first, &mut masks[..grouped]) };
        next = double(masks[grouped - 1]);
    }
    for mask in &mut masks[grouped..] {
        *mask = next;
        next = double(next);
    }
    next
}
