//! The nibble kernel on ARM's 128-bit vectors: 16 blocks per batch.

use super::keys::{Keys, RoundKeys};
use super::nibble;
use super::pi::{DECRYPT_LINEAR, ENCRYPT_LINEAR};
use super::wide::{Isa, keyed};
use super::xts::{Slices, units};
use crate::algorithm::bytes::V128;
use crate::cpu::Tier;
use crate::kernel::{Buffer, Run, UnitKernel};
use crate::mode::xts::double;

/// Kuznyechik-XTS, if the CPU has the instructions and `tier` allows them.
pub(super) fn xts(data_key: &[u8], tweak_key: &[u8], tier: Tier) -> Option<Box<dyn UnitKernel>> {
    Some(keyed(Neon::new(tier)?, data_key, tweak_key))
}

/// Proof that the CPU has Advanced SIMD.
#[derive(Clone, Copy)]
struct Neon(());

impl Isa for Neon {
    const NAME: &'static str = "neon";

    fn new(tier: Tier) -> Option<Self> {
        tier.allows(Tier::Neon).then_some(Self(()))
    }

    fn keys(self, key: &[u8]) -> Keys {
        Keys::new(key, &ENCRYPT_LINEAR, &DECRYPT_LINEAR)
    }

    fn xts<const ENCRYPT: bool>(self, data: &Keys, tweak: &Keys, run: Run, buffer: Buffer<'_>) {
        // SAFETY: `self` proves the instruction set.
        unsafe { xts_neon::<ENCRYPT>(data, tweak, run, buffer) }
    }
}

/// # Safety
/// The CPU must have Advanced SIMD.
#[target_feature(enable = "neon")]
unsafe fn xts_neon<const ENCRYPT: bool>(data: &Keys, tweak: &Keys, run: Run, buffer: Buffer<'_>) {
    // SAFETY: this function enables the kernel's instruction set; the rest is passed on.
    unsafe { units::<Neon, ENCRYPT>(data, tweak, run, buffer) }
}

impl Slices for Neon {
    const BLOCKS: usize = 16;

    #[inline(always)]
    unsafe fn transform<const ENCRYPT: bool>(
        keys: &RoundKeys,
        masks: &[u128],
        src: *const u8,
        dst: *mut u8,
    ) {
        // SAFETY: the trait's contract.
        unsafe {
            if ENCRYPT {
                encrypt(keys, masks, src, dst);
            } else {
                decrypt(keys, masks, src, dst);
            }
        }
    }

    #[inline(always)]
    unsafe fn fill(first: u128, masks: &mut [u128]) {
        // Integer instructions, of which the kernel itself has hardly any.
        let mut next = first;
        for mask in masks {
            *mask = next;
            next = double(next);
        }
    }
}

/// # Safety
/// As [`Slices::transform`].
#[target_feature(enable = "neon")]
unsafe fn encrypt(keys: &RoundKeys, masks: &[u128], src: *const u8, dst: *mut u8) {
    // SAFETY: this function enables the instruction set; the rest is the trait's contract.
    unsafe { nibble::encrypt::<V128>(keys, masks, src, dst) }
}

/// # Safety
/// As [`Slices::transform`].
#[target_feature(enable = "neon")]
unsafe fn decrypt(keys: &RoundKeys, masks: &[u128], src: *const u8, dst: *mut u8) {
    // SAFETY: this function enables the instruction set; the rest is the trait's contract.
    unsafe { nibble::decrypt::<V128>(keys, masks, src, dst) }
}

#[cfg(test)]
mod tests {
    use super::super::wide::tests::check;
    use super::*;

    #[test]
    fn enciphers_the_example_of_rfc_7801() {
        check::<Neon>(Tier::Neon);
    }
}
