//! SEED (RFC 4269), only for rare volumes: a scalar kernel with tables, which is not constant time.

use zeroize::Zeroizing;

use crate::cpu::Tier;
use crate::kernel::{BLOCK, Block, BlockKernel, UnitKernel};
use crate::mode::xts::Xts;

const ROUNDS: usize = 16;

/// The S-boxes: a power in GF(2^8), multiplied by a bit matrix, plus a constant.
static BOXES: [[u8; 256]; 2] = [
    sbox(247, [0b1000_1010, 0b1111_1110, 0x85, 0x42, 0x45, 0x21, 0x88, 0x14], 169),
    sbox(251, [0x45, 0x85, 0b1111_1110, 0x21, 0b1000_1010, 0x88, 0x42, 0x14], 56),
];

const fn sbox(exponent: u32, matrix: [u8; 8], constant: u8) -> [u8; 256] {
    let mut made = [0; 256];
    let mut x = 0;
    while x < 256 {
        let power = power(x as u8, exponent);
        let mut row = 0;
        while row < 8 {
            let bit = (matrix[row] & power).count_ones() as u8 & 1;
            made[x] |= bit << (7 - row);
            row += 1;
        }
        made[x] ^= constant;
        x += 1;
    }
    made
}

/// `x` to the power of `exponent` modulo x^8 + x^6 + x^5 + x + 1.
const fn power(x: u8, exponent: u32) -> u8 {
    let (mut made, mut done) = (1, 0);
    while done < exponent {
        let (mut a, mut b, mut sum) = (made as u16, x, 0);
        while b != 0 {
            if b & 1 == 1 {
                sum ^= a;
            }
            a <<= 1;
            if a > 0xff {
                a ^= 0x163;
            }
            b >>= 1;
        }
        made = sum as u8;
        done += 1;
    }
    made
}

/// The function G on 32 bits.
fn g(word: u32) -> u32 {
    const MASKS: [u8; 4] = [0xfc, 0xf3, 0xcf, 0x3f];
    let bytes = word.to_le_bytes();
    let boxed: [u8; 4] = std::array::from_fn(|i| BOXES[i % 2][usize::from(bytes[i])]);
    u32::from_le_bytes(std::array::from_fn(|to| {
        (0..4).fold(0, |sum, from| sum ^ boxed[from] & MASKS[(to + from) % 4])
    }))
}

/// The function F on 64 bits.
fn f(right: [u32; 2], key: [u32; 2]) -> [u32; 2] {
    let left = right[0] ^ key[0];
    let first = g(right[1] ^ key[1] ^ left);
    let second = g(left.wrapping_add(first));
    let third = g(first.wrapping_add(second));
    [second.wrapping_add(third), third]
}

/// The cipher with its round keys.
struct Seed(Zeroizing<[[u32; 2]; ROUNDS]>);

impl Seed {
    fn new(key: &[u8]) -> Self {
        let mut halves = Zeroizing::new([0; 2]);
        for (half, bytes) in halves.iter_mut().zip(key.as_chunks().0) {
            *half = u64::from_be_bytes(*bytes);
        }
        let mut keys = Zeroizing::new([[0; 2]; ROUNDS]);
        // The golden ratio.
        let mut constant = 0x9e37_79b9_u32;
        for (round, key) in keys.iter_mut().enumerate() {
            let [a, b, c, d] =
                [halves[0] >> 32, halves[0], halves[1] >> 32, halves[1]].map(|x| x as u32);
            *key = [
                g(a.wrapping_add(c).wrapping_sub(constant)),
                g(b.wrapping_sub(d).wrapping_add(constant)),
            ];
            match round % 2 {
                0 => halves[0] = halves[0].rotate_right(8),
                _ => halves[1] = halves[1].rotate_left(8),
            }
            constant = constant.rotate_left(1);
        }
        Self(keys)
    }
}

fn transform<'a>(keys: impl Iterator<Item = &'a [u32; 2]>, block: &mut Block) {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for key in keys {
        let [a, b, c, d] = words;
        let made = f([c, d], *key);
        words = [c, d, a ^ made[0], b ^ made[1]];
    }
    // The last round does not swap the halves.
    words.rotate_left(2);
    for (bytes, word) in block.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_be_bytes();
    }
}

impl BlockKernel<BLOCK> for Seed {
    fn parallel(&self) -> usize {
        1
    }

    fn encrypt(&self, blocks: &mut [Block]) {
        blocks.iter_mut().for_each(|block| transform(self.0.iter(), block));
    }

    fn decrypt(&self, blocks: &mut [Block]) {
        blocks.iter_mut().for_each(|block| transform(self.0.iter().rev(), block));
    }

    fn name(&self) -> &'static str {
        "soft"
    }
}

/// SEED with a 16-byte key.
pub(crate) fn blocks(key: &[u8], _: Tier) -> Box<dyn BlockKernel<BLOCK>> {
    Box::new(Seed::new(key))
}

/// Keys the cipher in XTS mode.
pub(crate) fn xts(data_key: &[u8], tweak_key: &[u8], _: Tier) -> Box<dyn UnitKernel> {
    let [data, tweak] = [data_key, tweak_key].map(Seed::new);
    Box::new(Xts::new(data, tweak))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::hex;

    #[test]
    fn rfc_4269_appendix_b() {
        for (key, plain, expected) in [
            (
                "00000000000000000000000000000000",
                "000102030405060708090a0b0c0d0e0f",
                "5ebac6e0054e166819aff1cc6d346cdb",
            ),
            (
                "000102030405060708090a0b0c0d0e0f",
                "00000000000000000000000000000000",
                "c11f22f20140505084483597e4370f43",
            ),
        ] {
            let kernel = blocks(&hex(key), Tier::Soft);
            let mut block = [[0; BLOCK]];
            block[0].copy_from_slice(&hex(plain));
            kernel.encrypt(&mut block);
            assert_eq!(block[0].to_vec(), hex(expected));
            kernel.decrypt(&mut block);
            assert_eq!(block[0].to_vec(), hex(plain));
        }
    }
}
