//! Vectors of bytes: what the byte-sliced kernels of Camellia and Kuznyechik do with them, on x86 and on ARM.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
pub(super) use neon::V128;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::V256;

/// A look-up table of 16 entries, twice, as vectors of two lanes read it.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Table(pub(super) [[u8; 16]; 2]);

impl Table {
    pub(super) const fn new(entries: [u8; 16]) -> Self {
        Self([entries; 2])
    }
}

/// A vector of bytes in lanes of 16.
///
/// # Safety
/// Every method may use the whole instruction set of the implementing type. Call it only inside a
/// function that enables that set by `target_feature`, after a check that the CPU has it.
pub(super) trait Bytes: Copy {
    /// Lanes of 16 bytes.
    const LANES: usize;

    /// Reads a vector; `from` must be valid for reads of its size.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes a vector; `to` must be valid for writes of its size.
    unsafe fn store(self, to: *mut u8);
    /// Sixteen bytes in every lane.
    unsafe fn lanes(bytes: &[u8; 16]) -> Self;
    /// [`Self::lanes`] of a table that lies there twice.
    unsafe fn table(table: &Table) -> Self;
    /// One byte everywhere.
    unsafe fn splat(byte: u8) -> Self;
    /// A word of four bytes everywhere.
    unsafe fn splat_word(word: u32) -> Self;

    /// a + b in GF(2).
    unsafe fn xor(self, other: Self) -> Self;
    /// The low and the high nibbles.
    unsafe fn split(self) -> [Self; 2];
    /// The entries of a table in every lane that `self` selects by its bytes: below 16 an entry; from 0x80 on zero; in between
    /// zero or that of the low nibble.
    unsafe fn look_up(self, table: Self) -> Self;
    /// Sums modulo 256.
    unsafe fn add(self, other: Self) -> Self;
    /// Sums of at most 255.
    unsafe fn add_saturating(self, other: Self) -> Self;
    /// Differences modulo 256.
    unsafe fn sub(self, other: Self) -> Self;
    /// The lesser of each two.
    unsafe fn min(self, other: Self) -> Self;
    /// The bytes of the lower halves of each lane in turn, those of `self` first.
    unsafe fn interleave_low(self, other: Self) -> Self;
    /// Likewise of the upper halves.
    unsafe fn interleave_high(self, other: Self) -> Self;

    /// A linear function of each byte: the sum of what the low and the high nibble give.
    #[inline(always)]
    unsafe fn map(self, low: Self, high: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            let nibbles = self.split();
            nibbles[0].look_up(low).xor(nibbles[1].look_up(high))
        }
    }
}

/// Transposes the 16 x 16 bytes of each lane: byte b of vector v becomes byte v of vector b.
///
/// A byte's position consists of vector and index, 4 bits each; each step rotates these 8 bits by one.
///
/// # Safety
/// As for [`Bytes`].
#[inline(always)]
pub(super) unsafe fn transpose<V: Bytes>(x: [V; 16]) -> [V; 16] {
    // SAFETY: the caller's promise.
    unsafe { step(step(step(step(x)))) }
}

/// # Safety
/// As for [`Bytes`].
#[inline(always)]
unsafe fn step<V: Bytes>(x: [V; 16]) -> [V; 16] {
    let [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7] = x;
    // Unrolled by hand: the compiler might keep a loop, whose registers would then lie in memory.
    // SAFETY: the caller's promise.
    unsafe {
        [
            a0.interleave_low(b0),
            a0.interleave_high(b0),
            a1.interleave_low(b1),
            a1.interleave_high(b1),
            a2.interleave_low(b2),
            a2.interleave_high(b2),
            a3.interleave_low(b3),
            a3.interleave_high(b3),
            a4.interleave_low(b4),
            a4.interleave_high(b4),
            a5.interleave_low(b5),
            a5.interleave_high(b5),
            a6.interleave_low(b6),
            a6.interleave_high(b6),
            a7.interleave_low(b7),
            a7.interleave_high(b7),
        ]
    }
}
