//! AVX2: eight blocks a group, sixteen in flight.

use std::arch::asm;
use std::arch::x86_64::*;
use std::ops::{BitAnd, BitOr, BitXor};

use zeroize::Zeroize;

use super::super::rounds::{Group, RoundKeys};
use super::super::vector::{GROUPS, Isa, VECTORS, Vector};
use super::super::word::Word;
use super::super::xts::{batches, unit};
use crate::cpu::Tier;
use crate::kernel::Block;

/// Proof of AVX2, with VPCLMULQDQ if `CLMUL`.
#[derive(Clone, Copy)]
pub(super) struct Avx2<const CLMUL: bool>(());

impl<const CLMUL: bool> Isa for Avx2<CLMUL> {
    type Vector = V256<CLMUL>;

    const NAME: &'static str = "avx2";

    fn new(tier: Tier) -> Option<Self> {
        let has =
            is_x86_feature_detected!("avx2") && (!CLMUL || is_x86_feature_detected!("vpclmulqdq"));
        (tier >= Tier::Avx2 && has).then_some(Self(()))
    }

    fn key(word: u32) -> WideKey {
        WideKey([word; 8])
    }

    fn batches<const ENCRYPT: bool>(self, keys: &Keys<CLMUL>, blocks: &mut [Block]) {
        // SAFETY: `self` proves the features; only masks need VPCLMULQDQ.
        unsafe { avx2_batches::<CLMUL, ENCRYPT>(keys, blocks) }
    }

    unsafe fn unit<const ENCRYPT: bool>(
        self,
        keys: &Keys<CLMUL>,
        tweak: u128,
        src: *const u8,
        dst: *mut u8,
        blocks: usize,
    ) {
        // SAFETY: `self` proves the features; the caller guarantees the rest.
        unsafe {
            if CLMUL {
                clmul_unit::<CLMUL, ENCRYPT>(keys, tweak, src, dst, blocks);
            } else {
                avx2_unit::<CLMUL, ENCRYPT>(keys, tweak, src, dst, blocks);
            }
        }
    }
}

type Keys<const CLMUL: bool> = RoundKeys<V256<CLMUL>>;

/// # Safety
/// The CPU must have the features.
#[target_feature(enable = "avx2")]
unsafe fn avx2_batches<const CLMUL: bool, const ENCRYPT: bool>(
    keys: &Keys<CLMUL>,
    blocks: &mut [Block],
) {
    // SAFETY: this function enables the instruction set.
    unsafe { batches::<V256<CLMUL>, ENCRYPT>(keys, blocks) }
}

/// # Safety
/// As for [`Isa::unit`]; the CPU must have the features.
#[target_feature(enable = "avx2")]
unsafe fn avx2_unit<const CLMUL: bool, const ENCRYPT: bool>(
    keys: &Keys<CLMUL>,
    tweak: u128,
    src: *const u8,
    dst: *mut u8,
    blocks: usize,
) {
    // SAFETY: this function enables the instruction set; the rest is passed on.
    unsafe { unit::<V256<CLMUL>, ENCRYPT>(keys, tweak, src, dst, blocks) }
}

/// # Safety
/// As for [`Isa::unit`]; the CPU must have the features.
#[target_feature(enable = "avx2,vpclmulqdq")]
unsafe fn clmul_unit<const CLMUL: bool, const ENCRYPT: bool>(
    keys: &Keys<CLMUL>,
    tweak: u128,
    src: *const u8,
    dst: *mut u8,
    blocks: usize,
) {
    // SAFETY: this function enables the instruction set; the rest is passed on.
    unsafe { unit::<V256<CLMUL>, ENCRYPT>(keys, tweak, src, dst, blocks) }
}

/// A key word in every lane, added directly from memory.
#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
pub(super) struct WideKey([u32; 8]);

