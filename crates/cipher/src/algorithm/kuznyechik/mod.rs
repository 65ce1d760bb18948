//! Kuznyechik (GOST R 34.12-2015, RFC 7801): look-up tables, and slices of bytes in AVX2, AVX-512 and ARM's vectors.

mod algebra;
#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod keys;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod nibble;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod pi;
mod schedule;
mod soft;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod xts;

use crate::cpu::Tier;
use crate::kernel::UnitKernel;
use crate::mode::xts::Xts;

use soft::Soft;

/// Keys Kuznyechik-XTS for the best kernel that the CPU has and `tier` allows.
///
/// Both keys must have 32 bytes; the registry ensures this.
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
