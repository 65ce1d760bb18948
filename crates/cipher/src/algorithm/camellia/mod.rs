//! Camellia (RFC 3713) with keys of 128, 192 and 256 bits: tables, AVX2 with AES instructions or GFNI,
//! AVX-512 with GFNI, ARM's AES instructions.

#[cfg(target_arch = "aarch64")]
mod arm;
mod function;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod layers;
mod linear;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod nibble;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod offsets;
mod schedule;
mod soft;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod xts;

use soft::Soft;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use xts::{WideBlocks, WideXts};

kernels! {
    xts WideXts, blocks WideBlocks, portable Soft,
    { "x86_64": Gfni512 Gfni256 Avx2Vaes Avx2Aes; "aarch64": Crypto; }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::tests::check;
    use crate::hex::hex;
    use crate::kernel::Block;

    fn block(text: &str) -> Block {
        hex(text).try_into().unwrap()
    }

    /// Checks counts on both sides of the widths of all kernels.
    fn check_vector(key: &[u8], plain: Block, cipher: Block, counts: &[usize]) {
        for kernel in all_blocks(key) {
            for &count in counts {
                let mut blocks = vec![plain; count];
                kernel.encrypt(&mut blocks);
                assert!(blocks.iter().all(|b| *b == cipher), "{}", kernel.name());
                kernel.decrypt(&mut blocks);
                assert!(blocks.iter().all(|b| *b == plain), "{}", kernel.name());
            }
        }
    }

    #[test]
    fn rfc_3713_appendix_a() {
        let key = hex("0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff");
        let plain = block("0123456789abcdeffedcba9876543210");
        let counts: Vec<usize> = (1..=3 * 64 + 1).collect();
        check_vector(&key[..16], plain, block("67673138549669730857065648eabe43"), &counts);
        check_vector(&key[..24], plain, block("b4993401b3e996f84ee5cee7d79b09b9"), &counts);
        check_vector(&key, plain, block("9acc237dff16d76c20ef7c919e3a7509"), &counts);
    }

    #[test]
    fn ntt_vectors() {
        let text = include_str!("../../../tests/vectors/camellia.txt");
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines.len(), 3 * 10 * 16);
        for line in lines {
            let fields: Vec<&str> = line.split(' ').collect();
            let [key, plain, cipher] = fields[..] else {
                panic!("not three fields: {line}");
            };
            check_vector(&hex(key), block(plain), block(cipher), &[1]);
        }
    }

    #[test]
    fn every_kernel_agrees_with_the_portable_one() {
        check(&[16, 24, 32], all_xts, all_blocks);
    }
}
