//! XTS fused with the cipher. Masks stay in registers, and between its rounds each group computes the masks of the
//! next group.
//!
//! The tweaks of up to [`UNITS`] data units are encrypted together, because encrypting each tweak separately would take
//! the latency of a whole AES encryption. The first masks of a unit are computed by integer instructions, which the
//! rounds do not use, and do not depend on each other.

use std::arch::aarch64::*;

use super::super::blocks::{GROUP, blocks};
use super::super::keys::{RoundKeys, XtsKeys};
use super::{key, rounds};
use crate::kernel::{BLOCK, Block, Buffer, Run};
use crate::vector::{V128, Vector};

/// Number of data units whose tweaks are encrypted together.
const UNITS: usize = 32;

/// Transforms the units of `buffer`.
///
/// # Safety
/// As for [`super::Cipher`].
#[inline(always)]
pub(super) unsafe fn units<const R: usize, const ENCRYPT: bool>(
    keys: &XtsKeys,
    run: Run,
    mut buffer: Buffer<'_>,
) {
    let unit = run.layout.data_unit;
    let total = buffer.len() / unit;
    let (mut src, mut dst) = buffer.pointers();
    let data_keys = if ENCRYPT { &keys.data.encrypt } else { &keys.data.decrypt };
    let mut tweaks: [Block; UNITS] = [[0; BLOCK]; UNITS];
    for first in (0..total).step_by(UNITS) {
        let tweaks = &mut tweaks[..UNITS.min(total - first)];
        run.after(first).tweaks(tweaks);
        // SAFETY: the caller guarantees the instruction set. `src` and `dst` are valid for the remaining units.
        unsafe {
            blocks::<V128, R, true>(&keys.tweak, tweaks);
            for tweak in tweaks {
                let tweak = u128::from_le_bytes(*tweak);
                one_unit::<R, ENCRYPT>(data_keys, tweak, src, dst, unit / BLOCK);
                (src, dst) = (src.add(unit), dst.add(unit));
            }
        }
    }
}

/// Encrypts or decrypts a data unit of `blocks` blocks.
///
/// # Safety
/// As for [`units`]; `src` and `dst` must be valid for `blocks` blocks, and equal or disjoint.
#[inline(always)]
unsafe fn one_unit<const R: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    tweak: u128,
    mut src: *const u8,
    mut dst: *mut u8,
    mut blocks: usize,
) {
    // SAFETY: the caller guarantees the instruction set and the memory. Whole groups are processed as long as enough
    // blocks remain, then the remaining single blocks, which are fewer than the masks.
    unsafe {
        let last = key(keys, R);
        let mut masks = first_masks(tweak);
        while blocks >= GROUP {
            let mut x = masks;
            for (j, x) in x.iter_mut().enumerate() {
                *x ^= V128::load(src.add(j * BLOCK));
            }
            let x = rounds::<R, GROUP, ENCRYPT>(keys, x);
            for (j, x) in x.into_iter().enumerate() {
                (x ^ (masks[j] ^ last)).store(dst.add(j * BLOCK));
                masks[j] = next_group(masks[j]);
            }
            blocks -= GROUP;
            (src, dst) = (src.add(GROUP * BLOCK), dst.add(GROUP * BLOCK));
        }
        // This is a copy, so that indexing the copy does not force the masks above into memory.
        let rest = masks;
        for mask in &rest[..blocks] {
            let [x] = rounds::<R, 1, ENCRYPT>(keys, [V128::load(src) ^ *mask]);
            (x ^ (*mask ^ last)).store(dst);
            (src, dst) = (src.add(BLOCK), dst.add(BLOCK));
        }
    }
}

/// The masks of a unit's first group: the tweak times x^0 to x^7.
///
/// # Safety
/// As for [`units`].
#[inline(always)]
unsafe fn first_masks(tweak: u128) -> [V128; GROUP] {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        let mut masks = [V128::splat(0); GROUP];
        for (power, mask) in masks.iter_mut().enumerate() {
            *mask = V128::lanes(&times(tweak, power as u32).to_le_bytes());
        }
        masks
    }
}

/// The tweak times x^`power`, with `power` from 0 to 7, modulo x^128 + x^7 + x^2 + x + 1.
#[inline(always)]
fn times(tweak: u128, power: u32) -> u128 {
    let above = if power == 0 { 0 } else { (tweak >> (128 - power)) as u64 };
    let reduced = above ^ above << 1 ^ above << 2 ^ above << 7;
    tweak << power ^ u128::from(reduced)
}

/// Multiplies a mask by x^8; the result is the mask at the same position in the next group.
///
/// # Safety
/// As for [`units`].
#[inline(always)]
unsafe fn next_group(V128(mask): V128) -> V128 {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        let zero = vdupq_n_u8(0);
        // Only the top byte is multiplied by x^7 + x^2 + x + 1; the products of the adjacent zeros are zero.
        let top = vget_low_u8(vextq_u8::<15>(mask, zero));
        let reduced = vmull_p8(vreinterpret_p8_u8(top), vdup_n_p8(0x87));
        V128(veorq_u8(vextq_u8::<15>(zero, mask), vreinterpretq_u8_p16(reduced)))
    }
}

#[cfg(test)]
mod tests {
    use super::times;
    use crate::mode::xts::double;

    #[test]
    fn products_are_doublings() {
        for tweak in [1, 1 << 127, u128::MAX, 0x0123_4567_89ab_cdef_u128 << 61] {
            let mut expected = tweak;
            for power in 0..8 {
                assert_eq!(times(tweak, power), expected, "{tweak:#x} {power}");
                expected = double(expected);
            }
        }
    }
}
