//! The nibble kernel with ARM's 128-bit vectors: 16 blocks per batch.

use super::keys::{Keys, RoundKeys};
use super::nibble;
use super::xts::Kernel;
use crate::isa::Neon;
use crate::kernel::BLOCK;
use crate::mode::xts::double;
use crate::vector::{V128, Vector};

impl Kernel for Neon {
    const NAME: &'static str = "neon";

    const BLOCKS: usize = BLOCK * V128::LANES;

    fn keys(key: &[u8]) -> Keys {
        nibble::keys(key)
    }

    #[inline(always)]
    unsafe fn transform<const ENCRYPT: bool>(
        keys: &RoundKeys,
        masks: &[u128],
        src: *const u8,
        dst: *mut u8,
    ) {
        // SAFETY: the trait's contract.
        unsafe { nibble::transform::<V128, ENCRYPT>(keys, masks, src, dst) }
    }

    // Uses integer instructions, of which the kernel itself uses few.
    #[inline(always)]
    unsafe fn fill(first: u128, masks: &mut [u128]) {
        let mut next = first;
        for mask in masks {
            *mask = next;
            next = double(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::wide::tests::check;
    use super::*;
    use crate::cpu::Tier;

    #[test]
    fn enciphers_the_example_of_rfc_7801() {
        check::<Neon>(Tier::Neon);
    }
}
