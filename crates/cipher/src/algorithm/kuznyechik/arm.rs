//! The nibble kernel on ARM's 128-bit vectors: 16 blocks per batch.

use super::keys::{Keys, RoundKeys};
use super::nibble;
use super::pi::{DECRYPT_LINEAR, ENCRYPT_LINEAR};
use super::wide::{Isa, keyed, nibble_kernels};
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

nibble_kernels!(Neon, V128, "neon", 16, "neon", |tier| tier.allows(Tier::Neon), fill);

/// See [`Slices::fill`]. Integer instructions, of which the kernel itself has hardly any.
#[inline(always)]
unsafe fn fill(first: u128, masks: &mut [u128]) {
    let mut next = first;
    for mask in masks {
        *mask = next;
        next = double(next);
    }
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
