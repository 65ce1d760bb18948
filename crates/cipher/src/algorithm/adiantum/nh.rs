//! NH with four passes (RFC 4418, 5.2.2, with the words of each pair two positions apart): sums of products of 32-bit
//! words, after a word of the key has been added to each.
//!
//! For each 16-byte piece, a pass adds two products: of words 0 and 2, and of words 1 and 3. Each pass begins one
//! piece later in the key.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::kernel::{BLOCK, Block};

/// Number of passes; each produces a 64-bit number.
pub(super) const PASSES: usize = 4;

/// The longest message in bytes.
pub(super) const MOST: usize = 1024;

/// Pieces of the key.
const PIECES: usize = MOST / BLOCK + PASSES - 1;

/// Bytes of the key.
pub(super) const KEY_BYTES: usize = PIECES * BLOCK;

/// The key.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct NhKey {
    pub(super) words: [[u32; 4]; PIECES],
    /// Words 0 and 1 of each piece in 64-bit lanes, as needed by the multiplications of x86.
    #[cfg(target_arch = "x86_64")]
    pub(super) first: [[u64; 2]; PIECES],
    /// Words 2 and 3 of each piece.
    #[cfg(target_arch = "x86_64")]
    pub(super) second: [[u64; 2]; PIECES],
}

impl Default for NhKey {
    fn default() -> Self {
        Self {
            words: [[0; 4]; PIECES],
            #[cfg(target_arch = "x86_64")]
            first: [[0; 2]; PIECES],
            #[cfg(target_arch = "x86_64")]
            second: [[0; 2]; PIECES],
        }
    }
}

impl NhKey {
    /// Sets the key to [`KEY_BYTES`] bytes.
    pub(super) fn set(&mut self, bytes: &[u8]) {
        for (index, piece) in bytes.as_chunks::<BLOCK>().0.iter().enumerate() {
            self.words[index] = words(piece);
            #[cfg(target_arch = "x86_64")]
            {
                let [a, b, c, d] = self.words[index].map(u64::from);
                (self.first[index], self.second[index]) = ([a, b], [c, d]);
            }
        }
    }
}

fn words(piece: &Block) -> [u32; 4] {
    let words = piece.as_chunks::<4>().0;
    std::array::from_fn(|i| u32::from_le_bytes(words[i]))
}

/// Adds the part after the first `done` pieces of a message to the sums, in portable Rust. The last piece is
/// padded with zeros.
#[inline(always)]
pub(super) fn rest(
    key: &NhKey,
    message: &[u8],
    done: usize,
    mut sums: [u64; PASSES],
) -> [u64; PASSES] {
    let (pieces, short) = message.as_chunks::<BLOCK>();
    for (index, piece) in pieces.iter().enumerate().skip(done) {
        add(key, index, piece, &mut sums);
    }
    if !short.is_empty() {
        let mut piece = [0; BLOCK];
        piece[..short.len()].copy_from_slice(short);
        add(key, pieces.len(), &piece, &mut sums);
    }
    sums
}

/// Adds a piece to the sum of each pass.
#[inline(always)]
fn add(key: &NhKey, index: usize, piece: &Block, sums: &mut [u64; PASSES]) {
    let message = words(piece);
    for (pass, sum) in sums.iter_mut().enumerate() {
        let key = key.words[index + pass];
        let word = |i: usize| u64::from(message[i].wrapping_add(key[i]));
        *sum = sum.wrapping_add(word(0) * word(2)).wrapping_add(word(1) * word(3));
    }
}
