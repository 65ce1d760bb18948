//! Camellia in portable Rust, with S and P merged into eight tables of 64-bit words.
//!
//! Not constant time: the table look-ups depend on secrets, which cache timing can therefore leak. The vector kernels
//! do not use table look-ups in memory.

use zeroize::ZeroizeOnDrop;

use super::function::{TURNED_INPUT, TURNS, diffuse, fl, fl_inverse, s1};
use super::schedule::{SEGMENT, Schedule};
use crate::kernel::{BLOCK, Block, BlockKernel};

/// P applied to the S-box of each byte; the first table is for the most significant byte.
static SP: [[u64; 256]; 8] = tables();

const fn tables() -> [[u64; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut value = 0;
    while value < 256 {
        let mut byte = 0;
        while byte < 8 {
            let turn = if TURNED_INPUT[byte] { 1 } else { 0 };
            let input = (value as u8).rotate_left(turn);
            let out = TURNS[byte].of(s1(input as u64) as u8);
            tables[byte][value] = diffuse((out as u64) << (56 - 8 * byte));
            byte += 1;
        }
        value += 1;
    }
    tables
}

/// Number of blocks processed together, so that their look-ups overlap.
const TOGETHER: usize = 2;

/// Camellia with a key, for the portable kernel.
#[derive(ZeroizeOnDrop)]
pub(super) struct Soft {
    encryption: Schedule,
    decryption: Schedule,
}

impl Soft {
    /// Expands a 16-, 24- or 32-byte key.
    pub(super) fn new(key: &[u8]) -> Self {
        Self { encryption: Schedule::encryption(key), decryption: Schedule::decryption(key) }
    }
}

impl BlockKernel<BLOCK> for Soft {
    fn parallel(&self) -> usize {
        TOGETHER
    }

    fn encrypt(&self, blocks: &mut [Block]) {
        transform_all(&self.encryption, blocks);
    }

    fn decrypt(&self, blocks: &mut [Block]) {
        transform_all(&self.decryption, blocks);
    }

    fn name(&self) -> &'static str {
        "soft"
    }
}

fn transform_all(schedule: &Schedule, blocks: &mut [Block]) {
    let (pairs, rest) = blocks.as_chunks_mut::<TOGETHER>();
    for pair in pairs {
        transform(schedule, pair);
    }
    for block in rest.as_chunks_mut::<1>().0 {
        transform(schedule, block);
    }
}

#[inline(always)]
fn transform<const N: usize>(schedule: &Schedule, blocks: &mut [Block; N]) {
    let half = |block: &Block, i: usize| u64::from_be_bytes(block.as_chunks().0[i]);
    let mut left: [u64; N] = std::array::from_fn(|i| half(&blocks[i], 0) ^ schedule.kw[0]);
    let mut right: [u64; N] = std::array::from_fn(|i| half(&blocks[i], 1) ^ schedule.kw[1]);
    let segments = schedule.k[..schedule.rounds].as_chunks::<SEGMENT>().0;
    for (segment, keys) in segments.iter().enumerate() {
        if segment > 0 {
            let ke = &schedule.ke[2 * segment - 2..];
            left = left.map(|half| fl(half, ke[0]));
            right = right.map(|half| fl_inverse(half, ke[1]));
        }
        for keys in keys.as_chunks::<2>().0 {
            for i in 0..N {
                right[i] ^= lookups(left[i] ^ keys[0]);
            }
            for i in 0..N {
                left[i] ^= lookups(right[i] ^ keys[1]);
            }
        }
    }
    for (i, block) in blocks.iter_mut().enumerate() {
        let halves = block.as_chunks_mut().0;
        halves[0] = (right[i] ^ schedule.kw[2]).to_be_bytes();
        halves[1] = (left[i] ^ schedule.kw[3]).to_be_bytes();
    }
}

/// P(S(x)).
#[inline(always)]
fn lookups(x: u64) -> u64 {
    let bytes = x.to_be_bytes();
    let word = |i: usize| SP[i][usize::from(bytes[i])];
    (word(0) ^ word(1)) ^ (word(2) ^ word(3)) ^ ((word(4) ^ word(5)) ^ (word(6) ^ word(7)))
}
