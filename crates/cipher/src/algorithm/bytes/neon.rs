//! Vectors of bytes in Advanced SIMD.

use std::arch::aarch64::*;

use super::{Bytes, Table};

/// 16 bytes of Advanced SIMD.
#[derive(Clone, Copy)]
pub(in super::super) struct V128(pub(in super::super) uint8x16_t);

impl Bytes for V128 {
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
    unsafe fn lanes(bytes: &[u8; 16]) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { vld1q_u8(bytes.as_ptr()) })
    }

    #[inline(always)]
    unsafe fn table(table: &Table) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { vld1q_u8(table.0[0].as_ptr()) })
    }

    #[inline(always)]
    unsafe fn splat(byte: u8) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { vdupq_n_u8(byte) })
    }

    #[inline(always)]
    unsafe fn splat_word(word: u32) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { vreinterpretq_u8_u32(vdupq_n_u32(word)) })
    }

    instructions! {
        xor = veorq_u8;
        add = vaddq_u8;
        add_saturating = vqaddq_u8;
        sub = vsubq_u8;
        min = vminq_u8;
        interleave_low = vzip1q_u8;
        interleave_high = vzip2q_u8;
    }

    #[inline(always)]
    unsafe fn split(self) -> [Self; 2] {
        // SAFETY: the trait's contract.
        unsafe { [Self(vandq_u8(self.0, vdupq_n_u8(15))), Self(vshrq_n_u8::<4>(self.0))] }
    }

    #[inline(always)]
    unsafe fn look_up(self, table: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { vqtbl1q_u8(table.0, self.0) })
    }
}
