//! Twofish with keys of 128, 192 and 256 bits: table-driven Rust, byte-sliced AVX2, AVX-512 and ARM.

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod keys;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod products;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod rounds;
mod soft;
mod spec;
#[cfg(test)]
mod tests;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vector;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod xts;

use crate::cpu::Tier;
use crate::kernel::{BLOCK, BlockKernel, UnitKernel};
use crate::mode::xts::Xts;

use soft::Soft;

/// Keys Twofish-XTS for the best kernel that the CPU has and `tier` allows.
///
/// Both keys must have 16, 24 or 32 bytes; the registry ensures this.
pub(crate) fn xts(data_key: &[u8], tweak_key: &[u8], tier: Tier) -> Box<dyn UnitKernel> {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = x86::xts(data_key, tweak_key, tier) {
        return kernel;
    }
    #[cfg(target_arch = "aarch64")]
    if let Some(kernel) = arm::xts(data_key, tweak_key, tier) {
        return kernel;
    }
    let _ = tier;
    Box::new(Xts::new(Soft::new(data_key), Soft::new(tweak_key)))
}

/// Keys Twofish for modes in general, as [`xts`] does.
pub(crate) fn blocks(key: &[u8], tier: Tier) -> Box<dyn BlockKernel<BLOCK>> {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = x86::blocks(key, tier) {
        return kernel;
    }
    #[cfg(target_arch = "aarch64")]
    if let Some(kernel) = arm::blocks(key, tier) {
        return kernel;
    }
    let _ = tier;
    Box::new(Soft::new(key))
}
