//! Single blocks, for modes that are not fused with the cipher.

use std::arch::aarch64::*;

use super::Crypto;
use super::keys::{BlockKeys, RoundKeys};
use super::rounds::{GROUP, cipher, load};
use crate::kernel::Block;

/// Blocks per call: several groups, so that what a call costs is small beside them.
pub(super) const PARALLEL: usize = 4 * GROUP;

/// Transforms blocks in place.
pub(super) fn run<const ENCRYPT: bool>(_isa: Crypto, keys: &BlockKeys, data: &mut [Block]) {
    let round_keys = if ENCRYPT { &keys.encrypt } else { &keys.decrypt };
    // SAFETY: `_isa` proves the instruction set, and the rounds are matched.
    unsafe {
        match keys.rounds {
            10 => blocks::<10, ENCRYPT>(round_keys, data),
            12 => blocks::<12, ENCRYPT>(round_keys, data),
            _ => blocks::<14, ENCRYPT>(round_keys, data),
        }
    }
}

/// Transforms groups of blocks, then smaller ones, so that a few blocks take as long as one.
///
/// # Safety
/// The CPU must have the AES instructions. `R` must be the rounds of `keys`.
#[target_feature(enable = "aes")]
pub(super) unsafe fn blocks<const R: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    data: &mut [Block],
) {
    let (groups, rest) = data.as_chunks_mut::<GROUP>();
    // SAFETY: this function enables the instruction set.
    unsafe {
        for group in groups {
            transform::<R, GROUP, ENCRYPT>(keys, group);
        }
        let (fours, rest) = rest.as_chunks_mut::<4>();
        for four in fours {
            transform::<R, 4, ENCRYPT>(keys, four);
        }
        let (pairs, rest) = rest.as_chunks_mut::<2>();
        for pair in pairs {
            transform::<R, 2, ENCRYPT>(keys, pair);
        }
        for block in rest.as_chunks_mut::<1>().0 {
            transform::<R, 1, ENCRYPT>(keys, block);
        }
    }
}

/// Transforms `N` blocks.
///
/// # Safety
/// As for [`blocks`].
#[inline]
#[target_feature(enable = "aes")]
unsafe fn transform<const R: usize, const N: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    data: &mut [Block; N],
) {
    // SAFETY: the instruction set is the caller's promise; blocks have 16 bytes.
    unsafe {
        let mut x = [vdupq_n_u8(0); N];
        for (x, block) in x.iter_mut().zip(&*data) {
            *x = load(block);
        }
        let x = cipher::<R, N, ENCRYPT>(keys, x);
        for (x, block) in x.into_iter().zip(data) {
            vst1q_u8(block.as_mut_ptr(), x);
        }
    }
}
