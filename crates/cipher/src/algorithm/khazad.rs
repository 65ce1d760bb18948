//! Khazad (Barreto and Rijmen, NESSIE, 2001, the tweaked version), only for rare volumes: a scalar kernel with
//! tables, which is not constant time.

use zeroize::Zeroizing;

use super::field::{SBOX, product};
use super::narrow::BLOCK;
use crate::cpu::Tier;
use crate::kernel::BlockKernel;

const ROUNDS: usize = 8;

/// The first row of the matrix of the linear layer, a Hadamard matrix.
const LAYER: [u8; BLOCK] = [1, 3, 4, 5, 6, 8, 11, 7];

/// For each byte of a block, its contribution to the block after the linear layer.
static LINEAR: [[u64; 256]; BLOCK] = linear();

const fn linear() -> [[u64; 256]; BLOCK] {
    let mut made = [[0; 256]; BLOCK];
    let mut at = 0;
    while at < 256 * BLOCK * BLOCK {
        let (x, from, to) = (at / (BLOCK * BLOCK), at / BLOCK % BLOCK, at % BLOCK);
        let byte = product(x as u8, LAYER[from ^ to]);
        made[from][x] |= (byte as u64) << (56 - 8 * to);
        at += 1;
    }
    made
}

type RoundKeys = Zeroizing<[u64; ROUNDS + 1]>;

/// The keyed cipher.
struct Khazad {
    encrypting: RoundKeys,
    decrypting: RoundKeys,
}

fn substituted(state: u64) -> [u8; BLOCK] {
    state.to_be_bytes().map(|byte| SBOX[usize::from(byte)])
}

fn mixed(bytes: [u8; BLOCK]) -> u64 {
    LINEAR.iter().zip(bytes).fold(0, |sum, (table, byte)| sum ^ table[usize::from(byte)])
}

impl Khazad {
    fn new(key: &[u8]) -> Self {
        let mut halves = Zeroizing::new([0; 2]);
        for (half, bytes) in halves.iter_mut().zip(key.as_chunks().0) {
            *half = u64::from_be_bytes(*bytes);
        }
        let mut encrypting: RoundKeys = Zeroizing::new([0; ROUNDS + 1]);
        for (round, key) in encrypting.iter_mut().enumerate() {
            let constant = std::array::from_fn(|i| SBOX[BLOCK * round + i]);
            *key = mixed(substituted(halves[1])) ^ u64::from_be_bytes(constant) ^ halves[0];
            *halves = [halves[1], *key];
        }
        // The cipher is its own inverse, except that the keys are used in reverse order, after the linear layer has
        // been applied to the keys.
        let mut decrypting = encrypting.clone();
        decrypting.reverse();
        for key in &mut decrypting[1..ROUNDS] {
            *key = mixed(key.to_be_bytes());
        }
        Self { encrypting, decrypting }
    }
}

fn transform(keys: &RoundKeys, block: &mut [u8; BLOCK]) {
    let mut state = u64::from_be_bytes(*block) ^ keys[0];
    for key in &keys[1..ROUNDS] {
        state = mixed(substituted(state)) ^ key;
    }
    *block = (u64::from_be_bytes(substituted(state)) ^ keys[ROUNDS]).to_be_bytes();
}

impl BlockKernel<BLOCK> for Khazad {
    fn parallel(&self) -> usize {
        1
    }

    fn encrypt(&self, blocks: &mut [[u8; BLOCK]]) {
        blocks.iter_mut().for_each(|block| transform(&self.encrypting, block));
    }

    fn decrypt(&self, blocks: &mut [[u8; BLOCK]]) {
        blocks.iter_mut().for_each(|block| transform(&self.decrypting, block));
    }

    fn name(&self) -> &'static str {
        "soft"
    }
}

/// Khazad with a 16-byte key.
pub(crate) fn blocks(key: &[u8], _: Tier) -> Box<dyn BlockKernel<BLOCK>> {
    Box::new(Khazad::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::hex;

    /// NESSIE's test vectors of the tweaked version: one bit of the key, or key and block of one repeated byte.
    #[test]
    fn vectors_of_nessie() {
        let mut bit = [0; 16];
        bit[0] = 0x80;
        for (key, byte, expected) in [
            (bit, 0, "49a4ce32ac190e3f"),
            ([0x38; 16], 0x38, "7e8212a1d95be4f9"),
            ([0xa2; 16], 0xa2, "aabec195c5941a9c"),
            ([0x2f; 16], 0x2f, "0474f5705016d3b8"),
        ] {
            let kernel = blocks(&key, Tier::Soft);
            let mut block = [[byte; BLOCK]];
            kernel.encrypt(&mut block);
            assert_eq!(block[0].to_vec(), hex(expected));
            kernel.decrypt(&mut block);
            assert_eq!(block, [[byte; BLOCK]]);
        }
    }
}
