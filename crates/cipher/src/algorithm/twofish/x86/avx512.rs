//! AVX-512 with VBMI and GFNI: planes of 64 blocks, S-boxes as four vectors, the MDS matrix as affine
//! maps (Ice Lake, Sapphire Rapids, Zen 4 and later).

use std::arch::asm;
use std::arch::x86_64::*;

use zeroize::Zeroize;

use super::super::keys::{Keys, XtsKeys};
use super::super::rounds::{State, rounds};
use super::super::spec::multiply_mds;
use super::super::vector::{Vector, split};
use super::super::wide::{Isa, kernels};
use super::super::xts as mode;
use crate::cpu::Tier;
use crate::kernel::{Block, Buffer, Run};

/// Proof of AVX-512 F, BW, DQ, VL, VBMI, VBMI2 and GFNI.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

#[derive(Clone, Copy)]
pub(super) struct V512(__m512i);

/// The values of an S-box, for `vpermb` as four tables of 64.
#[repr(C, align(64))]
pub(super) struct Quarters([u8; 256]);

impl Default for Quarters {
    fn default() -> Self {
        Self([0; 256])
    }
}

impl Zeroize for Quarters {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// Looks up each byte of a plane: the low six bits select an entry in every quarter, and the top
/// two bits select the quarter.
///
/// Uses assembly because the compiler keeps more masks than there are registers and takes more
/// instructions. Mask registers are scarce: four hold constants of [`transpose_bytes`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn look_up(table: &Quarters, x: __m512i) -> __m512i {
    let low;
    let _high: __m512i;
    // SAFETY: the function enables the instructions; all loads are from the table.
    unsafe {
        asm!(
            "vptestmb {bit6}, {x}, {sixth}",
            "vpmovb2m {bit7}, {x}",
            "vpermb {high}, {x}, [{t} + 128]",
            "vpermb {low}, {x}, [{t}]",
            "vpermb {high} {{{bit6}}}, {x}, [{t} + 192]",
            "vpermb {low} {{{bit6}}}, {x}, [{t} + 64]",
            "vmovdqu8 {low} {{{bit7}}}, {high}",
            t = in(reg) table,
            sixth = in(zmm_reg) _mm512_set1_epi8(0x40),
            x = in(zmm_reg) x,
            low = out(zmm_reg) low,
            high = out(zmm_reg) _high,
            bit6 = out(kreg) _,
            bit7 = out(kreg) _,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    low
}

/// Products with a constant of the MDS matrix, as a matrix over bits for `vgf2p8affineqb`: byte 7 - i
/// has the input bits whose sum is output bit i.
const fn affine(factor: u8) -> i64 {
    let mut matrix = 0;
    let mut input = 0;
    while input < 8 {
        let product = multiply_mds(factor, 1 << input);
        let mut output = 0;
        while output < 8 {
            let bit = ((product >> output) & 1) as i64;
            matrix |= bit << (8 * (7 - output) + input);
            output += 1;
        }
        input += 1;
    }
    matrix
}

const TIMES_5B: i64 = affine(0x5B);
const TIMES_EF: i64 = affine(0xEF);

/// Masks of every second byte and every second pair of bytes.
const ODD_BYTES: __mmask64 = 0xAAAA_AAAA_AAAA_AAAA;
const ODD_PAIRS: __mmask64 = 0xCCCC_CCCC_CCCC_CCCC;

/// Replaces the bytes of `v` in `mask` with the bytes of `other` that `indices` select, in one
/// instruction (the compiler makes two of the intrinsic).
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn replace(mut v: __m512i, mask: __mmask64, other: __m512i, indices: __m512i) -> __m512i {
    // SAFETY: the instruction works on registers only, and the function enables it.
    unsafe {
        asm!(
            "vpshufb {v} {{{mask}}}, {other}, {indices}",
            v = inout(zmm_reg) v,
            mask = in(kreg) mask,
            other = in(zmm_reg) other,
            indices = in(zmm_reg) indices,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    v
}

/// Within each word, transposes the bytes of four vectors.
#[inline(always)]
unsafe fn transpose_bytes([a, b, c, d]: [V512; 4]) -> [V512; 4] {
    // SAFETY: called only inside functions that enable the instruction set.
    unsafe {
        // Swap the pairs of bytes of each word, and the bytes of each pair.
        let pairs = _mm512_broadcast_i32x4(_mm_setr_epi8(
            2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13,
        ));
        let bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(
            1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14,
        ));
        let (ac, ca) = (replace(a.0, ODD_PAIRS, c.0, pairs), replace(c.0, !ODD_PAIRS, a.0, pairs));
        let (bd, db) = (replace(b.0, ODD_PAIRS, d.0, pairs), replace(d.0, !ODD_PAIRS, b.0, pairs));
        [
            V512(replace(ac, ODD_BYTES, bd, bytes)),
            V512(replace(bd, !ODD_BYTES, ac, bytes)),
            V512(replace(ca, ODD_BYTES, db, bytes)),
            V512(replace(db, !ODD_BYTES, ca, bytes)),
        ]
    }
}

impl Vector for V512 {
    const LANES: usize = 16;

    type Table = Quarters;

    fn arrange(sbox: &[u8; 256], table: &mut Quarters) {
        table.0 = *sbox;
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the trait's contract.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_set1_epi32(word.cast_signed()) })
    }

    instructions! {
        add = _mm512_add_epi32;
        xor = _mm512_xor_si512;
    }

    #[inline(always)]
    unsafe fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_ternarylogic_epi32::<0x96>(self.0, b.0, c.0) })
    }

