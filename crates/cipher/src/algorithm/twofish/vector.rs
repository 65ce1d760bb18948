//! The interface between the byte-sliced kernel and instruction sets: a vector of 32-bit words, one per block.

use zeroize::Zeroize;

use super::spec::multiply_mds;
use crate::isa::Isa;
use crate::kernel::Block;
use crate::vector::{Bytes, Vector};

/// Twofish on an instruction set.
pub(super) trait Kernel: Isa {
    /// Name of the kernel, as stored in records.
    const NAME: &'static str;

    /// The vector of the instruction set.
    type Vector: Planes;
}

/// Several words in one register, each from a different block. As a plane, the register contains one byte from each
/// of four times as many blocks.
///
/// # Safety
/// As for [`Vector`].
pub(super) trait Planes: Vector {
    /// Number of 32-bit words, and therefore of blocks, in four vectors of text. After [`Vector::transpose`], word
    /// `i` belongs to block `LANES * (i % 4) + i / 4`.
    const WORDS: usize = 4 * Self::LANES;

    /// An 8-bit S-box in the form required by [`Self::substitute`].
    type Table: Default + Zeroize + Send + Sync;

    /// Fills a table from the S-box's 256 values.
    fn arrange(sbox: &[u8; 256], table: &mut Self::Table);

    /// Converts words to planes of their bytes, the lowest byte first. The order of the blocks is arbitrary.
    unsafe fn to_planes(words: [Self; 4]) -> [Self; 4];
    /// The inverse of [`Self::to_planes`].
    unsafe fn to_words(planes: [Self; 4]) -> [Self; 4];

    /// Looks up each byte of two planes.
    unsafe fn substitute(table: &Self::Table, x: [Self; 2]) -> [Self; 2];
    /// The MDS matrix, multiplied by the column of each block.
    unsafe fn mds(planes: [Self; 4]) -> [Self; 4];

    /// Multiplies the block of each word by x to the power given in `up`, which is at most 16.
    unsafe fn times_power(words: [Self; 4], up: Self) -> [Self; 4];
}

/// The masks of `WORDS` blocks, computed from the first mask, as words in the order of
/// [`Vector::transpose`]: block `j` has `tweak * x^j`.
///
/// # Safety
/// As for [`Planes`].
#[inline(always)]
pub(super) unsafe fn first_masks<V: Planes>(tweak: &Block) -> [V; 4] {
    let powers = const { powers(V::LANES) };
    let words = tweak.as_chunks::<4>().0;
    let word = |i: usize| u32::from_le_bytes(words[i]);
    // SAFETY: guaranteed by the caller; a vector has at most 16 words.
    unsafe {
        let tweak = [V::splat(word(0)), V::splat(word(1)), V::splat(word(2)), V::splat(word(3))];
        V::times_power(tweak, V::load(powers.as_ptr().cast()))
    }
}

/// The power of x in each word of the first masks.
const fn powers(lanes: usize) -> [u32; 16] {
    assert!(lanes <= 4, "a vector has at most 16 words");
    let mut powers = [0; 16];
    let mut i = 0;
    while i < 16 {
        powers[i] = (lanes * (i % 4) + i / 4) as u32;
        i += 1;
    }
    powers
}

/// The masks of the next `WORDS` blocks: each mask times `x^WORDS`.
///
/// # Safety
/// As for [`Planes`].
#[inline(always)]
pub(super) unsafe fn next_masks<V: Planes>(masks: [V; 4]) -> [V; 4] {
    // SAFETY: guaranteed by the caller.
    unsafe { V::times_power(masks, V::splat(V::WORDS as u32)) }
}

/// [`Planes::times_power`], given the words shifted left by the powers, and the bits that were shifted out.
#[inline(always)]
pub(super) fn with_carries<V: Vector>([a, b, c, d]: [V; 4], [ae, be, ce, de]: [V; 4]) -> [V; 4] {
    // The carry times x^7 + x^2 + x + 1, to which x^128 reduces, still fits in a word.
    let reduced = de.xor(de.shift_left::<1>()).xor(de.shift_left::<2>().xor(de.shift_left::<7>()));
    [a ^ reduced, b | ae, c | be, d | ce]
}

/// [`Planes::mds`], with nibble look-ups.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn mds<V: Bytes>([a, b, c, d]: [V; 4]) -> [V; 4] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let [a5, ae] = products(a);
        let [b5, be] = products(b);
        let [c5, ce] = products(c);
        let [d5, de] = products(d);
        [
            a.xor(be).xor(c5.xor(d5)),
            a5.xor(be).xor(ce.xor(d)),
            ae.xor(b5).xor(c.xor(de)),
            ae.xor(b).xor(ce.xor(d5)),
        ]
    }
}

/// The products 5B y and EF y for each byte y of a plane.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn products<V: Bytes>(y: V) -> [V; 2] {
    let mut out = [y; 2];
    for (out, [low, high]) in out.iter_mut().zip(&PRODUCTS) {
        // SAFETY: guaranteed by the caller.
        *out = unsafe { y.map(V::lanes(low), V::lanes(high)) };
    }
    out
}

/// Products of the low and the high nibble with 5B and EF, the constants of the MDS matrix.
static PRODUCTS: [[Block; 2]; 2] = [nibble_products(0x5B), nibble_products(0xEF)];

const fn nibble_products(factor: u8) -> [Block; 2] {
    let mut products = [[0; 16]; 2];
    let mut n = 0;
    while n < 16 {
        products[0][n] = multiply_mds(factor, n as u8);
        products[1][n] = multiply_mds(factor, (n as u8) << 4);
        n += 1;
    }
    products
}
