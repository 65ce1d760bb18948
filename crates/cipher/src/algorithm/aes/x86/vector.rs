//! What the fused XTS kernel asks of an instruction set: a vector of whole cipher blocks.

use super::keys::WideKey;
use crate::kernel::Block;

/// Vectors that are in flight together: AES rounds have a latency of 3 to 5 cycles at 1 to 2 a cycle.
pub(super) const GROUP: usize = 8;

/// Some cipher blocks side by side in one register.
///
/// # Safety
/// Every method may use the whole instruction set of the implementing type. It must be called only
/// inside a function that enables that set by `target_feature`, after the CPU was found to have it.
pub(super) trait Vector: Copy {
    /// Cipher blocks in the vector.
    const BLOCKS: usize;

    /// Reads a vector; `from` must be valid for reads of its size.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes a vector; `to` must be valid for writes of its size.
    unsafe fn store(self, to: *mut u8);
    /// Reads `blocks < BLOCKS` blocks, the rest zero; `from` must be valid for so many.
    unsafe fn load_part(from: *const u8, blocks: usize) -> Self;
    /// Writes the first `blocks < BLOCKS` blocks; `to` must be valid for so many.
    unsafe fn store_part(self, to: *mut u8, blocks: usize);
    /// A round key in every block.
    unsafe fn key(key: &WideKey) -> Self;

    /// a + b.
    unsafe fn xor(self, other: Self) -> Self;
    /// a + b + c, one instruction where there is one.
    unsafe fn xor3(self, b: Self, c: Self) -> Self;

    /// The vector itself, which must be there by now: the compiler may not move its computation down
    /// to where it is used, since it is there to fill the gaps of other work.
    unsafe fn pin(self) -> Self;

    /// A round of the cipher.
    unsafe fn enc(self, key: Self) -> Self;
    /// The last round of the cipher.
    unsafe fn enc_last(self, key: Self) -> Self;
    /// A round of the equivalent inverse cipher.
    unsafe fn dec(self, key: Self) -> Self;
    /// The last round of the equivalent inverse cipher.
    unsafe fn dec_last(self, key: Self) -> Self;

    /// A block in every block.
    unsafe fn broadcast(block: &Block) -> Self;
    /// The masks of a unit's first group: block `i` of vector `j` is `tweak * x^(BLOCKS j + i)`. `tweak`
    /// is in every block; `before` has the vectors before the `j`th, `j < GROUP`.
    unsafe fn first_mask(j: usize, tweak: Self, before: &[Self; GROUP]) -> Self;
    /// Each block times `x^(GROUP * BLOCKS)`: the same place in the next group.
    unsafe fn next_group(self) -> Self;
}
