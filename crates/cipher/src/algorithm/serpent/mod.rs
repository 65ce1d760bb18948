//! Serpent (Anderson, Biham, Knudsen 1998) with keys of up to 256 bits: bitsliced, in portable Rust and with the
//! vectors of x86 and ARM.
//!
//! Blocks and keys are little-endian words in the order of the bitslice code in the final submission, an order also
//! used by NESSIE's test vectors, TrueCrypt, VeraCrypt, Linux and libgcrypt. The submission's own test vectors are
//! printed in reverse order.

#[cfg(target_arch = "aarch64")]
mod arm;
mod boxes;
mod rounds;
mod schedule;
mod soft;
mod word;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod xts;

use soft::Soft;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use xts::{Keyed, SerpentXts};

kernels! {
    xts SerpentXts, blocks Keyed, portable Soft,
    { "x86_64": Avx512Clmul Avx2Clmul Avx2; "aarch64": Neon; }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::tests::check;
    use crate::cpu::Tier;
    use crate::hex::hex;
    use crate::kernel::{BlockKernel, Buffer, Run};
    use crate::sector::Layout;

    fn vectors<const FIELDS: usize>(text: &str) -> Vec<[Vec<u8>; FIELDS]> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let fields = lines.map(|line| line.split(' ').map(hex).collect::<Vec<_>>());
        fields.map(|fields| fields.try_into().unwrap()).collect()
    }

    #[test]
    fn blocks_of_botan_and_nessie() {
        let vectors = vectors(include_str!("../../../tests/vectors/serpent-blocks.txt"));
        assert!(vectors.len() >= 450);
        for [key, plain, cipher] in vectors {
            let soft = Soft::new(&key);
            let mut blocks = [plain.as_slice().try_into().unwrap(); 5];
            soft.encrypt(&mut blocks);
            assert!(blocks.iter().all(|block| *block == *cipher));
            soft.decrypt(&mut blocks);
            assert!(blocks.iter().all(|block| *block == *plain));
        }
    }

    /// Key, plain and cipher text from Botan (block/serpent.vec), whose shorter keys are NESSIE's.
    #[test]
    fn shorter_keys_on_every_tier() {
        let vectors = vectors(
            "00000000000000000000000000000000 d29d576fcea3a3a7ed9099f29273d78e \
             b2288b968ae8b08648d1ce9606fd992d\n\
             00000000000000000000000000000080 00000000000000000000000000000000 \
             ddd26b98a5ffd82c05345a9dadbfaf49\n\
             000000000000000000000000000000000000000000000000 d29d576fceaba3a7ed9899f2927bd78e \
             130e353e1037c22405e8faefb2c3c3e9\n\
             000000000000000000000000000000000000000000000080 00000000000000000000000000000000 \
             660cf6a3f77836ac685519c702548ee7",
        );
        for [key, plain, cipher] in vectors {
            for tier in Tier::available() {
                let kernel = blocks(&key, tier);
                let mut data = [plain.as_slice().try_into().unwrap(); 5];
                kernel.encrypt(&mut data);
                assert!(data.iter().all(|block| *block == *cipher), "{}", kernel.name());
                kernel.decrypt(&mut data);
                assert!(data.iter().all(|block| *block == *plain), "{}", kernel.name());
            }
        }
    }

    /// Tested here rather than through the public interface, because the vectors' tweaks have 128 bits.
    #[test]
    fn xts_of_botan_on_every_tier() {
        let vectors = vectors(include_str!("../../../tests/vectors/serpent-xts.txt"));
        assert!(vectors.len() >= 15);
        for [key, tweak, plain, cipher] in vectors {
            let layout = Layout { data_unit: plain.len(), tweak_step: 1 };
            let first = u128::from_le_bytes(tweak.try_into().unwrap());
            for tier in Tier::available() {
                let kernel = xts(&key[..32], &key[32..], tier);
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
