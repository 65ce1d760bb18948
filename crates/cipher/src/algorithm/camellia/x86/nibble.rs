//! The nibble kernel on AVX2, with the AES instructions for two lanes or for one.

use std::arch::x86_64::*;

use super::super::nibble::{Instructions, Keys, blocks, transform};
use super::super::schedule::Schedule;
use super::super::xts::{CHUNK, Wide};
use super::frame::align_frame;
use super::masks::masks_256;
use crate::algorithm::bytes::V256;
use crate::cpu::Tier;
use crate::kernel::Block;

/// Proof that the CPU has AVX2 and VAES.
#[derive(Clone, Copy)]
pub(super) struct VaesAvx2(());

impl VaesAvx2 {
    pub(super) fn new(tier: Tier) -> Option<Self> {
        let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("vaes");
        (tier >= Tier::Avx2 && has).then_some(Self(()))
    }
}

impl Wide for VaesAvx2 {
    const NAME: &'static str = "vaes-avx2";
    const BLOCKS: usize = blocks::<Self>();
    type Keys = Keys;

    fn keys(schedule: &Schedule) -> Keys {
        Keys::new(schedule)
    }

    unsafe fn transform(self, keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
        // SAFETY: `self` proves the features; the rest is the trait's contract.
        unsafe { transform_vaes(keys, from, masks, to) }
    }

    fn masks(self, first: u128, masks: &mut [Block; CHUNK]) {
        // SAFETY: `self` proves the features.
        unsafe { masks_256(first, masks) }
    }
}

/// # Safety
/// The CPU must have the features; for the rest see [`Wide::transform`].
#[target_feature(enable = "avx2,aes,vaes")]
unsafe fn transform_vaes(keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
    align_frame();
    // SAFETY: this function enables the instruction set; the rest is passed on.
    unsafe { transform::<VaesAvx2>(keys, from, masks, to) }
}

impl Instructions for VaesAvx2 {
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
}

/// Proof that the CPU has AVX2 and AES-NI.
#[derive(Clone, Copy)]
pub(super) struct AesAvx2(());

impl AesAvx2 {
    pub(super) fn new(tier: Tier) -> Option<Self> {
        let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("aes");
        (tier >= Tier::Avx2 && has).then_some(Self(()))
    }
}

impl Wide for AesAvx2 {
    const NAME: &'static str = "aesni-avx2";
    const BLOCKS: usize = blocks::<Self>();
    type Keys = Keys;

    fn keys(schedule: &Schedule) -> Keys {
        Keys::new(schedule)
    }

    unsafe fn transform(self, keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
        // SAFETY: `self` proves the features; the rest is the trait's contract.
        unsafe { transform_aesni(keys, from, masks, to) }
    }

    fn masks(self, first: u128, masks: &mut [Block; CHUNK]) {
        // SAFETY: `self` proves the features.
        unsafe { masks_256(first, masks) }
    }
}

/// # Safety
/// The CPU must have the features; for the rest see [`Wide::transform`].
#[target_feature(enable = "avx2,aes")]
unsafe fn transform_aesni(keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
    align_frame();
    // SAFETY: this function enables the instruction set; the rest is passed on.
    unsafe { transform::<AesAvx2>(keys, from, masks, to) }
}

impl Instructions for AesAvx2 {
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
}
