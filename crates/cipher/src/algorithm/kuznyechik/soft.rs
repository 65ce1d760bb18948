//! The portable kernel: one table look-up per byte and round, with S and L merged.
//!
//! **Not** constant time: the indices are secret, and the tables (64 KiB per direction) leak them through the caches,
//! as in other portable implementations. The vector kernels use only look-ups in registers.

use std::sync::LazyLock;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::algebra::{PI, PI_INVERSE, l, l_inverse};
use super::schedule::{ROUND_KEYS, Schedule};
use crate::kernel::{BLOCK, Block, BlockKernel};

/// Number of blocks processed together, so that their look-ups overlap.
const TOGETHER: usize = 2;

/// A block as two words, for XOR.
type Words = [u64; 2];

/// For each position in a block and each value of the byte there, the result of the merged step.
type Table = [[Words; 256]; BLOCK];

/// S, then L.
static ENCRYPT: LazyLock<Box<Table>> = LazyLock::new(|| table(&PI, l));

/// The merged step of decryption in its equivalent form: inverse S, then inverse L.
static DECRYPT: LazyLock<Box<Table>> = LazyLock::new(|| table(&PI_INVERSE, l_inverse));

fn table(substitution: &[u8; 256], linear: fn(&Block) -> Block) -> Box<Table> {
    let mut table = Box::new([[[0; 2]; 256]; BLOCK]);
    for (place, column) in table.iter_mut().enumerate() {
        for (byte, words) in column.iter_mut().enumerate() {
            let mut block = [0; BLOCK];
            block[place] = substitution[byte];
            *words = to_words(&linear(&block));
        }
    }
    table
}

/// Kuznyechik on any CPU.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Soft {
    encrypt: [Words; ROUND_KEYS],
    /// Keys in the order of decryption; inverse L has been applied to all but the last.
    decrypt: [Words; ROUND_KEYS],
}

impl Soft {
    /// Expands a 32-byte key.
    pub(super) fn new(key: &[u8]) -> Self {
        let schedule = Schedule::new(key);
        let mut keys = Self { encrypt: [[0; 2]; ROUND_KEYS], decrypt: [[0; 2]; ROUND_KEYS] };
        for (i, key) in schedule.keys.iter().enumerate() {
            keys.encrypt[i] = to_words(key);
            let key = if i == 0 { *key } else { l_inverse(key) };
            keys.decrypt[ROUND_KEYS - 1 - i] = to_words(&key);
        }
        keys
    }
}

impl BlockKernel<BLOCK> for Soft {
    fn parallel(&self) -> usize {
        TOGETHER
    }

    fn encrypt(&self, blocks: &mut [Block]) {
        let table = &**ENCRYPT;
        let (pairs, rest) = blocks.as_chunks_mut::<TOGETHER>();
        pairs.iter_mut().for_each(|pair| encrypt(table, &self.encrypt, pair));
        for block in rest.as_chunks_mut::<1>().0 {
            encrypt(table, &self.encrypt, block);
        }
    }

    fn decrypt(&self, blocks: &mut [Block]) {
        let table = &**DECRYPT;
        let (pairs, rest) = blocks.as_chunks_mut::<TOGETHER>();
        pairs.iter_mut().for_each(|pair| decrypt(table, &self.decrypt, pair));
        for block in rest.as_chunks_mut::<1>().0 {
            decrypt(table, &self.decrypt, block);
        }
    }

    fn name(&self) -> &'static str {
        "soft"
    }
}

#[inline(always)]
fn encrypt<const N: usize>(table: &Table, keys: &[Words; ROUND_KEYS], blocks: &mut [Block; N]) {
    let mut state: [Words; N] = std::array::from_fn(|i| xor(to_words(&blocks[i]), keys[0]));
    for key in &keys[1..] {
        for words in &mut state {
            *words = xor(look_up(table, *words), *key);
        }
    }
    *blocks = state.map(to_block);
}

/// If u is the state before a substitution, the next such state is u' = L^-1(S^-1(u)) + L^-1(K). Each round is then one
/// look-up per byte, as in encryption, with inverse L at the start and inverse S at the end.
#[inline(always)]
fn decrypt<const N: usize>(table: &Table, keys: &[Words; ROUND_KEYS], blocks: &mut [Block; N]) {
    let mut state: [Words; N] = std::array::from_fn(|i| {
        let block = blocks[i].map(|byte| PI[usize::from(byte)]);
        xor(look_up(table, to_words(&block)), keys[0])
    });
    for key in &keys[1..ROUND_KEYS - 1] {
        for words in &mut state {
            *words = xor(look_up(table, *words), *key);
        }
    }
    *blocks = state.map(|words| {
        let block = to_block(words).map(|byte| PI_INVERSE[usize::from(byte)]);
        to_block(xor(to_words(&block), keys[ROUND_KEYS - 1]))
    });
}

/// S and L, or their inverses, applied to a block.
#[inline(always)]
fn look_up(table: &Table, [low, high]: Words) -> Words {
    let mut sum = [0; 2];
    for place in 0..8 {
        sum = xor(sum, table[place][usize::from((low >> (8 * place)) as u8)]);
        sum = xor(sum, table[8 + place][usize::from((high >> (8 * place)) as u8)]);
    }
    sum
}

#[inline(always)]
fn xor(a: Words, b: Words) -> Words {
    [a[0] ^ b[0], a[1] ^ b[1]]
}

/// The halves of a block, with the first byte as the lowest.
#[inline(always)]
fn to_words(block: &Block) -> Words {
    let whole = u128::from_le_bytes(*block);
    [whole as u64, (whole >> 64) as u64]
}

#[inline(always)]
fn to_block([low, high]: Words) -> Block {
    (u128::from(low) | u128::from(high) << 64).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7801, 5.5 and 5.6.
    #[test]
    fn enciphers_the_example_of_rfc_7801() {
        let key = [
            0x8899aabb_ccddeeff_00112233_44556677_u128.to_be_bytes(),
            0xfedcba98_76543210_01234567_89abcdef_u128.to_be_bytes(),
        ]
        .concat();
        let plain = 0x11223344_55667700_ffeeddcc_bbaa9988_u128.to_be_bytes();
        let cipher = 0x7f679d90_bebc2430_5a468d42_b9d4edcd_u128.to_be_bytes();
        let soft = Soft::new(&key);
        for count in 1..=2 * TOGETHER + 1 {
            let mut blocks = vec![plain; count];
            soft.encrypt(&mut blocks);
            assert_eq!(blocks, vec![cipher; count]);
            soft.decrypt(&mut blocks);
            assert_eq!(blocks, vec![plain; count]);
        }
    }
}
