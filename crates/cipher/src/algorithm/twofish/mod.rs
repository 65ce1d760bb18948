//! Twofish with 256-bit keys: table-driven Rust, byte-sliced AVX2 and AVX-512.

mod soft;
mod spec;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use zeroize::Zeroizing;

use crate::cpu::Tier;
use crate::kernel::UnitKernel;
use crate::mode::xts::Xts;

use soft::Soft;

/// Bytes of a key.
pub(crate) const KEY: usize = 32;

/// Keys Twofish in mode XTS with the best kernel that the CPU has and `tier` allows.
///
/// Panics unless both keys have [`KEY`] bytes, which the registry sees to.
pub(crate) fn xts(data_key: &[u8], tweak_key: &[u8], tier: Tier) -> Box<dyn UnitKernel> {
    let key = |bytes: &[u8]| <[u8; KEY]>::try_from(bytes).expect("the registry gives whole keys");
    let (data_key, tweak_key) = (Zeroizing::new(key(data_key)), Zeroizing::new(key(tweak_key)));
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = x86::xts(&data_key, &tweak_key, tier) {
        return kernel;
    }
    let _ = tier;
    Box::new(Xts::new(Soft::new(&data_key), Soft::new(&tweak_key)))
}
