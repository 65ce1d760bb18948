//! The nibble kernel with AVX2, with AES instructions that process two lanes or one lane.

use std::arch::x86_64::*;

use super::super::nibble::Instructions;
use super::super::xts::CHUNK;
use super::masks::masks_256;
use crate::isa::{Avx2Aes, Avx2Vaes};
use crate::kernel::Block;
use crate::vector::V256;

impl Instructions for Avx2Vaes {
    const NAME: &'static str = "vaes-avx2";

    type Vector = V256;

    #[inline(always)]
    unsafe fn aes(x: V256) -> V256 {
        // SAFETY: the trait's contract.
        V256(unsafe { _mm256_aesenclast_epi128(x.0, _mm256_setzero_si256()) })
    }

    #[inline(always)]
    unsafe fn aes_inverse(x: V256) -> V256 {
        // SAFETY: the trait's contract.
        V256(unsafe { _mm256_aesdeclast_epi128(x.0, _mm256_setzero_si256()) })
    }

    #[inline(always)]
    unsafe fn masks(first: u128, masks: &mut [Block; CHUNK]) {
        // SAFETY: the trait's contract.
        unsafe { masks_256(first, masks) }
    }
}

impl Instructions for Avx2Aes {
    const NAME: &'static str = "aesni-avx2";

    type Vector = V256;

    #[inline(always)]
    unsafe fn aes(x: V256) -> V256 {
        // SAFETY: the trait's contract.
        unsafe {
            let [low, high] = [_mm256_castsi256_si128(x.0), _mm256_extracti128_si256::<1>(x.0)];
            let low = _mm_aesenclast_si128(low, _mm_setzero_si128());
            let high = _mm_aesenclast_si128(high, _mm_setzero_si128());
            V256(_mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high))
        }
    }

    #[inline(always)]
    unsafe fn aes_inverse(x: V256) -> V256 {
        // SAFETY: the trait's contract.
        unsafe {
            let [low, high] = [_mm256_castsi256_si128(x.0), _mm256_extracti128_si256::<1>(x.0)];
            let low = _mm_aesdeclast_si128(low, _mm_setzero_si128());
            let high = _mm_aesdeclast_si128(high, _mm_setzero_si128());
            V256(_mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high))
        }
    }

    #[inline(always)]
    unsafe fn masks(first: u128, masks: &mut [Block; CHUNK]) {
        // SAFETY: the trait's contract.
        unsafe { masks_256(first, masks) }
    }
}
