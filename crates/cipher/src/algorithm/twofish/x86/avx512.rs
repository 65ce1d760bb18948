//! AVX-512 with VBMI and GFNI: planes of 64 blocks, S-boxes as four vectors, the MDS matrix as affine
//! maps (Ice Lake, Sapphire Rapids, Zen 4 and later).

use std::arch::asm;
use std::arch::x86_64::*;

use super::super::keys::Quarters;
use super::super::spec::multiply_mds;
use super::super::vector::{Kernel, Planes};
use crate::isa::Vbmi2;
use crate::vector::{Gfni, V512, Words, matrix};

impl Kernel for Vbmi2 {
    const NAME: &'static str = "gfni-avx512";

    type Vector = V512;
}

/// Looks up each byte of a plane: the low six bits select an entry in each quarter, and the top two bits select the
/// quarter.
///
/// Uses assembly, because the compiler would keep more masks than there are mask registers, and would use more
/// instructions. Mask registers are scarce, because four of them contain constants of [`transpose_bytes`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn look_up(table: &Quarters, x: __m512i) -> __m512i {
    let low;
    let _high: __m512i;
    // SAFETY: this function enables the instructions; all loads are from the table.
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

/// Multiplication by a constant of the MDS matrix, as a bit matrix.
const fn times(factor: u8) -> u64 {
    let mut images = [0; 8];
    let mut bit = 0;
    while bit < 8 {
        images[bit] = multiply_mds(factor, 1 << bit);
        bit += 1;
    }
    matrix(images)
}

const TIMES_5B: u64 = times(0x5B);
const TIMES_EF: u64 = times(0xEF);

/// Masks for every second byte and every second pair of bytes.
const ODD_BYTES: __mmask64 = 0xAAAA_AAAA_AAAA_AAAA;
const ODD_PAIRS: __mmask64 = 0xCCCC_CCCC_CCCC_CCCC;

/// Replaces the bytes of `v` in `mask` with the bytes of `other` that `indices` select, in one instruction (for the
/// intrinsic, the compiler generates two).
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn replace(mut v: __m512i, mask: __mmask64, other: __m512i, indices: __m512i) -> __m512i {
    // SAFETY: the instruction uses only registers, and this function enables it.
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

/// Transposes the bytes of four vectors within each word.
#[inline(always)]
unsafe fn transpose_bytes([a, b, c, d]: [V512; 4]) -> [V512; 4] {
    // SAFETY: called only inside functions that enable the instruction set.
    unsafe {
        // Swap the pairs of bytes in each word, and the bytes in each pair.
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

impl Planes for V512 {
    type Table = Quarters;

    fn arrange(sbox: &[u8; 256], table: &mut Quarters) {
        table.0 = *sbox;
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
    unsafe fn times_power([a, b, c, d]: [Self; 4], up: Self) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            // The carry times x^7 + x^2 + x + 1, to which x^128 reduces, still fits in a word.
            let carry = Self(_mm512_shldv_epi32(_mm512_setzero_si512(), d.0, up.0));
            let reduced = carry.xor3(carry.shift_left::<1>(), carry.shift_left::<2>());
            let low = Self(_mm512_sllv_epi32(a.0, up.0));
            [
                low.xor3(reduced, carry.shift_left::<7>()),
                Self(_mm512_shldv_epi32(b.0, a.0, up.0)),
                Self(_mm512_shldv_epi32(c.0, b.0, up.0)),
                Self(_mm512_shldv_epi32(d.0, c.0, up.0)),
            ]
        }
    }
}
