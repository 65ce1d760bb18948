//! AVX2: planes of 32 blocks, S-boxes as sixteen rows for `vpshufb`.

use std::arch::asm;
use std::arch::x86_64::*;

use super::super::keys::{Keys, XtsKeys};
use super::super::products::{PRODUCTS_5B, PRODUCTS_EF};
use super::super::rounds::{State, rounds};
use super::super::vector::{Vector, mds, split};
use super::super::wide::{Isa, kernels};
use super::super::xts as mode;
use super::rows::{Rows, look_up};
use crate::cpu::Tier;
use crate::kernel::{Block, Buffer, Run};

/// Proof of AVX2.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

#[derive(Clone, Copy)]
pub(super) struct V256(__m256i);

/// Reads 16 bytes, which must be valid for reads, into both lanes.
#[inline(always)]
unsafe fn both_lanes(from: *const u8) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(from.cast())) }
}

/// Returns the vector unchanged and forces its computation by exactly these instructions. The
/// compiler would otherwise rearrange them, which takes more instructions or more registers than
/// there are.
#[inline]
#[target_feature(enable = "avx2")]
fn pin(mut v: __m256i) -> __m256i {
    // SAFETY: the assembly is empty and leaves the register unchanged.
    unsafe { asm!("/* {0} */", inout(ymm_reg) v, options(nomem, nostack, preserves_flags)) };
    v
}

impl Vector for V256 {
    const LANES: usize = 8;

    type Table = Rows;

    fn arrange(sbox: &[u8; 256], table: &mut Rows) {
        table.arrange(sbox);
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the trait's contract.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_set1_epi32(word.cast_signed()) })
    }

    instructions! {
        add = _mm256_add_epi32;
        xor = _mm256_xor_si256;
    }

    #[inline(always)]
    unsafe fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { self.xor(b.xor(c)) }
    }

    #[inline(always)]
    unsafe fn rotate_left(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe {
            _mm256_or_si256(_mm256_add_epi32(self.0, self.0), _mm256_srli_epi32::<31>(self.0))
        })
    }

    #[inline(always)]
    unsafe fn rotate_right(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe {
            _mm256_or_si256(_mm256_srli_epi32::<1>(self.0), _mm256_slli_epi32::<31>(self.0))
        })
    }

    #[inline(always)]
    unsafe fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            let (ab, cd) = (_mm256_unpacklo_epi32(a.0, b.0), _mm256_unpacklo_epi32(c.0, d.0));
            let (low, next) = (_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
            let (ab, cd) = (_mm256_unpackhi_epi32(a.0, b.0), _mm256_unpackhi_epi32(c.0, d.0));
            let (third, last) = (_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
            [Self(low), Self(next), Self(third), Self(last)]
        }
    }

    #[inline(always)]
    unsafe fn to_planes(words: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            // Groups the bytes of a lane's four words; each group then is a word to transpose.
            let group = _mm256_broadcastsi128_si256(_mm_setr_epi8(
                0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
            ));
            let mut groups = words;
            for word in &mut groups {
                word.0 = pin(_mm256_shuffle_epi8(word.0, group));
            }
            Self::transpose(groups)
        }
    }

    #[inline(always)]
    unsafe fn to_words([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            let (ab, cd) = (_mm256_unpacklo_epi8(a.0, b.0), _mm256_unpacklo_epi8(c.0, d.0));
            let (low, next) = (_mm256_unpacklo_epi16(ab, cd), _mm256_unpackhi_epi16(ab, cd));
            let (ab, cd) = (_mm256_unpackhi_epi8(a.0, b.0), _mm256_unpackhi_epi8(c.0, d.0));
            let (third, last) = (_mm256_unpacklo_epi16(ab, cd), _mm256_unpackhi_epi16(ab, cd));
            [Self(low), Self(next), Self(third), Self(last)]
        }
    }

    #[inline(always)]
    unsafe fn substitute(table: &Self::Table, x: [Self; 2]) -> [Self; 2] {
        // SAFETY: the trait's contract.
        unsafe {
            let [x, y] = look_up(table, [x[0].0, x[1].0]);
            [Self(x), Self(y)]
        }
    }

    #[inline(always)]
    unsafe fn mds([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract; the products have 16 bytes for each nibble.
        unsafe { mds([a, b, c, d], [products(a), products(b), products(c), products(d)]) }
    }

    #[inline(always)]
    unsafe fn first_masks(tweak: &Block) -> [Self; 4] {
        let [a, b, c, d] = split(tweak);
        // SAFETY: the trait's contract.
        unsafe {
            let tweak = [Self::splat(a), Self::splat(b), Self::splat(c), Self::splat(d)];
            times_power(tweak, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7))
        }
    }

    #[inline(always)]
    unsafe fn next_masks(masks: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe { times_power(masks, _mm256_set1_epi32(8)) }
    }
}

/// Multiplies each block by x to the power in `up`, at most 16.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn times_power([a, b, c, d]: [V256; 4], up: __m256i) -> [V256; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        let down = _mm256_sub_epi32(_mm256_set1_epi32(32), up);
        let (a_out, b_out) = (_mm256_srlv_epi32(a.0, down), _mm256_srlv_epi32(b.0, down));
        let (c_out, d_out) = (_mm256_srlv_epi32(c.0, down), _mm256_srlv_epi32(d.0, down));
        let (a, b) = (_mm256_sllv_epi32(a.0, up), _mm256_sllv_epi32(b.0, up));
        let (c, d) = (_mm256_sllv_epi32(c.0, up), _mm256_sllv_epi32(d.0, up));
        // The carry times x^7 + x^2 + x + 1, to which x^128 reduces, still fits a word.
        let low = _mm256_xor_si256(d_out, _mm256_slli_epi32::<1>(d_out));
        let high = _mm256_xor_si256(_mm256_slli_epi32::<2>(d_out), _mm256_slli_epi32::<7>(d_out));
        [
            V256(_mm256_xor_si256(a, _mm256_xor_si256(low, high))),
            V256(_mm256_or_si256(b, a_out)),
            V256(_mm256_or_si256(c, b_out)),
            V256(_mm256_or_si256(d, c_out)),
        ]
    }
}

/// 5B y and EF y of each byte y of a plane.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn products(y: V256) -> [V256; 2] {
    // SAFETY: the caller's promise; products have 16 bytes for each nibble.
    unsafe {
        let nibble = _mm256_set1_epi8(15);
        let low = _mm256_and_si256(y.0, nibble);
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(y.0), nibble);
        let mut out = [y; 2];
        for (out, products) in out.iter_mut().zip([&PRODUCTS_5B, &PRODUCTS_EF]) {
            let low = _mm256_shuffle_epi8(both_lanes(products.0[0].as_ptr()), low);
            let high = _mm256_shuffle_epi8(both_lanes(products.0[1].as_ptr()), high);
            out.0 = _mm256_xor_si256(low, high);
        }
        out
    }
}

kernels!(Avx2, V256, "avx2", "avx2", |tier| {
    tier >= Tier::Avx2 && is_x86_feature_detected!("avx2")
});
