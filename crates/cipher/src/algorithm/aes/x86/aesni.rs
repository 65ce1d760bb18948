//! AES-NI on 128-bit vectors: one block per register, for every x86 CPU with AES instructions.
//!
//! The kernel is compiled twice: with AVX, and without it for small CPU cores.

use std::arch::asm;
use std::arch::x86_64::*;

use super::super::blocks::GROUP;
use super::super::keys::{WideKey, XtsKeys};
use super::super::wide::Kernel;
use super::rounds::{Rounds, aes};
use super::xts::units;
use crate::isa::{AesNi, AesNiAvx};
use crate::kernel::{Buffer, Run};
use crate::vector::{V128, Vector};

macro_rules! kernel {
    ($isa:ident) => {
        impl Kernel for $isa {
            const NAME: &'static str = "aes-ni";

            type Vector = V128;
            type Narrow = Self;

            #[inline(always)]
            unsafe fn units<const R: usize, const ENCRYPT: bool>(
                keys: &XtsKeys,
                run: Run,
                buffer: Buffer<'_>,
            ) {
                // SAFETY: the trait's contract.
                unsafe { units::<V128, R, ENCRYPT>(keys, run, buffer) }
            }
        }
    };
}

kernel!(AesNi);
kernel!(AesNiAvx);

impl Rounds for V128 {
    #[inline(always)]
    unsafe fn load_part(from: *const u8, _blocks: usize) -> Self {
        // SAFETY: by the trait's contract; a one-block vector has no smaller part, so this is unreachable.
        unsafe { Self::load(from) }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, _blocks: usize) {
        // SAFETY: by the trait's contract; a one-block vector has no smaller part, so this is unreachable.
        unsafe { self.store(to) }
    }

    #[inline(always)]
    unsafe fn key(key: &WideKey) -> Self {
        // SAFETY: by the trait's contract; a wide key is aligned, and wider than the vector.
        Self(unsafe { _mm_load_si128(key.0.as_ptr().cast()) })
    }

    aes! {
        enc = _mm_aesenc_si128;
        enc_last = _mm_aesenclast_si128;
        dec = _mm_aesdec_si128;
        dec_last = _mm_aesdeclast_si128;
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    unsafe fn pin(self) -> Self {
        let mut v = self.0;
        // SAFETY: the assembly is empty and leaves the register unchanged.
        unsafe { asm!("/* {0} */", inout(xmm_reg) v, options(nomem, nostack, preserves_flags)) };
        Self(v)
    }

    #[inline(always)]
    unsafe fn first_mask(j: usize, tweak: Self, before: &[Self; GROUP]) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            match j {
                0 => tweak,
                _ => double(before[j - 1]),
            }
        }
    }

    #[inline(always)]
    unsafe fn next_group(self) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            let carry = _mm_srli_si128::<15>(self.0);
            let reduced = _mm_clmulepi64_si128::<0>(carry, _mm_set1_epi64x(0x87));
            Self(_mm_xor_si128(_mm_slli_si128::<1>(self.0), reduced))
        }
    }
}

/// Multiplies by x: both qwords are shifted left, the top bit of each is moved to the other, and the bit from the upper
/// qword is reduced.
///
/// # Safety
/// As for [`Rounds`].
#[inline(always)]
unsafe fn double(x: V128) -> V128 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        // Copies the sign of dword 3 over dword 0, and the sign of dword 1 over dword 2.
        let signs = _mm_srai_epi32::<31>(_mm_shuffle_epi32::<0b00_01_00_11>(x.0));
        let carry = _mm_and_si128(signs, _mm_setr_epi32(0x87, 0, 1, 0));
        V128(_mm_xor_si128(_mm_add_epi64(x.0, x.0), carry))
    }
}
