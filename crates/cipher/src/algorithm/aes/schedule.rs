//! The AES key expansion (FIPS 197, 5.2), in constant time and shared by all kernels.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::sbox::sub_bytes;
use crate::kernel::Block;

/// The maximum number of round keys: one for each of 14 rounds, and one more.
pub(super) const MAX_ROUND_KEYS: usize = 15;

/// The round keys of the cipher, in encryption order.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Schedule {
    keys: [Block; MAX_ROUND_KEYS],
    rounds: usize,
}

impl Schedule {
    /// Expands a 16-, 24- or 32-byte key (10, 12, 14 rounds).
    pub(super) fn new(key: &[u8]) -> Self {
        let key_words = key.len() / 4;
        assert!(matches!(key.len(), 16 | 24 | 32), "AES key length");
        let rounds = key_words + 6;
        let mut words = [0u32; 4 * MAX_ROUND_KEYS];
        for (word, bytes) in words.iter_mut().zip(key.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let mut round_constant = 1u8;
        for i in key_words..4 * (rounds + 1) {
            let mut word = words[i - 1];
            if i.is_multiple_of(key_words) {
                // Little-endian words: RotWord moves byte 1 to byte 0.
                word = sub_word(word.rotate_right(8)) ^ u32::from(round_constant);
                round_constant = (round_constant << 1) ^ (0x1b * (round_constant >> 7));
            } else if key_words > 6 && i % key_words == 4 {
                word = sub_word(word);
            }
            words[i] = words[i - key_words] ^ word;
        }
        let mut keys = [[0; 16]; MAX_ROUND_KEYS];
        for (key, words) in keys.iter_mut().zip(words.as_chunks::<4>().0) {
            for (bytes, word) in key.as_chunks_mut::<4>().0.iter_mut().zip(words) {
                *bytes = word.to_le_bytes();
            }
        }
        words.zeroize();
        Self { keys, rounds }
    }

    /// 10, 12 or 14.
    pub(super) fn rounds(&self) -> usize {
        self.rounds
    }

    /// `rounds + 1` round keys.
    pub(super) fn keys(&self) -> &[Block] {
        &self.keys[..=self.rounds]
    }
}

/// SubBytes on the four bytes of a word.
fn sub_word(word: u32) -> u32 {
    // Bit planes of four bytes: bit 8b of plane i is bit i of byte b.
    let planes = sub_bytes(std::array::from_fn(|bit| word >> bit & 0x0101_0101));
    planes.iter().enumerate().fold(0, |sum, (bit, plane)| sum | (plane & 0x0101_0101) << bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expands_the_keys_of_fips_197_appendix_a() {
        let a1 = Schedule::new(&0x2b7e1516_28aed2a6_abf71588_09cf4f3c_u128.to_be_bytes());
        assert_eq!(
            a1.keys().last().unwrap(),
            &0xd014f9a8_c9ee2589_e13f0cc8_b6630ca6_u128.to_be_bytes()
        );
        let high = 0x603deb10_15ca71be_2b73aef0_857d7781_u128.to_be_bytes();
        let low = 0x1f352c07_3b6108d7_2d9810a3_0914dff4_u128.to_be_bytes();
        let a3 = Schedule::new(&[high, low].concat());
        assert_eq!(a3.rounds(), 14);
        assert_eq!(
            a3.keys().last().unwrap(),
            &0xfe4890d1_e6188d0b_046df344_706c631e_u128.to_be_bytes()
        );
    }
}
