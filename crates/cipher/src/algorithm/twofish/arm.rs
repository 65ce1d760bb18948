//! ARM: planes of 16 blocks, and S-boxes as four look-ups in 64 bytes each.

use std::arch::aarch64::*;

use super::keys::Quarters;
use super::vector::{Kernel, Planes, mds, with_carries};
use crate::isa::Neon;
use crate::vector::V128;

impl Kernel for Neon {
    const NAME: &'static str = "neon";

    type Vector = V128;
}

impl Planes for V128 {
    type Table = Quarters;

    fn arrange(sbox: &[u8; 256], table: &mut Quarters) {
        table.0 = *sbox;
    }

    #[inline(always)]
    unsafe fn to_planes([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            let (even, more_even) = (vuzp1q_u8(a.0, b.0), vuzp1q_u8(c.0, d.0));
            let (odd, more_odd) = (vuzp2q_u8(a.0, b.0), vuzp2q_u8(c.0, d.0));
            [
                Self(vuzp1q_u8(even, more_even)),
                Self(vuzp1q_u8(odd, more_odd)),
                Self(vuzp2q_u8(even, more_even)),
                Self(vuzp2q_u8(odd, more_odd)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn to_words([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            let (even, more_even) = (vzip1q_u8(a.0, c.0), vzip2q_u8(a.0, c.0));
            let (odd, more_odd) = (vzip1q_u8(b.0, d.0), vzip2q_u8(b.0, d.0));
            [
                Self(vzip1q_u8(even, odd)),
                Self(vzip2q_u8(even, odd)),
                Self(vzip1q_u8(more_even, more_odd)),
                Self(vzip2q_u8(more_even, more_odd)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn substitute(table: &Quarters, [x, y]: [Self; 2]) -> [Self; 2] {
        // SAFETY: the trait's contract.
        unsafe {
            let quarters = table.0.as_ptr().cast::<[u8; 64]>();
            let first = vld1q_u8_x4(quarters.cast());
            let (mut to_x, mut to_y) = (vqtbl4q_u8(first, x.0), vqtbl4q_u8(first, y.0));
            for quarter in 1..4 {
                let entries = vld1q_u8_x4(quarters.add(quarter).cast());
                // The index is less than 64 only in this quarter; for other indices, the old value is kept.
                let start = vdupq_n_u8(64 * quarter as u8);
                to_x = vqtbx4q_u8(to_x, entries, veorq_u8(x.0, start));
                to_y = vqtbx4q_u8(to_y, entries, veorq_u8(y.0, start));
            }
            [Self(to_x), Self(to_y)]
        }
    }

    #[inline(always)]
    unsafe fn mds(planes: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe { mds(planes) }
    }

    #[inline(always)]
    unsafe fn times_power(words: [Self; 4], up: Self) -> [Self; 4] {
        let (mut shifted, mut lost) = (words, words);
        for (shifted, lost) in shifted.iter_mut().zip(&mut lost) {
            // SAFETY: by the trait's contract. Shifts by a negative count shift to the right.
            unsafe {
                let up = vreinterpretq_s32_u8(up.0);
                *shifted = Self::of(vshlq_u32(shifted.words(), up));
                *lost = Self::of(vshlq_u32(lost.words(), vsubq_s32(up, vdupq_n_s32(32))));
            }
        }
        with_carries(shifted, lost)
    }
}
