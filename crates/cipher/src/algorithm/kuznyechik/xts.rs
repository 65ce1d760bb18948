//! XTS around a byte-sliced kernel, which always processes a full batch of blocks.
//!
//! Blocks are collected across unit borders until the kernel's slices are full, so 512-byte units are as efficient as
//! long ones. Only in the last batch of a run can the slices be partly empty.

use super::keys::{Keys, RoundKeys};
use crate::isa::Isa;
use crate::kernel::{BLOCK, Block, Buffer, Run};
use crate::mode::xts::double;

/// Maximum batch size of all kernels, and the number of data units whose tweaks are encrypted together.
const MOST: usize = 64;

/// Number of masks that a kernel computes together.
pub(super) const GROUP: usize = 8;

/// Blocks or masks, aligned for any vector.
#[repr(C, align(64))]
struct Aligned<T>([T; MOST]);

/// Kuznyechik for one instruction set.
///
/// # Safety
/// The instruction set must be enabled in the caller of an unsafe function.
pub(super) trait Kernel: Isa {
    /// Name of the kernel, as stored in records.
    const NAME: &'static str;

    /// Number of blocks in a batch: a multiple of [`GROUP`] that divides [`MOST`].
    const BLOCKS: usize;

    /// Expands a 32-byte key.
    fn keys(key: &[u8]) -> Keys;

    /// Encrypts or decrypts [`Self::BLOCKS`] blocks from `src` to `dst`, and adds `masks` before and after. `src` and
    /// `dst` must be valid for that many blocks, and equal or disjoint. `masks` must have that many elements, and
    /// should be aligned to 64 bytes for speed.
    unsafe fn transform<const ENCRYPT: bool>(
        keys: &RoundKeys,
        masks: &[u128],
        src: *const u8,
        dst: *mut u8,
    );

    /// Fills `masks` with `first` times the powers of x, starting with x^0. The length of `masks` must be a nonzero
    /// multiple of [`GROUP`].
    unsafe fn fill(first: u128, masks: &mut [u128]);
}

/// Calls [`Kernel::transform`], as a separate function.
///
/// # Safety
/// The memory requirements of [`Kernel::transform`].
pub(super) unsafe fn transform<K: Kernel, const ENCRYPT: bool>(
    kernel: K,
    keys: &RoundKeys,
    masks: &[u128],
    src: *const u8,
    dst: *mut u8,
) {
    kernel.run(
        #[inline(always)]
        // SAFETY: the instruction set is enabled; the caller guarantees the memory.
        move || unsafe { K::transform::<ENCRYPT>(keys, masks, src, dst) },
    );
}

/// Transforms the units of `buffer`.
///
/// # Safety
/// The instruction set of `kernel` must be enabled in the calling function.
#[inline(always)]
pub(super) unsafe fn units<K: Kernel, const ENCRYPT: bool>(
    kernel: K,
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
        let batch = left.min(K::BLOCKS);
        for tweak in &mut tweaks.0[..batch] {
            *tweak = number;
            number = number.wrapping_add(step);
        }
        let at = tweaks.0.as_mut_ptr().cast::<u8>();
        // SAFETY: the caller guarantees the instruction set; there is space for `MOST` blocks.
        unsafe {
            let none = Aligned([0; MOST]);
            transform::<K, true>(kernel, &tweak.encrypt, &none.0[..K::BLOCKS], at, at);
        }
        for &tweak in &tweaks.0[..batch] {
            let mut mask = tweak;
            let mut blocks = unit / BLOCK;
            while blocks > 0 {
                let count = blocks.min(K::BLOCKS - filled);
                // SAFETY: the caller guarantees the instruction set.
                mask = unsafe { fill::<K>(mask, &mut masks.0[filled..filled + count]) };
                filled += count;
                blocks -= count;
                if filled == K::BLOCKS {
                    // SAFETY: the caller guarantees the instruction set. `src` and `dst` are valid for all blocks
                    // whose masks have been computed but not yet used.
                    unsafe {
                        transform::<K, ENCRYPT>(kernel, keys, &masks.0[..K::BLOCKS], src, dst);
                        src = src.add(K::BLOCKS * BLOCK);
                        dst = dst.add(K::BLOCKS * BLOCK);
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
        // SAFETY: the caller guarantees the instruction set. `filled` blocks remain at `src` and `dst`; the kernel
        // processes a copy with the full batch size.
        unsafe {
            src.copy_to_nonoverlapping(at, filled * BLOCK);
            transform::<K, ENCRYPT>(kernel, keys, &masks.0[..K::BLOCKS], at, at);
            at.copy_to_nonoverlapping(dst, filled * BLOCK);
        }
    }
}

/// Fills `masks`, which must not be empty, with `first` times the powers of x; returns the next mask.
///
/// # Safety
/// As for [`units`].
#[inline(always)]
unsafe fn fill<K: Kernel>(first: u128, masks: &mut [u128]) -> u128 {
    let mut next = first;
    let grouped = masks.len() / GROUP * GROUP;
    if grouped > 0 {
        // SAFETY: the caller guarantees the instruction set.
        unsafe { K::fill(first, &mut masks[..grouped]) };
        next = double(masks[grouped - 1]);
    }
    for mask in &mut masks[grouped..] {
        *mask = next;
        next = double(next);
    }
    next
}
