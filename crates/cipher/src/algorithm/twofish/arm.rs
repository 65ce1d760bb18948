//! ARM: planes of 16 blocks, S-boxes as four look-ups in 64 bytes each.

use std::arch::aarch64::*;

use zeroize::Zeroize;

use super::keys::{Keys, XtsKeys};
use super::products::{PRODUCTS_5B, PRODUCTS_EF};
use super::rounds::{State, rounds};
use super::vector::{Vector, mds, split};
use super::wide::{Blocks, Isa, TwofishXts, kernels};
use super::xts as mode;
use crate::cpu::Tier;
use crate::kernel::{BLOCK, Block, BlockKernel, Buffer, Run, UnitKernel};

/// Twofish-XTS, if the CPU has the instructions and `tier` allows them.
pub(super) fn xts(data_key: &[u8], tweak_key: &[u8], tier: Tier) -> Option<Box<dyn UnitKernel>> {
    Some(Box::new(TwofishXts::new(Neon::new(tier)?, data_key, tweak_key)))
}

/// Twofish, if the CPU has the instructions and `tier` allows them.
pub(super) fn blocks(key: &[u8], tier: Tier) -> Option<Box<dyn BlockKernel<BLOCK>>> {
    Some(Box::new(Blocks::new(Neon::new(tier)?, key)))
}

/// Proof that the CPU has Advanced SIMD.
#[derive(Clone, Copy)]
struct Neon(());

/// An S-box as it is: the look-ups take it in four quarters.
#[repr(C, align(64))]
pub(super) struct Sbox([u8; 256]);

impl Default for Sbox {
    fn default() -> Self {
        Self([0; 256])
    }
}

impl Zeroize for Sbox {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

#[derive(Clone, Copy)]
pub(super) struct V128(uint32x4_t);

impl V128 {
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn bytes(self) -> uint8x16_t {
        // SAFETY: the caller's promise.
        unsafe { vreinterpretq_u8_u32(self.0) }
    }

    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn from_bytes(bytes: uint8x16_t) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { vreinterpretq_u32_u8(bytes) })
    }
}

impl Vector for V128 {
    const LANES: usize = 4;

    type Table = Sbox;

