//! The instruction set interface of the fused XTS kernel: a vector of whole cipher blocks.

use super::keys::WideKey;
use crate::kernel::Block;

/// Vectors in flight together: AES rounds have a latency of 3 to 5 cycles, at 1 to 2 rounds per
/// cycle.
pub(super) const GROUP: usize = 8;

/// Cipher blocks side by side in one register.
///
/// # Safety
/// Every method may use the whole instruction set of the implementing type. Call it only inside a
/// function that enables that set by `target_feature`, after a check that the CPU has it.
pub(super) trait Vector: Copy {
    /// Cipher blocks in the vector.
    const BLOCKS: usize;

    /// Reads a vector; `from` must be valid for reads of its size.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes a vector; `to` must be valid for writes of its size.
    unsafe fn store(self, to: *mut u8);
    /// Reads `blocks < BLOCKS` blocks and zeroes the rest; `from` must be valid for that many.
    unsafe fn load_part(from: *const u8, blocks: usize) -> Self;
    /// Writes the first `blocks < BLOCKS` blocks; `to` must be valid for that many.
    unsafe fn store_part(self, to: *mut u8, blocks: usize);
    /// Loads a round key into every block.
    unsafe fn key(key: &WideKey) -> Self;

    /// a + b.
    unsafe fn xor(self, other: Self) -> Self;
    /// a + b + c, in one instruction if the set has it.
    unsafe fn xor3(self, b: Self, c: Self) -> Self;

    /// Returns the vector unchanged and forces its computation to happen here. The compiler would
    /// otherwise move it down to its use, although its purpose is to fill the gaps of other work.
    unsafe fn pin(self) -> Self;

    /// A round of the cipher.
    unsafe fn enc(self, key: Self) -> Self;
    /// The last round of the cipher.
    unsafe fn enc_last(self, key: Self) -> Self;
    /// A round of the equivalent inverse cipher.
    unsafe fn dec(self, key: Self) -> Self;
    /// The last round of the equivalent inverse cipher.
    unsafe fn dec_last(self, key: Self) -> Self;

    /// Copies a block into every block of the vector.
    unsafe fn broadcast(block: &Block) -> Self;
    /// The masks of a unit's first group: block `i` of vector `j` is `tweak * x^(BLOCKS j + i)`.
    /// Every block of `tweak` holds the tweak; `before` holds the vectors before the `j`th, with `j
    /// < GROUP`.
    unsafe fn first_mask(j: usize, tweak: Self, before: &[Self; GROUP]) -> Self;
    /// Multiplies each block by `x^(GROUP * BLOCKS)`, which gives the same position in the next
    /// group.
    unsafe fn next_group(self) -> Self;
}
