//! The nibble kernel with ARM's cryptography extension: two times 16 blocks.

use std::arch::aarch64::*;

use super::nibble::Instructions;
use super::xts::CHUNK;
use crate::isa::Crypto;
use crate::kernel::Block;
use crate::mode::xts::double;
use crate::vector::V128;

impl Instructions for Crypto {
    const NAME: &'static str = "aes-ce";

    type Vector = V128;

    #[inline]
    #[target_feature(enable = "aes")]
    unsafe fn aes(x: V128) -> V128 {
        V128(vaeseq_u8(x.0, vdupq_n_u8(0)))
    }

    #[inline]
    #[target_feature(enable = "aes")]
    unsafe fn aes_inverse(x: V128) -> V128 {
        V128(vaesdq_u8(x.0, vdupq_n_u8(0)))
    }

    // Uses integer instructions, which the kernel itself hardly uses.
    #[inline(always)]
    unsafe fn masks(first: u128, masks: &mut [Block; CHUNK]) {
        let mut next = first;
        for mask in masks {
            *mask = next.to_le_bytes();
            next = double(next);
        }
    }
}
