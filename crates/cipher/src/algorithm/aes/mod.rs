//! AES (FIPS 197) with keys of 128, 192 and 256 bits: bitsliced Rust, AES-NI, VAES with 256 and 512 bits, and ARM's
//! cryptography extension.

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod blocks;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod chains;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod keys;
mod plane;
mod sbox;
mod schedule;
mod soft;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86;

use soft::Soft;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use wide::{AesBlocks, AesXts};

kernels! {
    xts AesXts, blocks AesBlocks, portable Soft,
    { "x86_64": Vaes512 Vaes256 AesNiAvx AesNi; "aarch64": Crypto; }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::tests::check;
    use crate::cpu::Tier;
    use crate::hex::hex;
    use crate::kernel::{Buffer, Run};
    use crate::sector::Layout;

    /// Tested here rather than through the public interface, because some tweaks have 128 bits and some keys
    /// 192.
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
    fn every_kernel_agrees_with_the_portable_one() {
        check(&[16, 24, 32], all_xts, all_blocks);
    }
}
