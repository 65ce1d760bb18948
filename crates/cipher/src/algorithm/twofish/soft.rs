//! Twofish in portable Rust with four tables of key-dependent words; NOT constant time.
//!
//! Each table combines a key-dependent S-box with its column of the MDS matrix ("full keying" of the Twofish paper,
//! 5.1). The cache lines that are read therefore depend on key and data. The vector kernels do not have this leak.
//! Processing two blocks at a time hides latency.

use std::array::from_fn;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::spec;
use crate::kernel::{BLOCK, Block, BlockKernel, Visit, tell};

/// Number of blocks processed together: the maximum that leaves registers for the addresses.
const TOGETHER: usize = 2;

/// Twofish keyed for scalar code.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Soft {
    tables: [[u32; 256]; 4],
    /// K0 .. K39: whitening of the input, whitening of the output, then two words per round.
    keys: [u32; 40],
}

impl Soft {
    /// Expands a 16-, 24- or 32-byte key.
    pub(super) fn new(key: &[u8]) -> Box<Self> {
        // The tables are filled in place, so that no copy is left on the stack.
        let mut soft = Box::new(Self { tables: [[0; 256]; 4], keys: [0; 40] });
        let mut words = spec::sbox_words(key);
        for (lane, table) in soft.tables.iter_mut().enumerate() {
            for (x, entry) in (0..=255).zip(table) {
                *entry = spec::mds_column(lane, spec::substitute(lane, x, &words));
            }
        }
        soft.keys = spec::round_keys(key);
        words.zeroize();
        soft
    }

    /// g(x) or, if `TURN` is 1, g applied to x rotated left by one byte.
    #[inline(always)]
    fn g<const TURN: usize>(&self, x: u32) -> u32 {
        let byte = |lane: usize| usize::from((x >> (8 * ((lane + 4 - TURN) % 4))) as u8);
        let [a, b, c, d] = &self.tables;
        a[byte(0)] ^ b[byte(1)] ^ c[byte(2)] ^ d[byte(3)]
    }

    /// The function F (4.2) without its keys: both sums of the pseudo-Hadamard transform.
    #[inline(always)]
    fn f(&self, a: u32, b: u32) -> (u32, u32) {
        let (a, b) = (self.g::<0>(a), self.g::<1>(b));
        let sum = a.wrapping_add(b);
        (sum, sum.wrapping_add(b))
    }

    #[inline(always)]
    fn encrypt_together<const N: usize>(&self, blocks: &mut [Block; N]) {
        let k = &self.keys;
        let mut x: [[u32; 4]; N] = from_fn(|n| words(&blocks[n], &k[0..4]));
        for pair in k[8..].as_chunks::<4>().0 {
            for [a, b, c, d] in &mut x {
                let (f, g) = self.f(*a, *b);
                *c = (*c ^ f.wrapping_add(pair[0])).rotate_right(1);
                *d = d.rotate_left(1) ^ g.wrapping_add(pair[1]);
            }
            for [a, b, c, d] in &mut x {
                let (f, g) = self.f(*c, *d);
                *a = (*a ^ f.wrapping_add(pair[2])).rotate_right(1);
                *b = b.rotate_left(1) ^ g.wrapping_add(pair[3]);
            }
        }
        for (block, [a, b, c, d]) in blocks.iter_mut().zip(x) {
            *block = bytes([c, d, a, b], &k[4..8]);
        }
    }

    #[inline(always)]
    fn decrypt_together<const N: usize>(&self, blocks: &mut [Block; N]) {
        let k = &self.keys;
        let mut x: [[u32; 4]; N] = from_fn(|n| words(&blocks[n], &k[4..8]));
        for pair in k[8..].as_chunks::<4>().0.iter().rev() {
            for [c, d, a, b] in &mut x {
                let (f, g) = self.f(*c, *d);
                *a = a.rotate_left(1) ^ f.wrapping_add(pair[2]);
                *b = (*b ^ g.wrapping_add(pair[3])).rotate_right(1);
            }
            for [c, d, a, b] in &mut x {
                let (f, g) = self.f(*a, *b);
                *c = c.rotate_left(1) ^ f.wrapping_add(pair[0]);
                *d = (*d ^ g.wrapping_add(pair[1])).rotate_right(1);
            }
        }
        for (block, [c, d, a, b]) in blocks.iter_mut().zip(x) {
            *block = bytes([a, b, c, d], &k[0..4]);
        }
    }
}

/// A block as words, whitened.
#[inline(always)]
fn words(block: &Block, keys: &[u32]) -> [u32; 4] {
    let words = block.as_chunks::<4>().0;
    from_fn(|i| u32::from_le_bytes(words[i]) ^ keys[i])
}

/// Whitened words as a block.
#[inline(always)]
fn bytes(words: [u32; 4], keys: &[u32]) -> Block {
    let mut block = [0; 16];
    for (i, bytes) in block.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *bytes = (words[i] ^ keys[i]).to_le_bytes();
    }
    block
}

impl BlockKernel<BLOCK> for Box<Soft> {
    fn parallel(&self) -> usize {
        TOGETHER
    }

    fn encrypt(&self, blocks: &mut [Block]) {
        let (groups, rest) = blocks.as_chunks_mut::<TOGETHER>();
        groups.iter_mut().for_each(|group| self.encrypt_together(group));
        rest.as_chunks_mut::<1>().0.iter_mut().for_each(|block| self.encrypt_together(block));
    }

    fn decrypt(&self, blocks: &mut [Block]) {
        let (groups, rest) = blocks.as_chunks_mut::<TOGETHER>();
        groups.iter_mut().for_each(|group| self.decrypt_together(group));
        rest.as_chunks_mut::<1>().0.iter_mut().for_each(|block| self.decrypt_together(block));
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&**self, visit);
    }

    fn name(&self) -> &'static str {
        "soft"
    }
}
