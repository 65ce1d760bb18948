//! Adiantum's parts on x86: ChaCha and NH over vectors of 256 and 512 bits.

pub(super) mod avx2;
pub(super) mod avx512;
mod nh;
pub(super) mod sse2;

use super::{Adiantum, Isa};
use crate::cpu::Tier;
use crate::kernel::UnitKernel;

/// Adiantum with the best kernel that the CPU has and `tier` allows, if there is one.
pub(super) fn wide(key: &[u8], tier: Tier) -> Option<Box<dyn UnitKernel>> {
    if let Some(isa) = avx512::Avx512::new(tier) {
        return Some(keyed(isa, key, tier));
    }
    avx2::Avx2::new(tier).map(|isa| keyed(isa, key, tier))
}

fn keyed(isa: impl Isa, key: &[u8], tier: Tier) -> Box<dyn UnitKernel> {
    Box::new(Adiantum::new(isa, key, tier))
}
