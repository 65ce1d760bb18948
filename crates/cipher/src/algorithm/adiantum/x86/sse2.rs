//! ChaCha and NH on 128-bit vectors, which every x86-64 CPU has: four blocks side by side, or one piece.

use std::arch::x86_64::*;

use super::super::chacha::Words;
use super::super::nh::{NhKey, PASSES};
use super::nh::{Pieces, nh};

/// NH of a message.
pub(in super::super) fn nh_sse2(key: &NhKey, message: &[u8]) -> [u64; PASSES] {
    // SAFETY: SSE2 is in the baseline.
    unsafe { nh::<Vector>(key, message) }
}

/// A word of four blocks, or a piece.
#[derive(Clone, Copy)]
pub(in super::super) struct Vector(__m128i);

impl Words for Vector {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: SSE2 is in the baseline.
        Self(unsafe { _mm_set1_epi32(word.cast_signed()) })
    }

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self {
        // SAFETY: SSE2 is in the baseline; the memory is the caller's promise.
        Self(unsafe { _mm_loadu_si128(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        // SAFETY: SSE2 is in the baseline; the memory is the caller's promise.
        unsafe { _mm_storeu_si128(to.cast(), self.0) }
    }

    instructions! {
        add = _mm_add_epi32;
        xor = _mm_xor_si128;
    }

    #[inline(always)]
    unsafe fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: SSE2 is in the baseline.
        Self(unsafe {
            if LEFT == 16 {
                _mm_shufflehi_epi16::<0b10_11_00_01>(_mm_shufflelo_epi16::<0b10_11_00_01>(self.0))
            } else {
                _mm_or_si128(_mm_slli_epi32::<LEFT>(self.0), _mm_srli_epi32::<RIGHT>(self.0))
            }
        })
    }

    #[inline(always)]
    unsafe fn xor_blocks(words: [Self; 16], from: *const u8, to: *mut u8) {
        for quarter in 0..4 {
            // SAFETY: SSE2 is in the baseline; both pointers are valid for four blocks of 64 bytes.
            unsafe {
                let [a, b, c, d] = [0, 1, 2, 3].map(|i| words[4 * quarter + i].0);
                let (ab, cd) = (_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
                let (hab, hcd) = (_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
                let rows = [
                    _mm_unpacklo_epi64(ab, cd),
                    _mm_unpackhi_epi64(ab, cd),
                    _mm_unpacklo_epi64(hab, hcd),
                    _mm_unpackhi_epi64(hab, hcd),
                ];
                for (block, row) in rows.into_iter().enumerate() {
                    let at = 64 * block + 16 * quarter;
                    let old = _mm_loadu_si128(from.add(at).cast());
                    _mm_storeu_si128(to.add(at).cast(), _mm_xor_si128(old, row));
                }
            }
        }
    }
}

impl Pieces for Vector {
    const PIECES: usize = 1;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: SSE2 is in the baseline.
        Self(unsafe { _mm_setzero_si128() })
    }

    #[inline(always)]
    unsafe fn halves(from: *const u8) -> (Self, Self) {
        // SAFETY: SSE2 is in the baseline; the memory is the caller's promise.
        unsafe {
            let x = _mm_loadu_si128(from.cast());
            (Self(_mm_unpacklo_epi32(x, x)), Self(_mm_unpackhi_epi32(x, x)))
        }
    }

    #[inline(always)]
    unsafe fn key(from: *const u64) -> Self {
        // SAFETY: SSE2 is in the baseline; the memory is the caller's promise.
        Self(unsafe { _mm_loadu_si128(from.cast()) })
    }

    instructions! {
        add_words = _mm_add_epi32;
        product = _mm_mul_epu32;
        add = _mm_add_epi64;
    }

    #[inline(always)]
    unsafe fn total(self) -> u64 {
        let mut lanes = [0_u64; 2];
        // SAFETY: SSE2 is in the baseline; the array has 16 bytes.
        unsafe { _mm_storeu_si128(lanes.as_mut_ptr().cast(), self.0) };
        lanes[0].wrapping_add(lanes[1])
    }
}
