//! Serpent on x86: XTS fused with the cipher, written once over a vector of words.

mod avx2;
mod avx512;
mod boxes;

use std::sync::Arc;

use crate::cpu::Tier;
use crate::kernel::{BLOCK, BlockKernel, UnitKernel};

use super::vector::Isa;
use super::xts::{Keyed, SerpentXts};
use avx2::Avx2;
use avx512::Avx512;

/// Serpent-XTS with the best kernel that the CPU has and `tier` allows, if there is one.
pub(super) fn xts(data_key: &[u8], tweak_key: &[u8], tier: Tier) -> Option<Box<dyn UnitKernel>> {
    if let Some(isa) = Avx512::new(tier) {
        Some(Box::new(SerpentXts::new(isa, data_key, tweak_key)))
    } else if let Some(isa) = Avx2::<true>::new(tier) {
        Some(Box::new(SerpentXts::new(isa, data_key, tweak_key)))
    } else if let Some(isa) = Avx2::<false>::new(tier) {
        Some(Box::new(SerpentXts::new(isa, data_key, tweak_key)))
    } else {
        None
    }
}

/// Serpent with the best kernel that the CPU has and `tier` allows, if there is one.
pub(super) fn blocks(key: &[u8], tier: Tier) -> Option<Box<dyn BlockKernel<BLOCK>>> {
    if let Some(isa) = Avx512::new(tier) {
        Some(Box::new(Arc::new(Keyed::new(isa, key))))
    } else if let Some(isa) = Avx2::<true>::new(tier) {
        Some(Box::new(Arc::new(Keyed::new(isa, key))))
    } else if let Some(isa) = Avx2::<false>::new(tier) {
        Some(Box::new(Arc::new(Keyed::new(isa, key))))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::xts::tests::check;
    use super::*;

    #[test]
    fn each_kernel_agrees_with_the_portable_one() {
        check::<Avx2<false>>(Tier::Avx512);
        check::<Avx2<true>>(Tier::Avx512);
        check::<Avx512>(Tier::Avx512);
    }
}
