//! CBC encryption fused with the cipher: the chains of several data units run at once, each in a register.

use std::arch::aarch64::*;

use super::Crypto;
use super::keys::{BlockKeys, RoundKeys};
use super::rounds::{cipher, load};
use crate::kernel::{BLOCK, Block, Buffer};

/// Encrypts as many data units in CBC as `chain` has IVs.
pub(super) fn run(_isa: Crypto, keys: &BlockKeys, chain: &[Block], buffer: Buffer<'_>) {
    // SAFETY: `_isa` proves the instruction set, and the rounds are matched.
    unsafe {
        match keys.rounds {
            10 => chains::<10>(&keys.encrypt, chain, buffer),
            12 => chains::<12>(&keys.encrypt, chain, buffer),
            _ => chains::<14>(&keys.encrypt, chain, buffer),
        }
    }
}

/// Eight chains at a time to hide the latency of the rounds, then fewer.
///
/// # Safety
/// The CPU must have the AES instructions. `R` must be the rounds of `keys`.
#[target_feature(enable = "aes")]
unsafe fn chains<const R: usize>(keys: &RoundKeys, ivs: &[Block], mut buffer: Buffer<'_>) {
    if ivs.is_empty() {
        return;
    }
    let unit = buffer.len() / ivs.len();
    assert!(unit.is_multiple_of(BLOCK), "data units are whole blocks");
    let (mut src, mut dst) = buffer.pointers();
    let mut left = ivs;
    macro_rules! take {
        ($lanes:literal) => {
            while let Some((ivs, rest)) = left.split_first_chunk::<$lanes>() {
                // SAFETY: this function enables the instruction set. `src` and `dst` are valid for a unit for each IV left.
                unsafe {
                    lanes::<R, $lanes>(keys, ivs, src, dst, unit);
                    (src, dst) = (src.add($lanes * unit), dst.add($lanes * unit));
                }
                left = rest;
            }
        };
    }
    take!(8);
    take!(4);
    take!(2);
    take!(1);
}

/// Encrypts `N` data units of `unit` bytes.
///
/// # Safety
/// As for [`chains`]; `src` and `dst` must be valid for the units, and equal or disjoint; `unit` must be a multiple of
/// [`BLOCK`].
#[inline]
#[target_feature(enable = "aes")]
unsafe fn lanes<const R: usize, const N: usize>(
    keys: &RoundKeys,
    ivs: &[Block; N],
    src: *const u8,
    dst: *mut u8,
    unit: usize,
) {
    // SAFETY: the instruction set and the memory are the caller's promise.
    unsafe {
        let mut x = [vdupq_n_u8(0); N];
        for (x, iv) in x.iter_mut().zip(ivs) {
            *x = load(iv);
        }
        for at in (0..unit).step_by(BLOCK) {
            for (lane, x) in x.iter_mut().enumerate() {
                *x = veorq_u8(*x, vld1q_u8(src.add(lane * unit + at)));
            }
            x = cipher::<R, N, true>(keys, x);
            for (lane, x) in x.iter().enumerate() {
                vst1q_u8(dst.add(lane * unit + at), *x);
            }
        }
    }
}