    fn arrange(sbox: &[u8; 256], table: &mut Sbox) {
        table.0 = *sbox;
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { vreinterpretq_u32_u8(vld1q_u8(from)) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the trait's contract.
        unsafe { vst1q_u8(to, vreinterpretq_u8_u32(self.0)) }
    }

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { vdupq_n_u32(word) })
    }

    instructions! {
        add = vaddq_u32;
        xor = veorq_u32;
    }

    #[inline(always)]
    unsafe fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { self.xor(b.xor(c)) }
    }

    #[inline(always)]
    unsafe fn rotate_left(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { vsriq_n_u32::<31>(vaddq_u32(self.0, self.0), self.0) })
    }

    #[inline(always)]
    unsafe fn rotate_right(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { vsliq_n_u32::<31>(vshrq_n_u32::<1>(self.0), self.0) })
    }

    #[inline(always)]
    unsafe fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            let wide = |x| vreinterpretq_u64_u32(x);
            let (ab_even, ab_odd) = (wide(vtrn1q_u32(a.0, b.0)), wide(vtrn2q_u32(a.0, b.0)));
            let (cd_even, cd_odd) = (wide(vtrn1q_u32(c.0, d.0)), wide(vtrn2q_u32(c.0, d.0)));
            [
                Self(vreinterpretq_u32_u64(vtrn1q_u64(ab_even, cd_even))),
                Self(vreinterpretq_u32_u64(vtrn1q_u64(ab_odd, cd_odd))),
                Self(vreinterpretq_u32_u64(vtrn2q_u64(ab_even, cd_even))),
                Self(vreinterpretq_u32_u64(vtrn2q_u64(ab_odd, cd_odd))),
            ]
        }
    }

    #[inline(always)]
    unsafe fn to_planes([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            let (a, b, c, d) = (a.bytes(), b.bytes(), c.bytes(), d.bytes());
            let (even, more_even) = (vuzp1q_u8(a, b), vuzp1q_u8(c, d));
            let (odd, more_odd) = (vuzp2q_u8(a, b), vuzp2q_u8(c, d));
            [
                Self::from_bytes(vuzp1q_u8(even, more_even)),
                Self::from_bytes(vuzp1q_u8(odd, more_odd)),
                Self::from_bytes(vuzp2q_u8(even, more_even)),
                Self::from_bytes(vuzp2q_u8(odd, more_odd)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn to_words([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            let (a, b, c, d) = (a.bytes(), b.bytes(), c.bytes(), d.bytes());
            let (even, more_even) = (vzip1q_u8(a, c), vzip2q_u8(a, c));
            let (odd, more_odd) = (vzip1q_u8(b, d), vzip2q_u8(b, d));
            [
                Self::from_bytes(vzip1q_u8(even, odd)),
                Self::from_bytes(vzip2q_u8(even, odd)),
                Self::from_bytes(vzip1q_u8(more_even, more_odd)),
                Self::from_bytes(vzip2q_u8(more_even, more_odd)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn substitute(table: &Sbox, [x, y]: [Self; 2]) -> [Self; 2] {
        // SAFETY: the trait's contract.
        unsafe {
            let quarters = table.0.as_ptr().cast::<[u8; 64]>();
            let first = vld1q_u8_x4(quarters.cast());
            let (x, y) = (x.bytes(), y.bytes());
            let (mut to_x, mut to_y) = (vqtbl4q_u8(first, x), vqtbl4q_u8(first, y));
            for quarter in 1..4 {
                let entries = vld1q_u8_x4(quarters.add(quarter).cast());
                // Below 64 in this quarter alone; other indices leave what is there.
                let start = vdupq_n_u8(64 * quarter as u8);
                to_x = vqtbx4q_u8(to_x, entries, veorq_u8(x, start));
                to_y = vqtbx4q_u8(to_y, entries, veorq_u8(y, start));
            }
            [Self::from_bytes(to_x), Self::from_bytes(to_y)]
        }
    }

    #[inline(always)]
    unsafe fn mds([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe { mds([a, b, c, d], [products(a), products(b), products(c), products(d)]) }
    }

    #[inline(always)]
    unsafe fn first_masks(tweak: &Block) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            let [a, b, c, d] = split(tweak);
            let tweak = [Self::splat(a), Self::splat(b), Self::splat(c), Self::splat(d)];
            times_power(tweak, vld1q_s32([0, 1, 2, 3].as_ptr()))
        }
    }

    #[inline(always)]
    unsafe fn next_masks(masks: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe { times_power(masks, vdupq_n_s32(4)) }
    }
}

/// Multiplies each block by x to the power in `up`, at most 16.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn times_power([a, b, c, d]: [V128; 4], up: int32x4_t) -> [V128; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        // Shifts by a negative count are to the right.
        let down = vsubq_s32(up, vdupq_n_s32(32));
        let (a_out, b_out) = (vshlq_u32(a.0, down), vshlq_u32(b.0, down));
        let (c_out, d_out) = (vshlq_u32(c.0, down), vshlq_u32(d.0, down));
        let (a, b) = (vshlq_u32(a.0, up), vshlq_u32(b.0, up));
        let (c, d) = (vshlq_u32(c.0, up), vshlq_u32(d.0, up));
        // The carry times x^7 + x^2 + x + 1, to which x^128 reduces, still fits a word.
        let low = veorq_u32(d_out, vshlq_n_u32::<1>(d_out));
        let high = veorq_u32(vshlq_n_u32::<2>(d_out), vshlq_n_u32::<7>(d_out));
        [
            V128(veorq_u32(a, veorq_u32(low, high))),
            V128(vorrq_u32(b, a_out)),
            V128(vorrq_u32(c, b_out)),
            V128(vorrq_u32(d, c_out)),
        ]
    }
}

/// 5B y and EF y of each byte y of a plane.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn products(y: V128) -> [V128; 2] {
    // SAFETY: the caller's promise; products have 16 bytes for each nibble.
    unsafe {
        let low = vandq_u8(y.bytes(), vdupq_n_u8(15));
        let high = vshrq_n_u8::<4>(y.bytes());
        let mut out = [y; 2];
        for (out, products) in out.iter_mut().zip([&PRODUCTS_5B, &PRODUCTS_EF]) {
            let low = vqtbl1q_u8(vld1q_u8(products.0[0].as_ptr()), low);
            let high = vqtbl1q_u8(vld1q_u8(products.0[1].as_ptr()), high);
            *out = V128::from_bytes(veorq_u8(low, high));
        }
        out
    }
}

kernels!(Neon, V128, "neon", "neon", |tier| tier.allows(Tier::Neon));
