//! ChaCha12 and ChaCha20 with Bernstein's 64-bit counter, and HChaCha, over vectors of words: several blocks in
//! parallel.
//!
//! XChaCha (Bernstein, "Extending the Salsa20 nonce", 2011) derives a key from the first 16 bytes of a nonce, and
//! uses the last 8 bytes as the nonce with this key. Adiantum's nonce consists of a block, a 1, and zeros.

use super::BATCH;
use crate::kernel::{BLOCK, Block};
use crate::vector::Words;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::vector::{V128, Vector};

/// A 256-bit key as words, and the number of rounds.
#[derive(Clone, Copy, zeroize::Zeroize)]
pub(super) struct Key {
    words: [u32; 8],
    double_rounds: u32,
}

impl std::ops::Deref for Key {
    type Target = [u32; 8];

    fn deref(&self) -> &[u32; 8] {
        &self.words
    }
}

/// Size of a keystream block in bytes.
const STREAM_BLOCK: usize = 64;

/// "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// The lower half of the extended nonce's remaining bytes: a 1. The upper half is zero.
const NONCE_END: u32 = 1;

/// A 32-bit word of several blocks in parallel.
///
/// # Safety
/// Every unsafe function may use the whole instruction set of the implementing type. Call it only inside a function
/// that enables this instruction set by `target_feature`, after a check that the CPU supports it.
pub(super) trait Stream: Words {
    /// Blocks side by side: 1 to 8.
    const BLOCKS: usize = size_of::<Self>() / size_of::<u32>();

    /// A vector with the given word in each lane.
    unsafe fn word(word: u32) -> Self;
    /// XORs the keystream of the blocks, whose words are `words`, with [`Self::BLOCKS`] 64-byte blocks at `from`, and
    /// writes the result to `to`.
    unsafe fn xor_blocks(words: [Self; 16], from: *const u8, to: *mut u8);
}

/// The words of a 32-byte key, for the given number of rounds.
pub(super) fn words(key: &[u8], rounds: u32) -> Key {
    let words = key.as_chunks::<4>().0;
    let words = std::array::from_fn(|i| u32::from_le_bytes(words[i]));
    Key { words, double_rounds: rounds / 2 }
}

/// Maximum number of blocks that a vector processes in parallel.
const MOST_LANES: usize = 8;

/// Writes the keystream of a subkey with a nonce that ends in zeros, in portable Rust: the keys of the parts.
pub(super) fn derive(key: &Key, out: &mut [u8]) {
    out.fill(0);
    let to = out.as_mut_ptr();
    // SAFETY: single words need no special instructions, and the pointer comes from the slice.
    unsafe { add_stream::<u32>(key, [0, 0], to.cast_const(), to, out.len()) }
}

/// XORs the keystream of a subkey into a data unit.
///
/// # Safety
/// As for [`add_stream`].
#[inline(always)]
pub(super) unsafe fn stream<W: Stream>(key: &Key, from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe { add_stream::<W>(key, [NONCE_END, 0], from, to, len) }
}

/// XORs the keystream.
///
/// # Safety
/// As for the methods of [`Stream`]. `from` and `to` must be valid for `len` bytes, and equal or disjoint. A data
/// unit has at most 2^18 keystream blocks, so the counter's upper word stays zero.
#[inline(always)]
unsafe fn add_stream<W: Stream>(
    key: &Key,
    nonce: [u32; 2],
    mut from: *const u8,
    mut to: *mut u8,
    mut len: usize,
) {
    let mut first = 0;
    let group = W::BLOCKS * STREAM_BLOCK;
    // SAFETY: the caller guarantees the instruction set and the memory; no step uses more than `len` bytes. The rest
    // is processed in a buffer for one group.
    unsafe {
        while len >= group {
            W::xor_blocks(blocks::<W>(key, nonce, first), from, to);
            first += W::BLOCKS as u32;
            (from, to) = (from.add(group), to.add(group));
            len -= group;
        }
        if len > 0 {
            let mut rest = [0; MOST_LANES * STREAM_BLOCK];
            let start = rest.as_mut_ptr();
            from.copy_to_nonoverlapping(start, len);
            W::xor_blocks(blocks::<W>(key, nonce, first), start.cast_const(), start);
            to.copy_from_nonoverlapping(start, len);
        }
    }
}

/// [`Stream::BLOCKS`] blocks of the keystream, starting with the counter `first`.
///
/// # Safety
/// As for the methods of [`Stream`].
#[inline(always)]
unsafe fn blocks<W: Stream>(key: &Key, nonce: [u32; 2], first: u32) -> [W; 16] {
    let counters: [u32; MOST_LANES] = std::array::from_fn(|i| first + i as u32);
    // SAFETY: the caller guarantees the instruction set, and no vector has more than `MOST_LANES` words.
    unsafe {
        let counters: W = counters.as_ptr().cast::<W>().read_unaligned();
        let mut x = [counters; 16];
        for i in 0..4 {
            x[i] = W::word(CONSTANTS[i]);
            x[4 + i] = W::word(key[i]);
            x[8 + i] = W::word(key[4 + i]);
        }
        x[13] = W::word(0);
        x[14] = W::word(nonce[0]);
        x[15] = W::word(nonce[1]);
        x = rounds(x, key.double_rounds);
        for i in 0..4 {
            x[i] = x[i].add(W::word(CONSTANTS[i]));
            x[4 + i] = x[4 + i].add(W::word(key[i]));
            x[8 + i] = x[8 + i].add(W::word(key[4 + i]));
        }
        x[12] = x[12].add(counters);
        x[14] = x[14].add(W::word(nonce[0]));
        x[15] = x[15].add(W::word(nonce[1]));
        x
    }
}