    #[inline(always)]
    unsafe fn rotate_left(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_rol_epi32::<1>(self.0) })
    }

    #[inline(always)]
    unsafe fn rotate_right(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_ror_epi32::<1>(self.0) })
    }

    #[inline(always)]
    unsafe fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            let (ab, cd) = (_mm512_unpacklo_epi32(a.0, b.0), _mm512_unpacklo_epi32(c.0, d.0));
            let (low, next) = (_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
            let (ab, cd) = (_mm512_unpackhi_epi32(a.0, b.0), _mm512_unpackhi_epi32(c.0, d.0));
            let (third, last) = (_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
            [Self(low), Self(next), Self(third), Self(last)]
        }
    }

    #[inline(always)]
    unsafe fn to_planes(words: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe { transpose_bytes(words) }
    }

    #[inline(always)]
    unsafe fn to_words(planes: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe { transpose_bytes(planes) }
    }

    #[inline(always)]
    unsafe fn substitute(table: &Self::Table, x: [Self; 2]) -> [Self; 2] {
        // SAFETY: the trait's contract.
        unsafe { [Self(look_up(table, x[0].0)), Self(look_up(table, x[1].0))] }
    }

    #[inline(always)]
    unsafe fn mds([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            let (a5, ae) = (a.affine(TIMES_5B), a.affine(TIMES_EF));
            let (b5, be) = (b.affine(TIMES_5B), b.affine(TIMES_EF));
            let (c5, ce) = (c.affine(TIMES_5B), c.affine(TIMES_EF));
            let (d5, de) = (d.affine(TIMES_5B), d.affine(TIMES_EF));
            [
                a.xor3(be, c5).xor(d5),
                a5.xor3(be, ce).xor(d),
                ae.xor3(b5, c).xor(de),
                ae.xor3(b, ce).xor(d5),
            ]
        }
    }

    #[inline(always)]
    unsafe fn first_masks(tweak: &Block) -> [Self; 4] {
        let [a, b, c, d] = split(tweak);
        // SAFETY: the trait's contract.
        unsafe {
            let tweak = [Self::splat(a), Self::splat(b), Self::splat(c), Self::splat(d)];
            let up = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            times_power(tweak, up)
        }
    }

    #[inline(always)]
    unsafe fn next_masks(masks: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe { times_power(masks, _mm512_set1_epi32(16)) }
    }
}

impl V512 {
    /// Each byte times a bit matrix.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn affine(self, matrix: i64) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm512_gf2p8affine_epi64_epi8::<0>(self.0, _mm512_set1_epi64(matrix)) })
    }
}

/// Multiplies each block by x to the power in `up`, at most 16.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn times_power([a, b, c, d]: [V512; 4], up: __m512i) -> [V512; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        // The carry times x^7 + x^2 + x + 1, to which x^128 reduces, still fits a word.
        let carry = V512(_mm512_shldv_epi32(_mm512_setzero_si512(), d.0, up));
        let shifted = V512(_mm512_slli_epi32::<1>(carry.0));
        let reduced = carry.xor3(shifted, V512(_mm512_slli_epi32::<2>(carry.0)));
        let low = V512(_mm512_sllv_epi32(a.0, up));
        [
            low.xor3(reduced, V512(_mm512_slli_epi32::<7>(carry.0))),
            V512(_mm512_shldv_epi32(b.0, a.0, up)),
            V512(_mm512_shldv_epi32(c.0, b.0, up)),
            V512(_mm512_shldv_epi32(d.0, c.0, up)),
        ]
    }
}

kernels!(
    Avx512,
    V512,
    "gfni-avx512",
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,gfni",
    |tier| {
        tier >= Tier::Avx512
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("gfni")
    }
);
