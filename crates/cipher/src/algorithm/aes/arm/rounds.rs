//! The rounds over several blocks at once.
//!
//! ARM's instructions add the round key first, where x86 adds it last: round `i` of 0 to R - 1 takes key `i`, the last round
//! has no MixColumns, and key R is added by itself. CPUs run AESE with the AESMC after it as one instruction.

use std::arch::aarch64::*;

use super::keys::RoundKeys;
use crate::kernel::Block;

/// Blocks in flight together: a pair of instructions has a latency of 3 to 5 cycles, and CPUs start up to two of them a cycle.
pub(super) const GROUP: usize = 8;

/// # Safety
/// The CPU must have Advanced SIMD.
#[inline]
#[target_feature(enable = "aes")]
pub(super) unsafe fn load(block: &Block) -> uint8x16_t {
    // SAFETY: a block has 16 bytes; the instruction set is the caller's promise.
    unsafe { vld1q_u8(block.as_ptr()) }
}

/// All `R` rounds, without the addition of the last key.
///
/// # Safety
/// The caller must have the AES instructions enabled. `R` must be the rounds of `keys`.
#[inline]
#[target_feature(enable = "aes")]
pub(super) unsafe fn rounds<const R: usize, const N: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    mut x: [uint8x16_t; N],
) -> [uint8x16_t; N] {
    // SAFETY: the instruction set is the caller's promise.
    unsafe {
        for key in &keys[..R - 1] {
            let key = load(key);
            for x in &mut x {
                *x = if ENCRYPT {
                    vaesmcq_u8(vaeseq_u8(*x, key))
                } else {
                    vaesimcq_u8(vaesdq_u8(*x, key))
                };
            }
        }
        let key = load(&keys[R - 1]);
        for x in &mut x {
            *x = if ENCRYPT { vaeseq_u8(*x, key) } else { vaesdq_u8(*x, key) };
        }
    }
    x
}

/// Enciphers or deciphers `N` blocks.
///
/// # Safety
/// As for [`rounds`].
#[inline]
#[target_feature(enable = "aes")]
pub(super) unsafe fn cipher<const R: usize, const N: usize, const ENCRYPT: bool>(
    keys: &RoundKeys,
    x: [uint8x16_t; N],
) -> [uint8x16_t; N] {
    // SAFETY: the instruction set is the caller's promise.
    unsafe {
        let mut x = rounds::<R, N, ENCRYPT>(keys, x);
        let last = load(&keys[R]);
        for x in &mut x {
            *x = veorq_u8(*x, last);
        }
        x
    }
}
