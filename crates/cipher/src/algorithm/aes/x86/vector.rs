//! What the fused XTS kernel asks of an instruction set: a vector of whole cipher blocks.

use super::keys::WideKey;

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

    /// A round of the cipher.
    unsafe fn enc(self, key: Self) -> Self;
    /// The last round of the cipher.
    unsafe fn enc_last(self, key: Self) -> Self;
    /// A round of the equivalent inverse cipher.
    unsafe fn dec(self, key: Self) -> Self;
    /// The last round of the equivalent inverse cipher.
    unsafe fn dec_last(self, key: Self) -> Self;

    /// The masks of a unit's first `GROUP * BLOCKS` blocks, from the first of them: block `j` of the
    /// group is `tweak * x^j`.
    unsafe fn first_masks(tweak: &[u8; 16]) -> [Self; GROUP];
    /// Each block times `x^(GROUP * BLOCKS)`: the same place in the next group.
    unsafe fn next_group(self) -> Self;
}
