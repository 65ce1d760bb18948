//! The interface between the hashes and instruction sets: parallel words. Includes the implementation for single
//! words.

#[cfg(target_arch = "x86_64")]
pub(super) mod x86;

/// Maximum number of words in a vector.
pub(super) const MOST: usize = 16;

/// The same word of several independent hashes, one in each lane of a vector.
///
/// Rotation and shift counts are ordinary arguments, but every caller passes a constant, which becomes part of the
/// instruction after inlining.
///
/// # Safety
/// Every method may use the whole instruction set of the implementing type. Call it only inside a function that
/// enables this instruction set by `target_feature`, after a check that the CPU supports it.
pub(crate) trait Lanes: Copy {
    /// The value in a lane.
    type Word: Copy + Default;
    /// Number of lanes in the vector, at most [`MOST`].
    const LANES: usize;

    /// `word` in every lane.
    unsafe fn splat(word: Self::Word) -> Self;
    /// Lane `i` from `words[i]`.
    unsafe fn load(words: &[Self::Word; MOST]) -> Self;
    /// Lane `i` to `words[i]`.
    unsafe fn store(self, words: &mut [Self::Word; MOST]);

    /// x + y in each lane, modulo the word size.
    unsafe fn add(self, y: Self) -> Self;
    /// x ^ y.
    unsafe fn xor(self, y: Self) -> Self;
    /// x ^ y ^ z.
    unsafe fn xor3(self, y: Self, z: Self) -> Self;
    /// Rotation to the right by `count` bits.
    unsafe fn ror(self, count: u32) -> Self;
    /// Logical shift to the right by `count` bits.
    unsafe fn shr(self, count: u32) -> Self;
    /// Bits of y where the bits of self are 1, and bits of z elsewhere.
    unsafe fn choose(self, y: Self, z: Self) -> Self;
    /// The majority of each bit.
    unsafe fn majority(self, y: Self, z: Self) -> Self;
    /// (x | !y) ^ z.
    unsafe fn or_not_xor(self, y: Self, z: Self) -> Self;

    /// Returns the vector unchanged and hides its value from the compiler. Otherwise the compiler would reorder sums
    /// so that the values that become available last are added first, which delays the whole round.
    unsafe fn pin(self) -> Self;
}

/// One word, in portable Rust.
macro_rules! scalar {
    ($word:ty) => {
        impl Lanes for $word {
            type Word = $word;
            const LANES: usize = 1;

            #[inline(always)]
            unsafe fn splat(word: $word) -> Self {
                word
            }
            #[inline(always)]
            unsafe fn load(words: &[$word; MOST]) -> Self {
                words[0]
            }
            #[inline(always)]
            unsafe fn store(self, words: &mut [$word; MOST]) {
                words[0] = self;
            }
            #[inline(always)]
            unsafe fn add(self, y: Self) -> Self {
                self.wrapping_add(y)
            }
            #[inline(always)]
            unsafe fn xor(self, y: Self) -> Self {
                self ^ y
            }
            #[inline(always)]
            unsafe fn xor3(self, y: Self, z: Self) -> Self {
                self ^ y ^ z
            }
            #[inline(always)]
            unsafe fn ror(self, count: u32) -> Self {
                self.rotate_right(count)
            }
            #[inline(always)]
            unsafe fn shr(self, count: u32) -> Self {
                self >> count
            }
            #[inline(always)]
            unsafe fn choose(self, y: Self, z: Self) -> Self {
                z ^ (self & (y ^ z))
            }
            #[inline(always)]
            unsafe fn majority(self, y: Self, z: Self) -> Self {
                // y ^ z is the next round's x ^ y, so the compiler can reuse it.
                ((self ^ y) & (y ^ z)) ^ y
            }
            #[inline(always)]
            unsafe fn or_not_xor(self, y: Self, z: Self) -> Self {
                (self | !y) ^ z
            }
            #[inline(always)]
            unsafe fn pin(self) -> Self {
                self
            }
        }
    };
}

scalar!(u32);
scalar!(u64);
