//! The instruction set interface of the byte-sliced kernel: a vector of 32-bit words, one per
//! block.

use zeroize::Zeroize;

use crate::kernel::Block;

/// Words side by side in one register, each from a different block. As a plane, the register holds
/// one byte each of four times as many blocks.
///
/// # Safety
/// Every method may use the whole instruction set of the implementing type. Call it only inside a
/// function that enables that set by `target_feature`, after a check that the CPU has it.
pub(super) trait Vector: Copy + Send + Sync + 'static {
    /// 32-bit words in the vector: blocks in four vectors of text.
    const LANES: usize;

    /// An 8-bit S-box in the form that [`Self::substitute`] takes.
    type Table: Default + Zeroize + Send + Sync;

    /// Fills a table from the S-box's 256 values.
    fn arrange(sbox: &[u8; 256], table: &mut Self::Table);

    /// Reads a vector; `from` must be valid for reads of its size.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes a vector; `to` must be valid for writes of its size.
    unsafe fn store(self, to: *mut u8);
    /// One word in every lane.
    unsafe fn splat(word: u32) -> Self;

    /// Sum of each word.
    unsafe fn add(self, other: Self) -> Self;
    /// a + b in GF(2).
    unsafe fn xor(self, other: Self) -> Self;
    /// a + b + c in GF(2), in one instruction if the set has it.
    unsafe fn xor3(self, b: Self, c: Self) -> Self;
    /// Each word rotated left by one bit.
    unsafe fn rotate_left(self) -> Self;
    /// Each word rotated right by one bit.
    unsafe fn rotate_right(self) -> Self;

    /// Transposes the words of four vectors within each 128-bit lane: converts the text of `LANES`
    /// blocks to their first, second, third and fourth words, and back. Word `i` then belongs to
    /// block `LANES / 4 * (i % 4) + i / 4`.
    unsafe fn transpose(v: [Self; 4]) -> [Self; 4];
    /// Converts words to planes of their bytes, lowest first. The order of the blocks is arbitrary.
    unsafe fn to_planes(words: [Self; 4]) -> [Self; 4];
    /// The inverse of [`Self::to_planes`].
    unsafe fn to_words(planes: [Self; 4]) -> [Self; 4];

    /// Looks up each byte of two planes.
    unsafe fn substitute(table: &Self::Table, x: [Self; 2]) -> [Self; 2];
    /// The MDS matrix times the column of each block.
    unsafe fn mds(planes: [Self; 4]) -> [Self; 4];

    /// The masks of `LANES` blocks from the first of them, as words in the order of
    /// [`Self::transpose`]: block `j` has `tweak * x^j`.
    unsafe fn first_masks(tweak: &Block) -> [Self; 4];
    /// The masks of the next `LANES` blocks: each one times `x^LANES`.
    unsafe fn next_masks(masks: [Self; 4]) -> [Self; 4];
}

/// The words of a block.
#[inline(always)]
pub(super) fn split(block: &Block) -> [u32; 4] {
    let words = block.as_chunks::<4>().0;
    let word = |i: usize| u32::from_le_bytes(words[i]);
    [word(0), word(1), word(2), word(3)]
}

/// The MDS matrix times the column of each block, from each plane's products with 5B and EF.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn mds<V: Vector>([a, b, c, d]: [V; 4], products: [[V; 2]; 4]) -> [V; 4] {
    let [[a5, ae], [b5, be], [c5, ce], [d5, de]] = products;
    // SAFETY: the caller's promise.
    unsafe {
        [
            a.xor(be).xor(c5.xor(d5)),
            a5.xor(be).xor(ce.xor(d)),
            ae.xor(b5).xor(c.xor(de)),
            ae.xor(b).xor(ce.xor(d5)),
        ]
    }
}
