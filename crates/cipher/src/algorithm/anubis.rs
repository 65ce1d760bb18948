//! Anubis (Barreto and Rijmen, NESSIE, 2001, the tweaked version), only for rare volumes: a scalar kernel with
//! tables, which is not constant time.

use zeroize::Zeroizing;

use super::field::{SBOX, product};
use crate::cpu::Tier;
use crate::kernel::{BLOCK, Block, BlockKernel, UnitKernel};
use crate::mode::xts::Xts;

/// Number of rows in a block; each row is one word.
const WORDS: usize = 4;

/// Words of the longest key.
const MOST_KEY: usize = 10;

/// Maximum number of round keys: one per round for the longest key, and one key before the first round.
const MOST_ROUNDS: usize = 8 + MOST_KEY + 1;

/// The first row of the matrix of the linear layer, a Hadamard matrix.
const LAYER: [u8; WORDS] = [1, 2, 4, 6];

/// Factors of the key rows in each row of a round key: the second row of a Vandermonde matrix.
const SELECTED: [u8; WORDS] = [1, 2, 6, 8];

/// For each byte of a row, its contribution to the row after the linear layer.
static LINEAR: [[u32; 256]; WORDS] = linear();

const fn linear() -> [[u32; 256]; WORDS] {
    let mut made = [[0; 256]; WORDS];
    let mut at = 0;
    while at < 256 * WORDS * WORDS {
        let (x, from, to) = (at / (WORDS * WORDS), at / WORDS % WORDS, at % WORDS);
        let byte = product(x as u8, LAYER[from ^ to]);
        made[from][x] |= (byte as u32) << (24 - 8 * to);
        at += 1;
    }
    made
}

type RoundKeys = Zeroizing<[[u32; WORDS]; MOST_ROUNDS]>;

/// The keyed cipher.
struct Anubis {
    rounds: usize,
    encrypting: RoundKeys,
    decrypting: RoundKeys,
}

/// The linear layer for one row.
fn mixed(row: [u8; WORDS]) -> u32 {
    LINEAR.iter().zip(row).fold(0, |sum, (table, byte)| sum ^ table[usize::from(byte)])
}

fn substituted(row: u32) -> [u8; WORDS] {
    row.to_be_bytes().map(|byte| SBOX[usize::from(byte)])
}

/// The key schedule's step from the key of one round to the key of the next round.
fn evolved(key: &[u32], round: usize) -> Zeroizing<[u32; MOST_KEY]> {
    let mut next = Zeroizing::new([0; MOST_KEY]);
    for (row, word) in next.iter_mut().enumerate().take(key.len()) {
        let bytes = std::array::from_fn(|column| {
            substituted(key[(row + key.len() - column) % key.len()])[column]
        });
        *word = mixed(bytes);
    }
    next[0] ^= u32::from_be_bytes(std::array::from_fn(|i| SBOX[WORDS * round + i]));
    next
}

/// The round key that is selected from the state of the schedule.
fn selected(key: &[u32]) -> [u32; WORDS] {
    std::array::from_fn(|column| {
        let sum = key.iter().rev().fold([0; WORDS], |sum: [u8; WORDS], row| {
            let added = substituted(*row)[column];
            std::array::from_fn(|i| product(sum[i], SELECTED[i]) ^ added)
        });
        u32::from_be_bytes(sum)
    })
}

impl Anubis {
    fn new(key: &[u8]) -> Self {
        let mut state = Zeroizing::new([0; MOST_KEY]);
        let words = key.len() / 4;
        for (word, bytes) in state.iter_mut().zip(key.as_chunks().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        let rounds = 8 + words;
        let mut encrypting: RoundKeys = Zeroizing::new([[0; WORDS]; MOST_ROUNDS]);
        for (round, key) in encrypting.iter_mut().enumerate().take(rounds + 1) {
            *key = selected(&state[..words]);
            state = evolved(&state[..words], round);
        }
        // The cipher is its own inverse, except that the keys are used in reverse order, after the linear layer has
        // been applied to the keys.
        let mut decrypting: RoundKeys = Zeroizing::new([[0; WORDS]; MOST_ROUNDS]);
        for (round, key) in decrypting.iter_mut().enumerate().take(rounds + 1) {
            *key = encrypting[rounds - round];
            if round != 0 && round != rounds {
                *key = key.map(|row| mixed(row.to_be_bytes()));
            }
        }
        Self { rounds, encrypting, decrypting }
    }

    fn transform(&self, keys: &RoundKeys, block: &mut Block) {
        let mut state: [u32; WORDS] = std::array::from_fn(|row| {
            u32::from_be_bytes(std::array::from_fn(|i| block[4 * row + i])) ^ keys[0][row]
        });
        for (round, key) in keys.iter().enumerate().take(self.rounds + 1).skip(1) {
            let bytes = state.map(substituted);
            state = std::array::from_fn(|row| {
                let column = std::array::from_fn(|i| bytes[i][row]);
                let last = round == self.rounds;
                key[row] ^ if last { u32::from_be_bytes(column) } else { mixed(column) }
            });
        }
        for (bytes, row) in block.as_chunks_mut().0.iter_mut().zip(state) {
            *bytes = row.to_be_bytes();
        }
    }
}

impl BlockKernel<BLOCK> for Anubis {
    fn parallel(&self) -> usize {
        1
    }

    fn encrypt(&self, blocks: &mut [Block]) {
        blocks.iter_mut().for_each(|block| self.transform(&self.encrypting, block));
    }

    fn decrypt(&self, blocks: &mut [Block]) {
        blocks.iter_mut().for_each(|block| self.transform(&self.decrypting, block));
    }

    fn name(&self) -> &'static str {
        "soft"
    }
}

/// Anubis with keys of 16, 20 ... 40 bytes.
pub(crate) fn blocks(key: &[u8], _: Tier) -> Box<dyn BlockKernel<BLOCK>> {
    Box::new(Anubis::new(key))
}

/// Keys the cipher in XTS mode.
pub(crate) fn xts(data_key: &[u8], tweak_key: &[u8], _: Tier) -> Box<dyn UnitKernel> {
    let [data, tweak] = [data_key, tweak_key].map(Anubis::new);
    Box::new(Xts::new(data, tweak))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::hex;

    /// NESSIE's test vectors of the tweaked version: key and block of one repeated byte.
    #[test]
    fn vectors_of_nessie() {
        for (byte, length, expected) in [
            (0xfe, 16, "6dc5daa2267d626f08b7528e6e6e8690"),
            (0x03, 20, "dbf142f4d18ac74987416f820a9864ae"),
            (0x24, 28, "fd1b4ae3bff0ad3d06d36127fd139ede"),
            (0x25, 32, "1a91fb2bb7786bc417d9ff403b0ee5fe"),
            (0x35, 40, "a52c856f9cbaa0979ec6840f172107ee"),
        ] {
            let kernel = blocks(&vec![byte; length], Tier::Soft);
            let mut block = [[byte; BLOCK]];
            kernel.encrypt(&mut block);
            assert_eq!(block[0].to_vec(), hex(expected), "{length}");
            kernel.decrypt(&mut block);
            assert_eq!(block, [[byte; BLOCK]], "{length}");
        }
    }
}
