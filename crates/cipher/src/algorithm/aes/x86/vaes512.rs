//! VAES with 512-bit vectors: four blocks per register.

use std::arch::asm;
use std::arch::x86_64::*;

use super::super::blocks::GROUP;
use super::super::keys::{WideKey, XtsKeys};
use super::super::wide::Kernel;
use super::rounds::{Rounds, aes};
use super::xts::units;
use crate::isa::{AesNiAvx, Vaes512};
use crate::kernel::{Buffer, Run};
use crate::vector::V512;

impl Kernel for Vaes512 {
    const NAME: &'static str = "vaes-avx512";

    type Vector = V512;
    type Narrow = AesNiAvx;

    #[inline(always)]
    unsafe fn units<const R: usize, const ENCRYPT: bool>(
        keys: &XtsKeys,
        run: Run,
        buffer: Buffer<'_>,
    ) {
        // SAFETY: the trait's contract.
        unsafe { units::<V512, R, ENCRYPT>(keys, run, buffer) }
    }
}

/// x^7 + x^2 + x + 1, the residue of x^128.
const REDUCTION: i64 = 0x87;

/// `v` times `x^(8 BYTES)`; `BYTES` is at most 7.
macro_rules! times_x_bytes {
    ($v:expr, $bytes:literal) => {{
        let carry = _mm512_bsrli_epi128::<{ 16 - $bytes }>($v);
        let reduced = _mm512_clmulepi64_epi128::<0>(carry, _mm512_set1_epi64(REDUCTION));
        _mm512_xor_si512(_mm512_bslli_epi128::<$bytes>($v), reduced)
    }};
}

/// The product of `v` and a small power of x. In each block, `LOW` and `HIGH` select the qword of `powers` by which
/// the low and the high qword of `v` are multiplied.
macro_rules! times_power {
    ($v:expr, $powers:expr, $low:literal, $high:literal) => {{
        let low = _mm512_clmulepi64_epi128::<$low>($v, $powers);
        let high = _mm512_clmulepi64_epi128::<$high>($v, $powers);
        let reduced = _mm512_clmulepi64_epi128::<0x01>(high, _mm512_set1_epi64(REDUCTION));
        _mm512_ternarylogic_epi64::<0x96>(low, _mm512_bslli_epi128::<8>(high), reduced)
    }};
}

impl Rounds for V512 {
    #[inline(always)]
    unsafe fn load_part(from: *const u8, blocks: usize) -> Self {
        // SAFETY: by the trait's contract; lanes outside the mask are not accessed.
        Self(unsafe { _mm512_maskz_loadu_epi64(mask(blocks), from.cast()) })
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, blocks: usize) {
        // SAFETY: by the trait's contract; lanes outside the mask are not accessed.
        unsafe { _mm512_mask_storeu_epi64(to.cast(), mask(blocks), self.0) }
    }

    #[inline(always)]
    unsafe fn key(key: &WideKey) -> Self {
        // SAFETY: by the trait's contract; a wide key has the size and alignment of the vector.
        Self(unsafe { _mm512_load_si512(key.0.as_ptr().cast()) })
    }

    aes! {
        enc = _mm512_aesenc_epi128;
        enc_last = _mm512_aesenclast_epi128;
        dec = _mm512_aesdec_epi128;
        dec_last = _mm512_aesdeclast_epi128;
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn pin(self) -> Self {
        let mut v = self.0;
        // SAFETY: the assembly is empty and leaves the register unchanged.
        unsafe { asm!("/* {0} */", inout(zmm_reg) v, options(nomem, nostack, preserves_flags)) };
        Self(v)
    }

    #[inline(always)]
    unsafe fn first_mask(j: usize, tweak: Self, before: &[Self; GROUP]) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            // The low qword of block i is x^i, and its high qword is x^(4 + i).
            let powers = _mm512_setr_epi64(1, 0x10, 2, 0x20, 4, 0x40, 8, 0x80);
            Self(match j {
                0 => times_power!(tweak.0, powers, 0x00, 0x01),
                1 => times_power!(tweak.0, powers, 0x10, 0x11),
                2 | 3 => times_x_bytes!(before[j - 2].0, 1),
                _ => times_x_bytes!(before[j - 4].0, 2),
            })
        }
    }

    #[inline(always)]
    unsafe fn next_group(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { times_x_bytes!(self.0, 4) })
    }
}

/// The mask of the qwords in the first `blocks` blocks.
#[inline(always)]
fn mask(blocks: usize) -> __mmask8 {
    (1u8 << (2 * blocks)) - 1
}
