//! Camellia on x86: XTS around kernels whose registers hold one byte position of many blocks each.

mod frame;
mod gfni;
mod gfni256;
mod gfni512;
mod masks;
mod matrices;
mod nibble;
mod transpose;

use crate::cpu::Tier;
use crate::kernel::{BLOCK, BlockKernel, UnitKernel};

use super::xts::{WideBlocks, WideXts};

/// Camellia-XTS with the best kernel that the CPU has and `tier` allows, if there is one.
pub(super) fn xts(data_key: &[u8], tweak_key: &[u8], tier: Tier) -> Option<Box<dyn UnitKernel>> {
    if let Some(isa) = gfni512::Gfni512::new(tier) {
        Some(Box::new(WideXts::new(isa, data_key, tweak_key)))
    } else if let Some(isa) = gfni256::Gfni256::new(tier) {
        Some(Box::new(WideXts::new(isa, data_key, tweak_key)))
    } else if let Some(isa) = nibble::VaesAvx2::new(tier) {
        Some(Box::new(WideXts::new(isa, data_key, tweak_key)))
    } else if let Some(isa) = nibble::AesAvx2::new(tier) {
        Some(Box::new(WideXts::new(isa, data_key, tweak_key)))
    } else {
        None
    }
}

/// Camellia with the best kernel that the CPU has and `tier` allows, if there is one.
pub(super) fn blocks(key: &[u8], tier: Tier) -> Option<Box<dyn BlockKernel<BLOCK>>> {
    if let Some(isa) = gfni512::Gfni512::new(tier) {
        Some(Box::new(WideBlocks::new(isa, key)))
    } else if let Some(isa) = gfni256::Gfni256::new(tier) {
        Some(Box::new(WideBlocks::new(isa, key)))
    } else if let Some(isa) = nibble::VaesAvx2::new(tier) {
        Some(Box::new(WideBlocks::new(isa, key)))
    } else if let Some(isa) = nibble::AesAvx2::new(tier) {
        Some(Box::new(WideBlocks::new(isa, key)))
    } else {
        None
    }
}

#[cfg(test)]
pub(super) mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::super::xts::Wide;
    use super::*;
    use crate::kernel::{Buffer, Run};
    use crate::sector::Layout;

    /// Every kernel of this CPU: keyed without a mode, and for XTS with another key.
    struct Kernels<'a> {
        keys: [&'a [u8]; 2],
        bare: Vec<Box<dyn BlockKernel<BLOCK>>>,
        xts: Vec<Box<dyn UnitKernel>>,
    }

    impl Kernels<'_> {
        fn add<W: Wide>(&mut self, isa: Option<W>) {
            let Some(isa) = isa else {
                eprintln!("SKIPPED: this CPU has no {}", W::NAME);
                return;
            };
            self.bare.push(Box::new(WideBlocks::new(isa, self.keys[0])));
            self.xts.push(Box::new(WideXts::new(isa, self.keys[0], self.keys[1])));
        }
    }

    fn all(keys: [&[u8]; 2]) -> Kernels<'_> {
        let mut kernels = Kernels { keys, bare: Vec::new(), xts: Vec::new() };
        let tier = Tier::Avx512;
        kernels.add(gfni512::Gfni512::new(tier));
        kernels.add(gfni256::Gfni256::new(tier));
        kernels.add(nibble::VaesAvx2::new(tier));
        kernels.add(nibble::AesAvx2::new(tier));
        kernels
    }

    /// Every kernel of this CPU, keyed.
    pub(in super::super) fn kernels(key: &[u8]) -> Vec<Box<dyn BlockKernel<BLOCK>>> {
        all([key; 2]).bare
    }

    #[test]
    fn every_kernel_agrees_with_the_portable_one() {
        // Also those that a higher tier of this CPU hides.
        let bytes = |seed: u64, len: usize| -> Vec<u8> {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut data = vec![0; len];
            rng.fill_bytes(&mut data);
            data
        };
        for key_bytes in [16, 24, 32] {
            let keys = [bytes(1, key_bytes), bytes(2, key_bytes)];
            let soft = super::super::xts(&keys[0], &keys[1], Tier::Soft);
            for kernel in all([&keys[0], &keys[1]]).xts {
                for data_unit in [16, 80, 496, 512, 528, 1024, 1040, 1536, 4096] {
                    for units in [1, 2, 3, 31, 32, 33, 65] {
                        let layout = Layout { data_unit, tweak_step: 3 };
                        let run = Run { first: u128::from(u64::MAX) - 2, layout };
                        let plain = bytes(3, units * data_unit);
                        let mut expected = plain.clone();
                        soft.encrypt_units(run, Buffer::in_place(&mut expected));
                        // Apart and misaligned, then in place.
                        let mut data = vec![0; plain.len() + 1];
                        let data = &mut data[1..];
                        kernel.encrypt_units(run, Buffer::apart(&plain, data));
                        let what = || format!("{units} of {data_unit}, {}", kernel.name());
                        assert!(data == expected, "{}", what());
                        kernel.decrypt_units(run, Buffer::in_place(data));
                        assert!(data == plain, "{}", what());
                    }
                }
            }
        }
    }
}
