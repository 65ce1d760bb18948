//! Vectors of bytes in AVX2.

use std::arch::x86_64::*;

use super::{Bytes, Table};

/// 32 bytes of AVX2.
#[derive(Clone, Copy)]
pub(in super::super) struct V256(pub(in super::super) __m256i);

impl Bytes for V256 {
    const LANES: usize = 2;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the trait's contract.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn lanes(bytes: &[u8; 16]) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes.as_ptr().cast())) })
    }

    #[inline(always)]
    unsafe fn table(table: &Table) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_load_si256(table.0.as_ptr().cast()) })
    }

    #[inline(always)]
    unsafe fn splat(byte: u8) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_set1_epi8(byte.cast_signed()) })
    }

    #[inline(always)]
    unsafe fn splat_word(word: u32) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_set1_epi32(word.cast_signed()) })
    }

    instructions! {
        xor = _mm256_xor_si256;
        add = _mm256_add_epi8;
        add_saturating = _mm256_adds_epu8;
        sub = _mm256_sub_epi8;
        min = _mm256_min_epu8;
        interleave_low = _mm256_unpacklo_epi8;
        interleave_high = _mm256_unpackhi_epi8;
    }

    #[inline(always)]
    unsafe fn split(self) -> [Self; 2] {
        // SAFETY: the trait's contract.
        unsafe {
            let nibble = _mm256_set1_epi8(15);
            let high = _mm256_srli_epi16::<4>(self.0);
            [Self(_mm256_and_si256(self.0, nibble)), Self(_mm256_and_si256(high, nibble))]
        }
    }

    #[inline(always)]
    unsafe fn look_up(self, table: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_shuffle_epi8(table.0, self.0) })
    }
}
