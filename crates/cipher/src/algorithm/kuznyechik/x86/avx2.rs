//! The nibble kernel on AVX2: 32 blocks per batch.

use std::arch::x86_64::*;

use super::super::keys::{Keys, RoundKeys};
use super::super::nibble;
use super::super::pi::{DECRYPT_LINEAR, ENCRYPT_LINEAR};
use super::super::wide::Isa;
use super::super::xts::{GROUP, Slices, units};
use crate::algorithm::bytes::V256;
use crate::cpu::Tier;
use crate::kernel::{Buffer, Run};
use crate::mode::xts::double;

/// Proof of AVX2.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Isa for Avx2 {
    const NAME: &'static str = "avx2";

    fn new(tier: Tier) -> Option<Self> {
        (tier >= Tier::Avx2 && is_x86_feature_detected!("avx2")).then_some(Self(()))
    }

    fn keys(self, key: &[u8]) -> Keys {
        Keys::new(key, &ENCRYPT_LINEAR, &DECRYPT_LINEAR)
    }

    fn xts<const ENCRYPT: bool>(self, data: &Keys, tweak: &Keys, run: Run, buffer: Buffer<'_>) {
        // SAFETY: `self` proves AVX2.
        unsafe { xts::<ENCRYPT>(data, tweak, run, buffer) }
    }
}

/// # Safety
/// The CPU must have AVX2.
#[target_feature(enable = "avx2")]
unsafe fn xts<const ENCRYPT: bool>(data: &Keys, tweak: &Keys, run: Run, buffer: Buffer<'_>) {
    // SAFETY: this function enables the kernel's instruction set; the rest is passed on.
    unsafe { units::<Avx2, ENCRYPT>(data, tweak, run, buffer) }
}

impl Slices for Avx2 {
    const BLOCKS: usize = 32;

    #[inline(always)]
    unsafe fn transform<const ENCRYPT: bool>(
        keys: &RoundKeys,
        masks: &[u128],
        src: *const u8,
        dst: *mut u8,
    ) {
        // SAFETY: the trait's contract.
        unsafe {
            if ENCRYPT {
                encrypt(keys, masks, src, dst);
            } else {
                decrypt(keys, masks, src, dst);
            }
        }
    }

    #[inline(always)]
    unsafe fn fill(first: u128, masks: &mut [u128]) {
        // SAFETY: the trait's contract.
        unsafe { fill(first, masks) }
    }
}

/// # Safety
/// As [`Slices::transform`].
#[target_feature(enable = "avx2")]
unsafe fn encrypt(keys: &RoundKeys, masks: &[u128], src: *const u8, dst: *mut u8) {
    // SAFETY: this function enables the instruction set; the rest is the trait's contract.
    unsafe { nibble::encrypt::<V256>(keys, masks, src, dst) }
}

/// # Safety
/// As [`Slices::transform`].
#[target_feature(enable = "avx2")]
unsafe fn decrypt(keys: &RoundKeys, masks: &[u128], src: *const u8, dst: *mut u8) {
    // SAFETY: this function enables the instruction set; the rest is the trait's contract.
    unsafe { nibble::decrypt::<V256>(keys, masks, src, dst) }
}

/// See [`Slices::fill`].
///
/// # Safety
/// As there.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn fill(first: u128, masks: &mut [u128]) {
    let mut next = first;
    for mask in &mut masks[..GROUP] {
        *mask = next;
        next = double(next);
    }
    let at = masks.as_mut_ptr().cast::<__m256i>();
    // SAFETY: a vector has two masks, and all of them are in the slice.
    unsafe {
        let mut x: [__m256i; GROUP / 2] = [_mm256_setzero_si256(); GROUP / 2];
        for (i, x) in x.iter_mut().enumerate() {
            *x = _mm256_loadu_si256(at.add(i));
        }
        for start in (GROUP / 2..masks.len() / 2).step_by(GROUP / 2) {
            for (i, x) in x.iter_mut().enumerate() {
                // The byte shifted out comes back multiplied by x^7 + x^2 + x + 1.
                let out = _mm256_bsrli_epi128::<15>(*x);
                let low = _mm256_xor_si256(out, _mm256_slli_epi64::<1>(out));
                let high =
                    _mm256_xor_si256(_mm256_slli_epi64::<2>(out), _mm256_slli_epi64::<7>(out));
                let back = _mm256_xor_si256(low, high);
                *x = _mm256_xor_si256(_mm256_bslli_epi128::<1>(*x), back);
                _mm256_storeu_si256(at.add(start + i), *x);
            }
        }
    }
}
