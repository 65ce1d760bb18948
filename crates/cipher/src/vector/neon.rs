//! The vector of Advanced SIMD.

use std::arch::aarch64::*;

use super::{Bytes, Table, Vector, Words, instructions, operators};
use crate::kernel::Block;

/// 16 bytes of Advanced SIMD.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct V128(pub(crate) uint8x16_t);

impl V128 {
    /// The words of the vector.
    #[inline(always)]
    pub(crate) fn words(self) -> uint32x4_t {
        // SAFETY: the value proves that the instruction set is available.
        unsafe { vreinterpretq_u32_u8(self.0) }
    }

    /// The vector of words.
    #[inline(always)]
    pub(crate) fn of(words: uint32x4_t) -> Self {
        // SAFETY: the value proves that the instruction set is available.
        Self(unsafe { vreinterpretq_u8_u32(words) })
    }
}

operators!(V128, veorq_u8, vandq_u8, vorrq_u8);

impl Words for V128 {
    instructions! {
        and_not = vbicq_u8;
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: the values prove that the instruction set is available.
        Self::of(unsafe { vaddq_u32(self.words(), other.words()) })
    }

    #[inline(always)]
    fn shift_left<const BITS: i32>(self) -> Self {
        // SAFETY: the value proves that the instruction set is available.
        Self::of(unsafe { vshlq_n_u32::<BITS>(self.words()) })
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: the value proves that the instruction set is available.
        unsafe {
            match LEFT {
                16 => Self(vreinterpretq_u8_u16(vrev32q_u16(vreinterpretq_u16_u8(self.0)))),
                _ => {
                    let left = vshlq_n_u32::<LEFT>(self.words());
                    Self::of(vsriq_n_u32::<RIGHT>(left, self.words()))
                }
            }
        }
    }
}

impl Vector for V128 {
    const LANES: usize = 1;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { vld1q_u8(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the trait's contract.
        unsafe { vst1q_u8(to, self.0) }
    }

    #[inline(always)]
    unsafe fn lanes(block: &Block) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self::load(block.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the trait's contract.
        Self::of(unsafe { vdupq_n_u32(word) })
    }

    #[inline(always)]
    fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the values prove that the instruction set is available.
        unsafe {
            let wide = |x| vreinterpretq_u64_u32(x);
            let [a, b, c, d] = [a.words(), b.words(), c.words(), d.words()];
            let (ab_even, ab_odd) = (wide(vtrn1q_u32(a, b)), wide(vtrn2q_u32(a, b)));
            let (cd_even, cd_odd) = (wide(vtrn1q_u32(c, d)), wide(vtrn2q_u32(c, d)));
            [
                Self(vreinterpretq_u8_u64(vtrn1q_u64(ab_even, cd_even))),
                Self(vreinterpretq_u8_u64(vtrn1q_u64(ab_odd, cd_odd))),
                Self(vreinterpretq_u8_u64(vtrn2q_u64(ab_even, cd_even))),
                Self(vreinterpretq_u8_u64(vtrn2q_u64(ab_odd, cd_odd))),
            ]
        }
    }

    instructions! {
        interleave_low = vzip1q_u8;
        interleave_high = vzip2q_u8;
    }
}

impl Bytes for V128 {
    #[inline(always)]
    unsafe fn table(table: &Table) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self::lanes(&table.0[0]) }
    }

    #[inline(always)]
    unsafe fn splat_byte(byte: u8) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { vdupq_n_u8(byte) })
    }

    #[inline(always)]
    fn split(self) -> [Self; 2] {
        // SAFETY: the value proves that the instruction set is available.
        unsafe { [Self(vandq_u8(self.0, vdupq_n_u8(15))), Self(vshrq_n_u8::<4>(self.0))] }
    }

    #[inline(always)]
    fn look_up(self, table: Self) -> Self {
        // SAFETY: the values prove that the instruction set is available.
        Self(unsafe { vqtbl1q_u8(table.0, self.0) })
    }

    instructions! {
        add_bytes = vaddq_u8;
        add_saturating = vqaddq_u8;
        sub_bytes = vsubq_u8;
        min = vminq_u8;
    }
}
