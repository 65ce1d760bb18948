//! The instruction set interface of the kernels: vectors of 32-bit words and of whole blocks.

use zeroize::Zeroize;

use super::rounds::{Group, RoundKeys};
use super::word::Word;
use crate::cpu::Tier;
use crate::kernel::Block;

/// Groups in flight together. A single group waits for its chain of dependent operations, which
/// takes about as long as issuing the operations of two groups.
pub(super) const GROUPS: usize = 2;

/// Vectors of a group: each block has four words.
pub(super) const VECTORS: usize = 4;

/// A vector of 32-bit words, which holds whole blocks on the way in and out.
pub(super) trait Vector: Word {
    /// Blocks in a vector of whole blocks; a group has four times as many.
    const BLOCKS: usize;

    /// Reads a vector.
    ///
    /// # Safety
    /// The CPU must have the instruction set, and `from` must be valid for reads of a vector.
    unsafe fn load(from: *const u8) -> Self;

    /// Writes a vector.
    ///
    /// # Safety
    /// `to` must be valid for writes of a vector.
    unsafe fn store(self, to: *mut u8);

    /// Converts four vectors of blocks to the words of a group, and back: in each 128-bit lane,
    /// word `i` of vector `j` and word `j` of vector `i` swap places.
    fn transpose(vectors: [Self; VECTORS]) -> Group<Self>;

    /// The masks of a unit, starting with `tweak`: block `k` of vector `j < 8` is `tweak *
    /// x^(BLOCKS j + k)`.
    ///
    /// # Safety
    /// The CPU must have the instruction set.
    unsafe fn masks(tweak: u128) -> [Self; GROUPS * VECTORS];
}

/// Proof that the CPU has an instruction set, and the kernels compiled for it.
pub(super) trait Isa: Copy + Send + Sync + 'static {
    type Vector: Vector<Key: Zeroize + Send + Sync>;

    /// Name of the kernel, as stored in records.
    const NAME: &'static str;

    /// The instruction set, if `tier` allows it and the CPU has all of it.
    fn new(tier: Tier) -> Option<Self>;

    /// A key word in the form that the vector adds.
    fn key(word: u32) -> <Self::Vector as Word>::Key;

    /// Encrypts or decrypts whole batches of `GROUPS` groups in place.
    fn batches<const ENCRYPT: bool>(self, keys: &RoundKeys<Self::Vector>, blocks: &mut [Block]);

    /// Transforms a unit between two maskings with the tweak sequence that starts with `tweak`.
    ///
    /// # Safety
    /// `src` and `dst` must be valid for `blocks` blocks, and equal or disjoint. `blocks` must be a
    /// multiple of a batch.
    unsafe fn unit<const ENCRYPT: bool>(
        self,
        keys: &RoundKeys<Self::Vector>,
        tweak: u128,
        src: *const u8,
        dst: *mut u8,
        blocks: usize,
    );
}
