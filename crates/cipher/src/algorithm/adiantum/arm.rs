//! NH on ARM's 128-bit vectors, one piece at a time.

use std::arch::aarch64::*;

use super::Kernel;
use super::nh::{NhKey, PASSES, rest};
use crate::isa::Neon;
use crate::kernel::BLOCK;
use crate::vector::V128;

impl Kernel for Neon {
    const NAME: &'static str = "neon";

    type Stream = V128;

    #[inline(always)]
    unsafe fn nh(key: &NhKey, message: &[u8]) -> [u64; PASSES] {
        // SAFETY: the trait's contract.
        unsafe { nh(key, message) }
    }
}

/// # Safety
/// The CPU must support Advanced SIMD.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn nh(key: &NhKey, message: &[u8]) -> [u64; PASSES] {
    let pieces = message.len() / BLOCK;
    // For the last piece, the last pass must not read past the end of the key.
    assert!(pieces + PASSES - 1 <= key.words.len(), "NH takes no longer message");
    let mut sums = [vdupq_n_u64(0); PASSES];
    for (index, piece) in message.as_chunks::<BLOCK>().0.iter().enumerate() {
        // SAFETY: a piece of the message and a piece of the key have 16 bytes each, and the assertion ensures that
        // the key has enough pieces.
        let words = unsafe { vreinterpretq_u32_u8(vld1q_u8(piece.as_ptr())) };
        for (pass, sum) in sums.iter_mut().enumerate() {
            // SAFETY: as above.
            let key = unsafe { vld1q_u32(key.words.as_ptr().add(index + pass).cast()) };
            let added = vaddq_u32(words, key);
            *sum = vmlal_u32(*sum, vget_low_u32(added), vget_high_u32(added));
        }
    }
    let mut totals = [0; PASSES];
    for (total, sum) in totals.iter_mut().zip(sums) {
        *total = vaddvq_u64(sum);
    }
    rest(key, message, pieces, totals)
}
