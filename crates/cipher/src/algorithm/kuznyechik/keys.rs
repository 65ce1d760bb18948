//! Round keys in the form in which they are added in the recurrence.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::algebra::{TAPS, l_inverse, mul};
use super::schedule::{ROUND_KEYS, Schedule};
use crate::kernel::{BLOCK, Block};

/// Number of rounds that use both S and L.
pub(super) const ROUNDS: usize = ROUND_KEYS - 1;

/// A linear map of bytes, given by the images of the bits, starting with the lowest.
pub(super) type Linear = [u8; 8];

/// The image of a byte, without a table look-up, because this is also applied to key bytes.
pub(super) fn apply(map: &Linear, byte: u8) -> u8 {
    let term = |(bit, image): (usize, &u8)| image & (byte >> bit & 1).wrapping_neg();
    map.iter().enumerate().map(term).fold(0, |sum, term| sum ^ term)
}

/// The keys of one direction.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct RoundKeys {
    /// The byte that each step of each round adds, repeated four times.
    pub(super) steps: [[u32; BLOCK]; ROUNDS],
    /// K_1, which is added to the plaintext: at the start of encryption, and at the end of decryption.
    pub(super) plain: Block,
}

/// The keys of both directions.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Keys {
    pub(super) encrypt: RoundKeys,
    pub(super) decrypt: RoundKeys,
}

impl Keys {
    /// Expands a 32-byte key for kernels that represent a state byte `x` as `encrypt(x)` in encryption and as
    /// `decrypt(x)` in decryption.
    pub(super) fn new(key: &[u8], encrypt: &Linear, decrypt: &Linear) -> Self {
        let schedule = Schedule::new(key);
        let empty = || RoundKeys { steps: [[0; BLOCK]; ROUNDS], plain: schedule.keys[0] };
        let mut keys = Self { encrypt: empty(), decrypt: empty() };
        for round in 0..ROUNDS {
            // Encryption computes the last byte of the block first, which is a_0 in the standard.
            let mut key = schedule.keys[1 + round];
            key.reverse();
            keys.encrypt.steps[round] = steps(&key, encrypt);
            // Decryption adds a key before inverse L; this is the equivalent key after inverse L.
            let key = l_inverse(&schedule.keys[ROUNDS - round]);
            keys.decrypt.steps[round] = steps(&key, decrypt);
        }
        keys
    }
}

/// The values that the steps of a recurrence must add so that in the end `key[n]` has been added to each element `n`:
/// `key[n]` plus the effect that the additions to earlier elements have on step `n`.
fn steps(key: &Block, representation: &Linear) -> [u32; BLOCK] {
    std::array::from_fn(|n| {
        let fed_back = |(j, &gain): (usize, &u8)| mul(TAPS[BLOCK + j - n], gain);
        let sum = key[..n].iter().enumerate().map(fed_back).fold(key[n], |sum, term| sum ^ term);
        u32::from(apply(representation, sum)) * 0x0101_0101
    })
}
