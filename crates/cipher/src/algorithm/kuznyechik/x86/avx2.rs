//! The nibble kernel on AVX2: 32 blocks per batch.

use std::arch::x86_64::*;

use super::super::keys::{Keys, RoundKeys};
use super::super::nibble;
use super::super::pi::{DECRYPT_LINEAR, ENCRYPT_LINEAR};
use super::super::wide::{Isa, nibble_kernels};
use super::super::xts::{GROUP, Slices, units};
use crate::algorithm::bytes::V256;
use crate::cpu::Tier;
use crate::kernel::{Buffer, Run};
use crate::mode::xts::double;

/// Proof of AVX2.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

nibble_kernels!(
    Avx2,
    V256,
    "avx2",
    32,
    "avx2",
    |tier| tier >= Tier::Avx2 && is_x86_feature_detected!("avx2"),
    fill
);

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
