//! The nibble kernel with AVX2: 32 blocks per batch.

use std::arch::x86_64::*;

use super::super::keys::{Keys, RoundKeys};
use super::super::nibble;
use super::super::xts::{GROUP, Kernel};
use crate::isa::Avx2;
use crate::kernel::BLOCK;
use crate::mode::xts::double;
use crate::vector::{V256, Vector};

impl Kernel for Avx2 {
    const NAME: &'static str = "avx2";

    const BLOCKS: usize = BLOCK * V256::LANES;

    fn keys(key: &[u8]) -> Keys {
        nibble::keys(key)
    }

    #[inline(always)]
    unsafe fn transform<const ENCRYPT: bool>(
        keys: &RoundKeys,
        masks: &[u128],
        src: *const u8,
        dst: *mut u8,
    ) {
        // SAFETY: the trait's contract.
        unsafe { nibble::transform::<V256, ENCRYPT>(keys, masks, src, dst) }
    }

    #[inline(always)]
    unsafe fn fill(first: u128, masks: &mut [u128]) {
        let mut next = first;
        for mask in &mut masks[..GROUP] {
            *mask = next;
            next = double(next);
        }
        let at = masks.as_mut_ptr().cast::<__m256i>();
        // SAFETY: a vector contains two masks, and all masks are within the slice.
        unsafe {
            let mut x: [__m256i; GROUP / 2] = [_mm256_setzero_si256(); GROUP / 2];
            for (i, x) in x.iter_mut().enumerate() {
                *x = _mm256_loadu_si256(at.add(i));
            }
            for start in (GROUP / 2..masks.len() / 2).step_by(GROUP / 2) {
                for (i, x) in x.iter_mut().enumerate() {
                    // The byte that was shifted out is multiplied by x^7 + x^2 + x + 1 and added.
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
}