impl Zeroize for WideKey {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// Eight words, or two whole blocks. Values come only from [`Vector::load`] and [`Vector::masks`],
/// whose callers guarantee AVX2 (and VPCLMULQDQ if `CLMUL`), so a value proves the features.
#[derive(Clone, Copy)]
pub(super) struct V256<const CLMUL: bool>(__m256i);

impl<const CLMUL: bool> BitXor for V256<CLMUL> {
    type Output = Self;
    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        // SAFETY: the values prove the features.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }
}

impl<const CLMUL: bool> BitAnd for V256<CLMUL> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: the values prove the features.
        Self(unsafe { _mm256_and_si256(self.0, other.0) })
    }
}

impl<const CLMUL: bool> BitOr for V256<CLMUL> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        // SAFETY: the values prove the features.
        Self(unsafe { _mm256_or_si256(self.0, other.0) })
    }
}

impl<const CLMUL: bool> Word for V256<CLMUL> {
    type Key = WideKey;

    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        // SAFETY: the values prove the features.
        Self(unsafe { _mm256_andnot_si256(other.0, self.0) })
    }

    #[inline(always)]
    fn add_key(self, key: &WideKey) -> Self {
        // SAFETY: the value proves the features.
        Self(unsafe { add_key(self.0, key) })
    }

    #[inline(always)]
    fn shift_left<const BITS: i32>(self) -> Self {
        // SAFETY: the value proves the features.
        Self(unsafe { _mm256_slli_epi32::<BITS>(self.0) })
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: the value proves the features.
        unsafe {
            let left = _mm256_slli_epi32::<LEFT>(self.0);
            Self(_mm256_or_si256(left, _mm256_srli_epi32::<RIGHT>(self.0)))
        }
    }
}

/// `value` plus a key word.
///
/// Uses assembly because the compiler would keep the key in a register from one group to the next
/// and spill words of the groups instead.
#[inline]
#[target_feature(enable = "avx2")]
fn add_key(value: __m256i, key: &WideKey) -> __m256i {
    let sum;
    // SAFETY: the instruction belongs to the set and reads only the key.
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

impl<const CLMUL: bool> Vector for V256<CLMUL> {
    const BLOCKS: usize = 2;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    fn transpose([a, b, c, d]: [Self; VECTORS]) -> Group<Self> {
        // SAFETY: the values prove the features.
        unsafe {
            let ab_low = _mm256_unpacklo_epi32(a.0, b.0);
            let ab_high = _mm256_unpackhi_epi32(a.0, b.0);
            let cd_low = _mm256_unpacklo_epi32(c.0, d.0);
            let cd_high = _mm256_unpackhi_epi32(c.0, d.0);
            [
                Self(_mm256_unpacklo_epi64(ab_low, cd_low)),
                Self(_mm256_unpackhi_epi64(ab_low, cd_low)),
                Self(_mm256_unpacklo_epi64(ab_high, cd_high)),
                Self(_mm256_unpackhi_epi64(ab_high, cd_high)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn masks(tweak: u128) -> [Self; GROUPS * VECTORS] {
        let (low, high) = (tweak.cast_signed() as i64, (tweak >> 64).cast_signed() as i64);
        // SAFETY: the CPU has the features, as the caller promises.
        unsafe {
            let tweak = _mm256_set_epi64x(high, low, high, low);
            let swapped = _mm256_set_epi64x(low, high, low, high);
            let low_half = _mm256_set_epi64x(0, -1, 0, -1);
            let mut masks = [Self(tweak); GROUPS * VECTORS];
            for (vector, mask) in masks.iter_mut().enumerate() {
                let first = 2 * vector as i64;
                let left = _mm256_set_epi64x(first + 1, first + 1, first, first);
                let right = _mm256_sub_epi64(_mm256_set1_epi64x(64), left);
                // Bits lost by the low half go to the high one. Bits lost by the high half are
                // reduced: because x^128 is x^7 + x^2 + x + 1, they go to the low half once
                // unchanged and three more times shifted.
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
                *mask = Self(_mm256_xor_si256(shifted, reduced));
            }
            masks
        }
    }
}
