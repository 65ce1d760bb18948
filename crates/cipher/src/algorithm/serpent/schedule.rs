//! The key schedule (submission, section 4), in constant time, with the constants of the S-boxes moved into the keys.
//!
//! The kernels compute the S-boxes without their constants, as `S(x) + S(0)`, so complementing an input or output
//! needs no operation. The constant of a round, after the linear transformation, becomes an additional summand of the
//! next round key. In decryption, the inverse S-boxes need the same sums at their inputs, so the same keys are used
//! for both directions.

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::rounds::{ROUND_KEYS, mix};
use super::word::Word;

/// Bytes of the longest key.
pub(super) const KEY_BYTES: usize = 32;

/// The fractional part of the golden ratio.
const PHI: u32 = 0x9e37_79b9;

/// `S(0)` of each S-box: bit `i` is set if word `i` is complemented.
const CONSTANTS: [u32; 8] = [3, 15, 8, 0, 1, 15, 7, 1];

/// Round keys, including the constants of the previous rounds.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Schedule(pub(super) [[u32; 4]; ROUND_KEYS]);

/// The constant of an S-box as a mask for each of the four words.
fn constant(number: usize) -> [u32; 4] {
    std::array::from_fn(|i| (CONSTANTS[number] >> i & 1).wrapping_neg())
}

fn add(a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
    std::array::from_fn(|i| a[i] ^ b[i])
}

/// S-box `number % 8`, applied to every bit position of the words.
fn substitute(number: usize, x: [u32; 4]) -> [u32; 4] {
    let y = match number % 8 {
        0 => u32::substitute::<0>(x),
        1 => u32::substitute::<1>(x),
        2 => u32::substitute::<2>(x),
        3 => u32::substitute::<3>(x),
        4 => u32::substitute::<4>(x),
        5 => u32::substitute::<5>(x),
        6 => u32::substitute::<6>(x),
        _ => u32::substitute::<7>(x),
    };
    add(y, constant(number % 8))
}

impl Schedule {
    /// Expands a key of at most [`KEY_BYTES`]; panics if the key is longer. Shorter keys are padded with a one bit and
    /// zeros, as specified in the submission.
    pub(super) fn new(key: &[u8]) -> Self {
        let mut whole = Zeroizing::new([0; KEY_BYTES]);
        whole[..key.len()].copy_from_slice(key);
        if let Some(next) = whole.get_mut(key.len()) {
            *next = 1;
        }
        let mut words = [0; 8 + 4 * ROUND_KEYS];
        for (word, bytes) in words.iter_mut().zip(whole.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        for i in 8..words.len() {
            let sum = words[i - 8] ^ words[i - 5] ^ words[i - 3] ^ words[i - 1];
            words[i] = (sum ^ PHI ^ (i as u32 - 8)).rotate_left(11);
        }
        let mut keys = [[0; 4]; ROUND_KEYS];
        for (round, (key, words)) in keys.iter_mut().zip(words[8..].as_chunks().0).enumerate() {
            // The S-boxes are used in descending order, starting with S-box 3.
            *key = substitute(3 + 7 * round, *words);
        }
        words.zeroize();
        for round in 0..ROUND_KEYS - 2 {
            keys[round + 1] = add(keys[round + 1], mix(constant(round % 8)));
        }
        // The last round has no linear transformation.
        keys[ROUND_KEYS - 1] = add(keys[ROUND_KEYS - 1], constant(7));
        Self(keys)
    }
}
