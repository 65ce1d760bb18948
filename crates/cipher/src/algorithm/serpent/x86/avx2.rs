//! AVX2: eight blocks per group, two groups in parallel.

use std::arch::asm;
use std::arch::x86_64::*;

use super::super::word::{WideKey, Word};
use super::super::xts::{GROUPS, Kernel, Masks, VECTORS};
use crate::isa::{Avx2, Avx2Clmul};
use crate::vector::V256;

impl Word for V256 {
    type Key = WideKey;

    #[inline(always)]
    fn add_key(self, key: &WideKey) -> Self {
        // SAFETY: the value proves that the instruction set is available.
        Self(unsafe { add_key(self.0, key) })
    }
}

/// `value` plus a key word.
///
/// Uses assembly, because the compiler would keep the key in a register from one group to the next, and spill words
/// of the groups instead.
#[inline]
#[target_feature(enable = "avx2")]
fn add_key(value: __m256i, key: &WideKey) -> __m256i {
    let sum;
    // SAFETY: the instruction belongs to the enabled instruction set, and reads only the key.
    unsafe {
        asm!(
            "vpxor {sum}, {value}, ymmword ptr [{key}]",
            sum = lateout(ymm_reg) sum,
            value = in(ymm_reg) value,
            key = in(reg) key,
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    sum
}

impl Kernel for Avx2 {
    type Vector = V256;

    const NAME: &'static str = "avx2";

    #[inline(always)]
    unsafe fn masks(tweak: u128) -> Masks<V256> {
        // SAFETY: the trait's contract.
        unsafe { masks::<false>(tweak) }
    }
}

impl Kernel for Avx2Clmul {
    type Vector = V256;

    const NAME: &'static str = "avx2";

    #[inline(always)]
    unsafe fn masks(tweak: u128) -> Masks<V256> {
        // SAFETY: the trait's contract.
        unsafe { masks::<true>(tweak) }
    }
}

/// See [`Kernel::masks`].
///
/// # Safety
/// As for [`Kernel::masks`]; VPCLMULQDQ must also be available if `CLMUL` is set.
#[inline(always)]
unsafe fn masks<const CLMUL: bool>(tweak: u128) -> Masks<V256> {
    let (low, high) = (tweak.cast_signed() as i64, (tweak >> 64).cast_signed() as i64);
    // SAFETY: the caller guarantees that the CPU supports the features.
    unsafe {
        let tweak = _mm256_set_epi64x(high, low, high, low);
        let swapped = _mm256_set_epi64x(low, high, low, high);
        let low_half = _mm256_set_epi64x(0, -1, 0, -1);
        let mut masks = [V256(tweak); GROUPS * VECTORS];
        for (vector, mask) in masks.iter_mut().enumerate() {
            let first = 2 * vector as i64;
            let left = _mm256_set_epi64x(first + 1, first + 1, first, first);
            let right = _mm256_sub_epi64(_mm256_set1_epi64x(64), left);
            // Bits lost by the low half are moved to the high half. Bits lost by the high half are reduced: because
            // x^128 = x^7 + x^2 + x + 1, these bits are added to the low half once unchanged and three times shifted.
            let carry = _mm256_srlv_epi64(swapped, right);
            let shifted = _mm256_xor_si256(_mm256_sllv_epi64(tweak, left), carry);
            let reduced = if CLMUL {
                _mm256_clmulepi64_epi128::<0>(carry, _mm256_set1_epi64x(0x86))
            } else {
                let by_7 = _mm256_slli_epi64::<7>(carry);
                let by_2 = _mm256_slli_epi64::<2>(carry);
                let by_1 = _mm256_slli_epi64::<1>(carry);
                let sum = _mm256_xor_si256(_mm256_xor_si256(by_7, by_2), by_1);
                _mm256_and_si256(sum, low_half)
            };
            *mask = V256(_mm256_xor_si256(shifted, reduced));
        }
        masks
    }
}
