//! The nibble kernel on ARM's cryptography extension: 16 blocks at a time, twice.

use std::arch::aarch64::*;

use super::nibble::{Instructions, Keys, blocks, transform};
use super::schedule::Schedule;
use super::xts::{CHUNK, Wide, WideBlocks, WideXts};
use crate::algorithm::bytes::V128;
use crate::cpu::Tier;
use crate::kernel::{BLOCK, Block, BlockKernel, UnitKernel};
use crate::mode::xts::double;

/// Camellia-XTS, if the CPU has the instructions and `tier` allows them.
pub(super) fn xts(data_key: &[u8], tweak_key: &[u8], tier: Tier) -> Option<Box<dyn UnitKernel>> {
    Some(Box::new(WideXts::new(Crypto::new(tier)?, data_key, tweak_key)))
}

/// Camellia, if the CPU has the instructions and `tier` allows them.
pub(super) fn keyed_blocks(key: &[u8], tier: Tier) -> Option<Box<dyn BlockKernel<BLOCK>>> {
    Some(Box::new(WideBlocks::new(Crypto::new(tier)?, key)))
}

/// Proof that the CPU has the AES instructions of the cryptography extension.
#[derive(Clone, Copy)]
pub(super) struct Crypto(());

impl Crypto {
    pub(super) fn new(tier: Tier) -> Option<Self> {
        tier.allows(Tier::Crypto).then_some(Self(()))
    }
}

impl Wide for Crypto {
    const NAME: &'static str = "aes-ce";
    const BLOCKS: usize = 2 * blocks::<Self>();
    type Keys = Keys;

    fn keys(schedule: &Schedule) -> Keys {
        Keys::new(schedule)
    }

    unsafe fn transform(self, keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
        for half in [0, 1] {
            let at = half * blocks::<Self>() * BLOCK;
            // SAFETY: `self` proves the features; both halves lie in what the trait's contract names.
            unsafe { enabled(keys, from.add(at), masks.add(at), to.add(at)) }
        }
    }

    fn masks(self, first: u128, masks: &mut [Block; CHUNK]) {
        // Integer instructions, of which the kernel itself has hardly any.
        let mut next = first;
        for mask in masks {
            *mask = next.to_le_bytes();
            next = double(next);
        }
    }
}

/// # Safety
/// The CPU must have the features; for the rest see [`transform`].
#[target_feature(enable = "aes")]
unsafe fn enabled(keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
    // SAFETY: this function enables the instruction set; the rest is passed on.
    unsafe { transform::<Crypto>(keys, from, masks, to) }
}

impl Instructions for Crypto {
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
}
