//! The kernels of x86.

mod avx2;
mod gfni512;

use super::wide::{Isa, keyed};
use crate::cpu::Tier;
use crate::kernel::UnitKernel;

/// Kuznyechik-XTS with the best kernel that the CPU has and `tier` allows, if there is one.
pub(super) fn xts(data_key: &[u8], tweak_key: &[u8], tier: Tier) -> Option<Box<dyn UnitKernel>> {
    if let Some(isa) = gfni512::Gfni512::new(tier) {
        Some(keyed(isa, data_key, tweak_key))
    } else if let Some(isa) = avx2::Avx2::new(tier) {
        Some(keyed(isa, data_key, tweak_key))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::wide::tests::check;
    use super::*;

    #[test]
    fn every_kernel_enciphers_the_example_of_rfc_7801() {
        check::<avx2::Avx2>(Tier::Avx2);
        check::<gfni512::Gfni512>(Tier::Avx512);
    }
}
