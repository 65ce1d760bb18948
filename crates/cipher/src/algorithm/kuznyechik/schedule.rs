//! The key schedule (RFC 7801, 4.3).

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::algebra::{PI, l};
use crate::kernel::{BLOCK, Block};

/// Number of round keys: one for each of nine rounds, and one more.
pub(super) const ROUND_KEYS: usize = 10;

/// The round keys K_1 to K_10. Like the portable kernel, their computation uses bytes as indices into Pi, so cache
/// timing can leak key bytes.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Schedule {
    pub(super) keys: [Block; ROUND_KEYS],
}

impl Schedule {
    /// Expands a 32-byte key.
    pub(super) fn new(key: &[u8]) -> Self {
        let (halves, rest) = key.as_chunks::<BLOCK>();
        assert!(halves.len() == 2 && rest.is_empty(), "Kuznyechik key length");
        let mut schedule = Self { keys: [[0; BLOCK]; ROUND_KEYS] };
        let (mut left, mut right) = (halves[0], halves[1]);
        schedule.keys[0] = left;
        schedule.keys[1] = right;
        for pair in 1..ROUND_KEYS / 2 {
            for step in 1..=8 {
                let mut constant = [0; BLOCK];
                constant[BLOCK - 1] = (8 * (pair - 1) + step) as u8;
                let mut mixed = xor(&left, &l(&constant));
                for byte in &mut mixed {
                    *byte = PI[usize::from(*byte)];
                }
                (left, right) = (xor(&l(&mixed), &right), left);
                mixed.zeroize();
            }
            schedule.keys[2 * pair] = left;
            schedule.keys[2 * pair + 1] = right;
        }
        left.zeroize();
        right.zeroize();
        schedule
    }
}

fn xor(a: &Block, b: &Block) -> Block {
    std::array::from_fn(|i| a[i] ^ b[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expands_the_key_of_rfc_7801() {
        let key = [
            0x8899aabb_ccddeeff_00112233_44556677_u128.to_be_bytes(),
            0xfedcba98_76543210_01234567_89abcdef_u128.to_be_bytes(),
        ]
        .concat();
        let schedule = Schedule::new(&key);
        assert_eq!(schedule.keys[..2].concat(), key);
        let expected: [u128; 2] =
            [0xbb44e253_78c73123_a5f32f73_cdb6e517, 0x72e9dd74_16bcf45b_755dbaa8_8e4a4043];
        assert_eq!(schedule.keys[8..], expected.map(u128::to_be_bytes));
    }
}
