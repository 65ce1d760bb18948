//! The kernels of x86.

mod avx2;
mod avx512;
mod rows;

use super::wide::{Blocks, Isa, TwofishXts};
use crate::cpu::Tier;
use crate::kernel::{BLOCK, BlockKernel, UnitKernel};

/// Twofish-XTS with the best kernel that the CPU has and `tier` allows, if there is one.
pub(super) fn xts(data_key: &[u8], tweak_key: &[u8], tier: Tier) -> Option<Box<dyn UnitKernel>> {
    if let Some(isa) = avx512::Avx512::new(tier) {
        return Some(Box::new(TwofishXts::new(isa, data_key, tweak_key)));
    }
    if let Some(isa) = avx2::Avx2::new(tier) {
        return Some(Box::new(TwofishXts::new(isa, data_key, tweak_key)));
    }
    None
}

/// Twofish with the best kernel that the CPU has and `tier` allows, if there is one.
pub(super) fn blocks(key: &[u8], tier: Tier) -> Option<Box<dyn BlockKernel<BLOCK>>> {
    if let Some(isa) = avx512::Avx512::new(tier) {
        return Some(Box::new(Blocks::new(isa, key)));
    }
    if let Some(isa) = avx2::Avx2::new(tier) {
        return Some(Box::new(Blocks::new(isa, key)));
    }
    None
}