/// HChaCha with the first 16 bytes of each nonce.
///
/// # Safety
/// As for the methods of [`Stream`].
#[inline(always)]
pub(super) unsafe fn subkeys<W: Stream>(key: &Key, nonces: &[Block; BATCH]) -> [Key; BATCH] {
    let mut found = [*key; BATCH];
    for start in (0..BATCH).step_by(W::BLOCKS) {
        let mut lanes = [[0; MOST_LANES]; 4];
        for (lane, nonce) in nonces[start..].iter().take(W::BLOCKS).enumerate() {
            for (word, bytes) in nonce.as_chunks::<{ BLOCK / 4 }>().0.iter().enumerate() {
                lanes[word][lane] = u32::from_le_bytes(*bytes);
            }
        }
        let mut out = [[0; MOST_LANES]; 8];
        // SAFETY: the caller guarantees the instruction set, and no vector has more than `MOST_LANES` words.
        unsafe {
            let mut x = [W::word(0); 16];
            for i in 0..4 {
                x[i] = W::word(CONSTANTS[i]);
                x[4 + i] = W::word(key[i]);
                x[8 + i] = W::word(key[4 + i]);
                x[12 + i] = lanes[i].as_ptr().cast::<W>().read_unaligned();
            }
            x = rounds(x, key.double_rounds);
            for i in 0..4 {
                out[i].as_mut_ptr().cast::<W>().write_unaligned(x[i]);
                out[4 + i].as_mut_ptr().cast::<W>().write_unaligned(x[12 + i]);
            }
        }
        for (lane, key) in found[start..].iter_mut().take(W::BLOCKS).enumerate() {
            key.words = std::array::from_fn(|word| out[word][lane]);
        }
    }
    found
}

/// A quarter round, with rotations by 16, 12, 8 and 7 bits.
macro_rules! quarter {
    ($x:ident, $a:literal $b:literal $c:literal $d:literal) => {
        $x[$a] = $x[$a].add($x[$b]);
        $x[$d] = $x[$d].xor($x[$a]).rotate::<16, 16>();
        $x[$c] = $x[$c].add($x[$d]);
        $x[$b] = $x[$b].xor($x[$c]).rotate::<12, 20>();
        $x[$a] = $x[$a].add($x[$b]);
        $x[$d] = $x[$d].xor($x[$a]).rotate::<8, 24>();
        $x[$c] = $x[$c].add($x[$d]);
        $x[$b] = $x[$b].xor($x[$c]).rotate::<7, 25>();
    };
}

/// All rounds, in pairs (columns, then diagonals), without the final addition of the input.
#[inline(always)]
fn rounds<W: Stream>(mut x: [W; 16], double_rounds: u32) -> [W; 16] {
    for _ in 0..double_rounds {
        quarter!(x, 0 4 8 12);
        quarter!(x, 1 5 9 13);
        quarter!(x, 2 6 10 14);
        quarter!(x, 3 7 11 15);
        quarter!(x, 0 5 10 15);
        quarter!(x, 1 6 11 12);
        quarter!(x, 2 7 8 13);
        quarter!(x, 3 4 9 14);
    }
    x
}

/// One block at a time, for CPUs without vectors.
impl Stream for u32 {
    #[inline(always)]
    unsafe fn word(word: u32) -> Self {
        word
    }

    #[inline(always)]
    unsafe fn xor_blocks(words: [Self; 16], from: *const u8, to: *mut u8) {
        for (index, word) in words.into_iter().enumerate() {
            // SAFETY: by the trait's contract, both pointers are valid for 64 bytes.
            unsafe {
                let old = u32::from_le_bytes(from.add(4 * index).cast::<[u8; 4]>().read());
                to.add(4 * index).cast::<[u8; 4]>().write((old ^ word).to_le_bytes());
            }
        }
    }
}

/// Four blocks side by side.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl Stream for V128 {
    #[inline(always)]
    unsafe fn word(word: u32) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self::splat(word) }
    }

    #[inline(always)]
    unsafe fn xor_blocks(words: [Self; 16], from: *const u8, to: *mut u8) {
        for quarter in 0..4 {
            let columns = [0, 1, 2, 3].map(|i| words[4 * quarter + i]);
            for (block, row) in Self::transpose(columns).into_iter().enumerate() {
                let at = 64 * block + 16 * quarter;
                // SAFETY: by the trait's contract, both pointers are valid for four 64-byte blocks.
                unsafe { (Self::load(from.add(at)) ^ row).store(to.add(at)) };
            }
        }
    }
}
