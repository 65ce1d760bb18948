//! AES with ARM's cryptography extension.
//!
//! ARM's instructions add the round key at the start of a round, while x86 adds it at the end. Round `i`, from 0 to
//! R - 1, uses key `i`, the last round has no MixColumns, and key R is added separately. CPUs execute AESE and a
//! following AESMC as one instruction.

mod xts;

use std::arch::aarch64::*;

use super::keys::{RoundKeys, XtsKeys};
use super::wide::{Cipher, Kernel};
use crate::isa::Crypto;
use crate::kernel::{Buffer, Run};
use crate::vector::{V128, Vector};

impl Kernel for Crypto {
    /// Linux's drivers have the same suffix.
    const NAME: &'static str = "aes-ce";

    type Vector = V128;
    type Narrow = Self;

    #[inline(always)]
    unsafe fn units<const R: usize, const ENCRYPT: bool>(
        keys: &XtsKeys,
        run: Run,
        buffer: Buffer<'_>,
    ) {
        // SAFETY: the trait's contract.
        unsafe { xts::units::<R, ENCRYPT>(keys, run, buffer) }
    }
}

impl Cipher for V128 {
    #[inline(always)]
    unsafe fn cipher<const R: usize, const N: usize, const ENCRYPT: bool>(
        keys: &RoundKeys,
        x: [V128; N],
    ) -> [V128; N] {
        // SAFETY: the trait's contract.
        unsafe {
            let mut x = rounds::<R, N, ENCRYPT>(keys, x);
            let last = key(keys, R);
            for x in &mut x {
                *x ^= last;
            }
            x
        }
    }

    #[inline(always)]
    unsafe fn cipher_part<const R: usize, const ENCRYPT: bool>(
        _: &RoundKeys,
        _: *mut u8,
        _: usize,
    ) {
        unreachable!("a vector of one block has no part")
    }
}

/// # Safety
/// As for [`Cipher`].
#[inline(always)]
unsafe fn key(keys: &RoundKeys, round: usize) -> V128 {
    // SAFETY: guaranteed by the caller.
    unsafe { V128::lanes(&keys[round].0[0]) }
}

/// All `R` rounds, without the addition of the last round key.
///
/// # Safety
/// As for [`Cipher`].
#[inline]
#[target_feature(enable = "aes")]
unsafe fn rounds<const R: usize, const N: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    mut x: [V128; N],
) -> [V128; N] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        for round in 0..R - 1 {
            let key = key(keys, round).0;
            for x in &mut x {
                x.0 = if ENCRYPT {
                    vaesmcq_u8(vaeseq_u8(x.0, key))
                } else {
                    vaesimcq_u8(vaesdq_u8(x.0, key))
                };
            }
        }
        let key = key(keys, R - 1).0;
        for x in &mut x {
            x.0 = if ENCRYPT { vaeseq_u8(x.0, key) } else { vaesdq_u8(x.0, key) };
        }
    }
    x
}
