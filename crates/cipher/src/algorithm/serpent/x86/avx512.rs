//! AVX-512: sixteen blocks per group, two groups in parallel, with three-input gates and rotations.

use std::arch::asm;
use std::arch::x86_64::*;

use super::super::word::Word;
use super::super::xts::{GROUPS, Kernel, Masks, VECTORS};
use super::boxes::{self, Ternary};
use crate::isa::Avx512Clmul;
use crate::vector::{V512, Words};

impl Word for V512 {
    /// The instruction that adds a key word can also broadcast it.
    type Key = u32;

    #[inline(always)]
    fn add_key(self, key: &u32) -> Self {
        // SAFETY: the value proves that the instruction set is available.
        Self(unsafe { add_key(self.0, key) })
    }

    #[inline(always)]
    fn substitute<const BOX: usize>(x: [Self; 4]) -> [Self; 4] {
        boxes::forward::<Self, BOX>(x)
    }

    #[inline(always)]
    fn substitute_back<const BOX: usize>(x: [Self; 4]) -> [Self; 4] {
        boxes::backward::<Self, BOX>(x)
    }
}

impl Ternary for V512 {
    #[inline(always)]
    fn ternary<const TABLE: i32>(self, b: Self, c: Self) -> Self {
        // SAFETY: the values prove that the instruction set is available.
        Self(unsafe { _mm512_ternarylogic_epi32::<TABLE>(self.0, b.0, c.0) })
    }
}

/// `value` plus a key word in every lane.
///
/// Uses assembly, because the compiler would first broadcast the key into a register for all groups.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_key(value: __m512i, key: &u32) -> __m512i {
    let sum;
    // SAFETY: the instruction belongs to the enabled instruction set, and reads only the key.
    unsafe {
        asm!(
            "vpxord {sum}, {value}, dword ptr [{key}]{{1to16}}",
            sum = lateout(zmm_reg) sum,
            value = in(zmm_reg) value,
            key = in(reg) key,
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    sum
}

impl Kernel for Avx512Clmul {
    type Vector = V512;

    const NAME: &'static str = "avx512";

    #[inline(always)]
    unsafe fn masks(tweak: u128) -> Masks<V512> {
        let (low, high) = (tweak.cast_signed() as i64, (tweak >> 64).cast_signed() as i64);
        // SAFETY: the caller guarantees that the CPU supports the features.
        unsafe {
            let tweak = _mm512_set_epi64(high, low, high, low, high, low, high, low);
            let swapped = _mm512_set_epi64(low, high, low, high, low, high, low, high);
            let places = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
            let mut masks = [V512(tweak); GROUPS * VECTORS];
            for (vector, mask) in masks.iter_mut().enumerate() {
                let left = _mm512_add_epi64(places, _mm512_set1_epi64(4 * vector as i64));
                let right = _mm512_sub_epi64(_mm512_set1_epi64(64), left);
                // Bits lost by the low half are moved to the high half. Bits lost by the high half are reduced: because
                // x^128 = x^7 + x^2 + x + 1, these bits are added to the low half once unchanged and three times
                // shifted.
                let carry = _mm512_srlv_epi64(swapped, right);
                let reduced = _mm512_clmulepi64_epi128::<0>(carry, _mm512_set1_epi64(0x86));
                *mask = V512(_mm512_sllv_epi64(tweak, left)).xor3(V512(carry), V512(reduced));
            }
            masks
        }
    }
}
