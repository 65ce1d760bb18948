//! Serpent on ARM's 128-bit vectors: four blocks a group, XTS fused with the cipher.

use std::arch::aarch64::*;
use std::ops::{BitAnd, BitOr, BitXor};
use std::sync::Arc;

use zeroize::Zeroize;

use super::rounds::{Group, RoundKeys};
use super::vector::{GROUPS, Isa, VECTORS, Vector};
use super::word::Word;
use super::xts::{Keyed, SerpentXts, batches, unit};
use crate::cpu::Tier;
use crate::kernel::{BLOCK, Block, BlockKernel, UnitKernel};
use crate::mode::xts::double;

/// Serpent-XTS, if the CPU has the instructions and `tier` allows them.
pub(super) fn xts(data_key: &[u8], tweak_key: &[u8], tier: Tier) -> Option<Box<dyn UnitKernel>> {
    Some(Box::new(SerpentXts::new(Neon::new(tier)?, data_key, tweak_key)))
}

/// Serpent, if the CPU has the instructions and `tier` allows them.
pub(super) fn blocks(key: &[u8], tier: Tier) -> Option<Box<dyn BlockKernel<BLOCK>>> {
    Some(Box::new(Arc::new(Keyed::new(Neon::new(tier)?, key))))
}

/// Proof that the CPU has Advanced SIMD.
#[derive(Clone, Copy)]
struct Neon(());

impl Isa for Neon {
    type Vector = V128;

    const NAME: &'static str = "neon";

    fn new(tier: Tier) -> Option<Self> {
        tier.allows(Tier::Neon).then_some(Self(()))
    }

    fn key(word: u32) -> WideKey {
        WideKey([word; 4])
    }

    fn batches<const ENCRYPT: bool>(self, keys: &RoundKeys<V128>, blocks: &mut [Block]) {
        // SAFETY: `self` proves the instruction set.
        unsafe { neon_batches::<ENCRYPT>(keys, blocks) }
    }

    unsafe fn unit<const ENCRYPT: bool>(
        self,
        keys: &RoundKeys<V128>,
        tweak: u128,
        src: *const u8,
        dst: *mut u8,
        blocks: usize,
    ) {
        // SAFETY: `self` proves the instruction set; the caller guarantees the rest.
        unsafe { neon_unit::<ENCRYPT>(keys, tweak, src, dst, blocks) }
    }
}

/// # Safety
/// The CPU must have Advanced SIMD.
#[target_feature(enable = "neon")]
unsafe fn neon_batches<const ENCRYPT: bool>(keys: &RoundKeys<V128>, blocks: &mut [Block]) {
    // SAFETY: this function enables the instruction set.
    unsafe { batches::<V128, ENCRYPT>(keys, blocks) }
}

/// # Safety
/// As for [`Isa::unit`]; the CPU must have Advanced SIMD.
#[target_feature(enable = "neon")]
unsafe fn neon_unit<const ENCRYPT: bool>(
    keys: &RoundKeys<V128>,
    tweak: u128,
    src: *const u8,
    dst: *mut u8,
    blocks: usize,
) {
    // SAFETY: this function enables the instruction set; the rest is passed on.
    unsafe { unit::<V128, ENCRYPT>(keys, tweak, src, dst, blocks) }
}

/// A key word in every lane: a plain load, where one word to all lanes would take a vector instruction too.
#[derive(Clone, Copy, Default)]
#[repr(C, align(16))]
struct WideKey([u32; 4]);

impl Zeroize for WideKey {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// Four words, or a whole block. Values come only from [`Vector::load`] and [`Vector::masks`], whose callers guarantee the
/// instruction set, so a value proves it.
#[derive(Clone, Copy)]
struct V128(uint32x4_t);

impl BitXor for V128 {
    type Output = Self;
    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        // SAFETY: the values prove the instruction set.
        Self(unsafe { veorq_u32(self.0, other.0) })
    }
}

impl BitAnd for V128 {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: the values prove the instruction set.
        Self(unsafe { vandq_u32(self.0, other.0) })
    }
}

impl BitOr for V128 {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        // SAFETY: the values prove the instruction set.
        Self(unsafe { vorrq_u32(self.0, other.0) })
    }
}

impl Word for V128 {
    type Key = WideKey;

    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        // SAFETY: the values prove the instruction set.
        Self(unsafe { vbicq_u32(self.0, other.0) })
    }

    #[inline(always)]
    fn add_key(self, key: &WideKey) -> Self {
        // SAFETY: the value proves the instruction set; a key has four words.
        Self(unsafe { veorq_u32(self.0, vld1q_u32(key.0.as_ptr())) })
    }

    #[inline(always)]
    fn shift_left<const BITS: i32>(self) -> Self {
        // SAFETY: the value proves the instruction set.
        Self(unsafe { vshlq_n_u32::<BITS>(self.0) })
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: the value proves the instruction set.
        Self(unsafe { vsriq_n_u32::<RIGHT>(vshlq_n_u32::<LEFT>(self.0), self.0) })
    }
}

impl Vector for V128 {
    const BLOCKS: usize = 1;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { vreinterpretq_u32_u8(vld1q_u8(from)) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { vst1q_u8(to, vreinterpretq_u8_u32(self.0)) }
    }

    #[inline(always)]
    fn transpose([a, b, c, d]: [Self; VECTORS]) -> Group<Self> {
        // SAFETY: the values prove the instruction set.
        unsafe {
            let wide = |x| vreinterpretq_u64_u32(x);
            let ab_even = wide(vtrn1q_u32(a.0, b.0));
            let ab_odd = wide(vtrn2q_u32(a.0, b.0));
            let cd_even = wide(vtrn1q_u32(c.0, d.0));
            let cd_odd = wide(vtrn2q_u32(c.0, d.0));
            [
                Self(vreinterpretq_u32_u64(vtrn1q_u64(ab_even, cd_even))),
                Self(vreinterpretq_u32_u64(vtrn1q_u64(ab_odd, cd_odd))),
                Self(vreinterpretq_u32_u64(vtrn2q_u64(ab_even, cd_even))),
                Self(vreinterpretq_u32_u64(vtrn2q_u64(ab_odd, cd_odd))),
            ]
        }
    }

    #[inline(always)]
    unsafe fn masks(tweak: u128) -> [Self; GROUPS * VECTORS] {
        // Integer instructions, which the rounds leave alone.
        let mut next = tweak;
        // SAFETY: the caller's promise; a mask has 16 bytes.
        unsafe {
            let mut masks = [Self(vdupq_n_u32(0)); GROUPS * VECTORS];
            for mask in &mut masks {
                *mask = Self::load(next.to_le_bytes().as_ptr());
                next = double(next);
            }
            masks
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::xts::tests::check;
    use super::*;

    #[test]
    fn agrees_with_the_portable_kernel() {
        check::<Neon>(Tier::Neon);
    }
}
