//! Serpent on x86: XTS fused with the cipher, written once over a vector of words.

mod avx2;
mod avx512;
mod boxes;
mod vector;
mod xts;

use std::sync::Arc;

use crate::cpu::Tier;
use crate::kernel::{BLOCK, BlockKernel, UnitKernel};

use avx2::Avx2;
use avx512::Avx512;
use vector::Isa;
use xts::{Keyed, SerpentXts};

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
    use super::super::soft::Soft;
    use super::*;
    use crate::kernel::{Buffer, Run};
    use crate::mode::xts::Xts;
    use crate::sector::Layout;

    /// A kernel that `xts` would pass over for a better one.
    fn check<I: Isa>() {
        let Some(isa) = I::new(Tier::Avx512) else {
            eprintln!("SKIPPED: this CPU does not have all of {}", I::NAME);
            return;
        };
        let (data_key, tweak_key) = ([0xa7; 32], [0x3c; 32]);
        let kernel = SerpentXts::new(isa, &data_key, &tweak_key);
        let soft = Xts::new(Soft::new(&data_key), Soft::new(&tweak_key));
        for data_unit in [16, 80, 512, 4096] {
            let layout = Layout { data_unit, tweak_step: 1 };
            let run = Run { first: u128::MAX / 3, layout };
            let plain: Vec<u8> = (0..35 * data_unit).map(|i| (i * 7 / 3) as u8).collect();
            let mut expected = plain.clone();
            soft.encrypt_units(run, Buffer::in_place(&mut expected));
            let mut data = plain.clone();
            kernel.encrypt_units(run, Buffer::in_place(&mut data));
            assert_eq!(data, expected);
            kernel.decrypt_units(run, Buffer::in_place(&mut data));
            assert_eq!(data, plain);
        }
    }

    #[test]
    fn each_kernel_agrees_with_the_portable_one() {
        check::<Avx2<false>>();
        check::<Avx2<true>>();
        check::<Avx512>();
    }
}
