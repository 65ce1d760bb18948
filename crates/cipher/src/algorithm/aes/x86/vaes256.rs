//! VAES with 256-bit vectors: two blocks per register.

use std::arch::asm;
use std::arch::x86_64::*;

use super::super::blocks::GROUP;
use super::super::keys::{WideKey, XtsKeys};
use super::super::wide::Kernel;
use super::ahead::{pieces, takes};
use super::rounds::{Rounds, aes};
use super::xts::units;
use crate::isa::{AesNiAvx, Vaes256};
use crate::kernel::{Block, Buffer, Run};
use crate::vector::{V256, Vector};

impl Kernel for Vaes256 {
    const NAME: &'static str = "vaes-avx2";

    type Vector = V256;
    type Narrow = AesNiAvx;

    #[inline(always)]
    unsafe fn units<const R: usize, const ENCRYPT: bool>(
        keys: &XtsKeys,
        run: Run,
        buffer: Buffer<'_>,
    ) {
        // SAFETY: the trait's contract.
        unsafe {
            if takes(run.layout.data_unit, buffer.len()) {
                pieces::<R, ENCRYPT>(keys, run, buffer);
            } else {
                units::<V256, R, ENCRYPT>(keys, run, buffer);
            }
        }
    }
}

/// x^7 + x^2 + x + 1, the residue of x^128.
const REDUCTION: i64 = 0x87;

/// `v` times `x^(8 BYTES)`; `BYTES` is at most 7.
macro_rules! times_x_bytes {
    ($v:expr, $bytes:literal) => {{
        let carry = _mm256_bsrli_epi128::<{ 16 - $bytes }>($v);
        let reduced = _mm256_clmulepi64_epi128::<0>(carry, _mm256_set1_epi64x(REDUCTION));
        _mm256_xor_si256(_mm256_bslli_epi128::<$bytes>($v), reduced)
    }};
}

/// Shifts qwords left, and restores the bits that were shifted out: bits from the low qword are moved to the high
/// qword, and bits from the high qword are reduced into the low qword.
macro_rules! with_carry {
    ($shifted:expr, $carry:expr) => {{
        let reduced = _mm256_clmulepi64_epi128::<0x01>($carry, _mm256_set1_epi64x(REDUCTION));
        let moved = _mm256_bslli_epi128::<8>($carry);
        _mm256_xor_si256(_mm256_xor_si256($shifted, moved), reduced)
    }};
}

/// `v` times `x^BITS`; `BITS` is 1 to 7.
macro_rules! times_x_bits {
    ($v:expr, $bits:literal) => {
        with_carry!(_mm256_slli_epi64::<$bits>($v), _mm256_srli_epi64::<{ 64 - $bits }>($v))
    };
}

/// The operations for masks computed in advance. Like the methods of [`Vector`], each may use the whole instruction
/// set.
impl V256 {
    /// Multiplies both blocks by `x`, without a carry-less multiplication.
    #[inline(always)]
    pub(super) unsafe fn double(self) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            // The top bit of each qword is moved to the other qword; the bit from the high qword is reduced.
            let tops = _mm256_srai_epi32::<31>(_mm256_shuffle_epi32::<0x13>(self.0));
            let carry = _mm256_and_si256(tops, _mm256_setr_epi64x(REDUCTION, 1, REDUCTION, 1));
            Self(_mm256_xor_si256(_mm256_add_epi64(self.0, self.0), carry))
        }
    }

    /// Multiplies both blocks by `x^8`: the masks an eighth of a piece later.
    #[inline(always)]
    pub(super) unsafe fn eighth_on(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { times_x_bytes!(self.0, 1) })
    }

    /// Multiplies both blocks by `x^16`: the masks a quarter of a piece later.
    #[inline(always)]
    pub(super) unsafe fn quarter_on(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { times_x_bytes!(self.0, 2) })
    }

    /// Multiplies both blocks by `x^32`: the masks half a piece later.
    #[inline(always)]
    pub(super) unsafe fn half_a_piece_on(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { times_x_bytes!(self.0, 4) })
    }

    /// The first masks of the two halves of a piece, in a unit with this encrypted tweak.
    #[inline(always)]
    pub(super) unsafe fn halves_of_a_piece(tweak: &Block) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            let first = Self::lanes(tweak);
            Self(_mm256_blend_epi32::<0xf0>(first.0, first.half_a_piece_on().0))
        }
    }

    /// Writes one block to each of the two addresses, both of which must be valid for one block.
    #[inline(always)]
    pub(super) unsafe fn store_apart(self, low: *mut u8, high: *mut u8) {
        // SAFETY: guaranteed by the caller and by the trait's contract.
        unsafe {
            _mm_storeu_si128(low.cast(), _mm256_castsi256_si128(self.0));
            _mm_storeu_si128(high.cast(), _mm256_extracti128_si256::<1>(self.0));
        }
    }
}

impl Rounds for V256 {
    #[inline(always)]
    unsafe fn load_part(from: *const u8, _blocks: usize) -> Self {
        // SAFETY: by the trait's contract; a part of a two-block vector is one block.
        Self(unsafe { _mm256_zextsi128_si256(_mm_loadu_si128(from.cast())) })
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, _blocks: usize) {
        // SAFETY: by the trait's contract; a part of a two-block vector is one block.
        unsafe { _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(self.0)) }
    }

    #[inline(always)]
    unsafe fn key(key: &WideKey) -> Self {
        // SAFETY: by the trait's contract; a wide key is aligned, and wider than the vector.
        Self(unsafe { _mm256_load_si256(key.0.as_ptr().cast()) })
    }

    aes! {
        enc = _mm256_aesenc_epi128;
        enc_last = _mm256_aesenclast_epi128;
        dec = _mm256_aesdec_epi128;
        dec_last = _mm256_aesdeclast_epi128;
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn pin(self) -> Self {
        let mut v = self.0;
        // SAFETY: the assembly is empty and leaves the register unchanged.
        unsafe { asm!("/* {0} */", inout(ymm_reg) v, options(nomem, nostack, preserves_flags)) };
        Self(v)
    }

    #[inline(always)]
    unsafe fn first_mask(j: usize, tweak: Self, before: &[Self; GROUP]) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            Self(match j {
                0 => {
                    // Multiplies block i by x^i. Shifting a qword by 64 results in 0.
                    let carry = _mm256_srlv_epi64(tweak.0, _mm256_setr_epi64x(64, 64, 63, 63));
                    let shifted = _mm256_sllv_epi64(tweak.0, _mm256_setr_epi64x(0, 0, 1, 1));
                    with_carry!(shifted, carry)
                }
                1 => times_x_bits!(before[0].0, 2),
                2 => times_x_bits!(before[0].0, 4),
                3 => times_x_bits!(before[0].0, 6),
                _ => times_x_bytes!(before[j - 4].0, 1),
            })
        }
    }

    #[inline(always)]
    unsafe fn next_group(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { times_x_bytes!(self.0, 2) })
    }
}
