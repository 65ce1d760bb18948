//! AVX-512: sixteen blocks a group, thirty-two in flight, three-input gates and rotations.

use std::arch::asm;
use std::arch::x86_64::*;
use std::ops::{BitAnd, BitOr, BitXor};

use super::super::rounds::{Group, RoundKeys};
use super::super::vector::{GROUPS, Isa, VECTORS, Vector};
use super::super::word::Word;
use super::super::xts::{batches, unit};
use super::boxes::{self, Ternary};
use crate::cpu::Tier;
use crate::kernel::Block;

/// Proof of AVX-512 (F) with VPCLMULQDQ.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

impl Isa for Avx512 {
    type Vector = V512;

    const NAME: &'static str = "avx512";

    fn new(tier: Tier) -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("vpclmulqdq");
        (tier >= Tier::Avx512 && has).then_some(Self(()))
    }

    fn key(word: u32) -> u32 {
        word
    }

    fn batches<const ENCRYPT: bool>(self, keys: &RoundKeys<V512>, blocks: &mut [Block]) {
        // SAFETY: `self` proves the features.
        unsafe { avx512_batches::<ENCRYPT>(keys, blocks) }
    }

    unsafe fn unit<const ENCRYPT: bool>(
        self,
        keys: &RoundKeys<V512>,
        tweak: u128,
        src: *const u8,
        dst: *mut u8,
        blocks: usize,
    ) {
        // SAFETY: `self` proves the features; the caller guarantees the rest.
        unsafe { avx512_unit::<ENCRYPT>(keys, tweak, src, dst, blocks) }
    }
}

/// # Safety
/// The CPU must have the features.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
unsafe fn avx512_batches<const ENCRYPT: bool>(keys: &RoundKeys<V512>, blocks: &mut [Block]) {
    // SAFETY: this function enables the instruction set.
    unsafe { batches::<V512, ENCRYPT>(keys, blocks) }
}

/// # Safety
/// As for [`Isa::unit`]; the CPU must have the features.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
unsafe fn avx512_unit<const ENCRYPT: bool>(
    keys: &RoundKeys<V512>,
    tweak: u128,
    src: *const u8,
    dst: *mut u8,
    blocks: usize,
) {
    // SAFETY: this function enables the instruction set; the rest is passed on.
    unsafe { unit::<V512, ENCRYPT>(keys, tweak, src, dst, blocks) }
}

/// Sixteen words, or four whole blocks. Values come only from [`Vector::load`] and
/// [`Vector::masks`], whose callers guarantee the features, so a value proves them.
#[derive(Clone, Copy)]
pub(super) struct V512(__m512i);

impl BitXor for V512 {
    type Output = Self;
    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        // SAFETY: the values prove the features.
        Self(unsafe { _mm512_xor_si512(self.0, other.0) })
    }
}

impl BitAnd for V512 {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: the values prove the features.
        Self(unsafe { _mm512_and_si512(self.0, other.0) })
    }
}

impl BitOr for V512 {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        // SAFETY: the values prove the features.
        Self(unsafe { _mm512_or_si512(self.0, other.0) })
    }
}

impl Word for V512 {
    /// The instruction that adds the key broadcasts it.
    type Key = u32;

    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        // SAFETY: the values prove the features.
        Self(unsafe { _mm512_andnot_si512(other.0, self.0) })
    }

    #[inline(always)]
    fn add_key(self, key: &u32) -> Self {
        // SAFETY: the value proves the features.
        Self(unsafe { add_key(self.0, key) })
    }

    #[inline(always)]
    fn shift_left<const BITS: i32>(self) -> Self {
        // SAFETY: the value proves the features. The intrinsic takes a different integer type.
        Self(unsafe { _mm512_sllv_epi32(self.0, _mm512_set1_epi32(BITS)) })
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: the value proves the features.
        Self(unsafe { _mm512_rol_epi32::<LEFT>(self.0) })
    }

    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self.ternary::<0x96>(b, c)
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
        // SAFETY: the values prove the features.
        Self(unsafe { _mm512_ternarylogic_epi32::<TABLE>(self.0, b.0, c.0) })
    }
}

/// `value` plus a key word in every lane.
///
/// Uses assembly because the compiler would first broadcast the key into a register, once for all
/// groups.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_key(value: __m512i, key: &u32) -> __m512i {
    let sum;
    // SAFETY: the instruction belongs to the set and reads only the key.
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

impl Vector for V512 {
    const BLOCKS: usize = 4;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    fn transpose([a, b, c, d]: [Self; VECTORS]) -> Group<Self> {
        // SAFETY: the values prove the features.
        unsafe {
            let ab_low = _mm512_unpacklo_epi32(a.0, b.0);
            let ab_high = _mm512_unpackhi_epi32(a.0, b.0);
            let cd_low = _mm512_unpacklo_epi32(c.0, d.0);
            let cd_high = _mm512_unpackhi_epi32(c.0, d.0);
            [
                Self(_mm512_unpacklo_epi64(ab_low, cd_low)),
                Self(_mm512_unpackhi_epi64(ab_low, cd_low)),
                Self(_mm512_unpacklo_epi64(ab_high, cd_high)),
                Self(_mm512_unpackhi_epi64(ab_high, cd_high)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn masks(tweak: u128) -> [Self; GROUPS * VECTORS] {
        let (low, high) = (tweak.cast_signed() as i64, (tweak >> 64).cast_signed() as i64);
        // SAFETY: the CPU has the features, as the caller promises.
        unsafe {
            let tweak = _mm512_set_epi64(high, low, high, low, high, low, high, low);
            let swapped = _mm512_set_epi64(low, high, low, high, low, high, low, high);
            let places = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
            let mut masks = [Self(tweak); GROUPS * VECTORS];
            for (vector, mask) in masks.iter_mut().enumerate() {
                let left = _mm512_add_epi64(places, _mm512_set1_epi64(4 * vector as i64));
                let right = _mm512_sub_epi64(_mm512_set1_epi64(64), left);
                // Bits lost by the low half go to the high one. Bits lost by the high half are
                // reduced: because x^128 is x^7 + x^2 + x + 1, they go to the low half once
                // unchanged and three more times shifted.
                let carry = _mm512_srlv_epi64(swapped, right);
                let reduced = _mm512_clmulepi64_epi128::<0>(carry, _mm512_set1_epi64(0x86));
                *mask = Self(_mm512_sllv_epi64(tweak, left)).xor3(Self(carry), Self(reduced));
            }
            masks
        }
    }
}
