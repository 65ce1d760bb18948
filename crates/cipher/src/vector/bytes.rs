//! Vectors of bytes: the operations of the byte-sliced kernels of Camellia, Kuznyechik and Twofish.

use super::Vector;

/// A look-up table of 16 entries, repeated for vectors of two lanes.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct Table(pub(crate) [[u8; 16]; 2]);

impl Table {
    pub(crate) const fn new(entries: [u8; 16]) -> Self {
        Self([entries; 2])
    }
}

/// A vector of bytes with look-ups and arithmetic.
///
/// # Safety
/// As for [`Vector`].
pub(crate) trait Bytes: Vector {
    /// [`Vector::lanes`] of a table that is already stored twice.
    unsafe fn table(table: &Table) -> Self;
    /// One byte everywhere.
    unsafe fn splat_byte(byte: u8) -> Self;

    /// The low and the high nibbles of each byte.
    fn split(self) -> [Self; 2];
    /// The entries of `table` that the bytes of `self` select in each lane. A byte below 16 selects an entry, and a
    /// byte of 0x80 or more selects zero. A byte in between selects zero or the entry for its low nibble.
    fn look_up(self, table: Self) -> Self;
    /// Sums modulo 256.
    fn add_bytes(self, other: Self) -> Self;
    /// Sums of at most 255.
    fn add_saturating(self, other: Self) -> Self;
    /// Differences modulo 256.
    fn sub_bytes(self, other: Self) -> Self;
    /// The lesser of each two.
    fn min(self, other: Self) -> Self;

    /// A linear function of each byte: the sum of the contributions of the low and the high nibble.
    #[inline(always)]
    fn map(self, low: Self, high: Self) -> Self {
        let nibbles = self.split();
        nibbles[0].look_up(low) ^ nibbles[1].look_up(high)
    }
}

/// Transposes the 16 × 16 bytes of each lane: byte b of vector v becomes byte v of vector b.
///
/// The position of a byte consists of the vector's number and the byte's index, with 4 bits each; each step rotates
/// these 8 bits by one.
#[inline(always)]
pub(crate) fn transpose_bytes<V: Vector>(x: [V; 16]) -> [V; 16] {
    step(step(step(step(x))))
}

#[inline(always)]
#[rustfmt::skip]
fn step<V: Vector>(x: [V; 16]) -> [V; 16] {
    let [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7] = x;
    // Unrolled by hand: if the compiler kept a loop, the vectors would be stored in memory.
    [
        a0.interleave_low(b0), a0.interleave_high(b0), a1.interleave_low(b1), a1.interleave_high(b1),
        a2.interleave_low(b2), a2.interleave_high(b2), a3.interleave_low(b3), a3.interleave_high(b3),
        a4.interleave_low(b4), a4.interleave_high(b4), a5.interleave_low(b5), a5.interleave_high(b5),
        a6.interleave_low(b6), a6.interleave_high(b6), a7.interleave_low(b7), a7.interleave_high(b7),
    ]
}
