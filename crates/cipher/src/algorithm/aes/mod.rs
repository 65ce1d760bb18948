//! AES (FIPS 197) with keys of 128, 192 and 256 bits: bitsliced Rust, AES-NI, VAES in 256 and 512 bits, and ARM's
//! cryptography extension.

#[cfg(target_arch = "aarch64")]
mod arm;
mod plane;
mod sbox;
mod schedule;
mod soft;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::cpu::Tier;
use crate::kernel::{BLOCK, BlockKernel, UnitKernel};
use crate::mode::xts::Xts;

use soft::Soft;

/// Keys AES-XTS for the best kernel that the CPU has and `tier` allows.
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

/// Keys AES for modes in general, as [`xts`] does.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::hex;
    use crate::kernel::{Buffer, Run};
    use crate::sector::Layout;

    /// Here rather than at the public interface, since some tweaks have 128 bits and some keys 192.
    #[test]
    fn xts_of_wycheproof_on_every_tier() {
        let text = include_str!("../../../tests/vectors/xts-wycheproof.txt");
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines.len(), 63);
        for line in lines {
            let fields: Vec<&str> = line.split(' ').collect();
            let (key, plain, cipher) = (hex(fields[0]), hex(fields[2]), hex(fields[3]));
            let first = u128::from_str_radix(fields[1], 16).unwrap();
            let layout = Layout { data_unit: plain.len(), tweak_step: 1 };
            let (data_key, tweak_key) = key.split_at(key.len() / 2);
            for tier in Tier::available() {
                let kernel = xts(data_key, tweak_key, tier);
                let mut data = plain.clone();
                kernel.encrypt_units(Run { first, layout }, Buffer::in_place(&mut data));
                assert_eq!(data, cipher, "{}", kernel.name());
                kernel.decrypt_units(Run { first, layout }, Buffer::in_place(&mut data));
                assert_eq!(data, plain, "{}", kernel.name());
            }
        }
    }

    #[test]
    fn blocks_agree_with_the_portable_kernel_at_every_count() {
        for key_bytes in [16, 24, 32] {
            let key: Vec<u8> = (0..key_bytes).map(|i: u8| i.wrapping_mul(11)).collect();
            let soft = blocks(&key, Tier::Soft);
            for tier in Tier::available() {
                let kernel = blocks(&key, tier);
                for count in 0..=2 * kernel.parallel() + 1 {
                    let plain: Vec<[u8; BLOCK]> = (0..count).map(|i| [i as u8; BLOCK]).collect();
                    let (mut data, mut expected) = (plain.clone(), plain.clone());
                    soft.encrypt(&mut expected);
                    kernel.encrypt(&mut data);
                    assert_eq!(data, expected, "{count} blocks, {}", kernel.name());
                    kernel.decrypt(&mut data);
                    assert_eq!(data, plain, "{count} blocks, {}", kernel.name());
                }
            }
        }
    }
}
