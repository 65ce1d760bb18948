//! Bit planes of the portable kernel: parallel 64-bit words in the vectors of the baseline instruction set.
//!
//! On x86-64 a plane is a 128-bit SSE2 vector, which every such CPU supports. On other CPUs and in Miri, it is a
//! single word.

use std::ops::{BitAnd, BitXor, Not};

/// 64-bit words in a plane.
pub(super) const LANES: usize = if cfg!(all(target_arch = "x86_64", not(miri))) { 2 } else { 1 };

/// One bit plane. Rotations apply to each word separately.
#[derive(Clone, Copy)]
pub(super) struct Plane(words::Words);

impl Plane {
    /// A plane with the given word in each lane.
    #[inline(always)]
    pub(super) fn splat(word: u64) -> Self {
        Self(words::from_lanes([word; LANES]))
    }

    #[inline(always)]
    pub(super) fn from_lanes(lanes: [u64; LANES]) -> Self {
        Self(words::from_lanes(lanes))
    }

    #[inline(always)]
    pub(super) fn to_lanes(self) -> [u64; LANES] {
        words::to_lanes(self.0)
    }

    /// Each word shifted left; `BITS < 64`.
    #[inline(always)]
    pub(super) fn shift_left<const BITS: i32>(self) -> Self {
        Self(words::shift_left::<BITS>(self.0))
    }

    /// Each word shifted right; `BITS < 64`.
    #[inline(always)]
    pub(super) fn shift_right<const BITS: i32>(self) -> Self {
        Self(words::shift_right::<BITS>(self.0))
    }

    /// Each word rotated right by 16.
    #[inline(always)]
    pub(super) fn rotate_16(self) -> Self {
        Self(words::rotate_16(self.0))
    }

    /// Each word rotated by 32.
    #[inline(always)]
    pub(super) fn rotate_32(self) -> Self {
        Self(words::rotate_32(self.0))
    }

    /// Each 16-bit field of each word rotated right by `RIGHT`; `LEFT` must be `16 - RIGHT`.
    #[inline(always)]
    pub(super) fn rotate_fields<const RIGHT: i32, const LEFT: i32>(self) -> Self {
        Self(words::rotate_fields::<RIGHT, LEFT>(self.0))
    }
}

impl BitXor for Plane {
    type Output = Self;
    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(words::xor(self.0, other.0))
    }
}

impl BitAnd for Plane {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(words::and(self.0, other.0))
    }
}

impl Not for Plane {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        self ^ Self::splat(u64::MAX)
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod words {
    use std::arch::x86_64::*;

    pub(super) type Words = __m128i;

    /// Evaluates intrinsics of the baseline.
    macro_rules! sse2 {
        ($value:expr) => {{
            // SAFETY: SSE2 is in the baseline of x86-64, and no argument is a pointer.
            unsafe { $value }
        }};
    }

    #[inline(always)]
    pub(super) fn from_lanes([low, high]: [u64; 2]) -> Words {
        sse2!(_mm_set_epi64x(high.cast_signed(), low.cast_signed()))
    }

    #[inline(always)]
    pub(super) fn to_lanes(x: Words) -> [u64; 2] {
        let (low, high) =
            sse2!((_mm_cvtsi128_si64(x), _mm_cvtsi128_si64(_mm_unpackhi_epi64(x, x))));
        [low.cast_unsigned(), high.cast_unsigned()]
    }

    #[inline(always)]
    pub(super) fn xor(a: Words, b: Words) -> Words {
        sse2!(_mm_xor_si128(a, b))
    }

    #[inline(always)]
    pub(super) fn and(a: Words, b: Words) -> Words {
        sse2!(_mm_and_si128(a, b))
    }

    #[inline(always)]
    pub(super) fn shift_left<const BITS: i32>(x: Words) -> Words {
        sse2!(_mm_slli_epi64::<BITS>(x))
    }

    #[inline(always)]
    pub(super) fn shift_right<const BITS: i32>(x: Words) -> Words {
        sse2!(_mm_srli_epi64::<BITS>(x))
    }

    #[inline(always)]
    pub(super) fn rotate_16(x: Words) -> Words {
        sse2!(_mm_shufflehi_epi16::<0b00_11_10_01>(_mm_shufflelo_epi16::<0b00_11_10_01>(x)))
    }

    #[inline(always)]
    pub(super) fn rotate_32(x: Words) -> Words {
        sse2!(_mm_shuffle_epi32::<0b10_11_00_01>(x))
    }

    #[inline(always)]
    pub(super) fn rotate_fields<const RIGHT: i32, const LEFT: i32>(x: Words) -> Words {
        sse2!(_mm_or_si128(_mm_srli_epi16::<RIGHT>(x), _mm_slli_epi16::<LEFT>(x)))
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod words {
    pub(super) type Words = u64;

    #[inline(always)]
    pub(super) fn from_lanes([word]: [u64; 1]) -> Words {
        word
    }

    #[inline(always)]
    pub(super) fn to_lanes(x: Words) -> [u64; 1] {
        [x]
    }

    #[inline(always)]
    pub(super) fn xor(a: Words, b: Words) -> Words {
        a ^ b
    }

    #[inline(always)]
    pub(super) fn and(a: Words, b: Words) -> Words {
        a & b
    }

    #[inline(always)]
    pub(super) fn shift_left<const BITS: i32>(x: Words) -> Words {
        x << BITS
    }

    #[inline(always)]
    pub(super) fn shift_right<const BITS: i32>(x: Words) -> Words {
        x >> BITS
    }

    #[inline(always)]
    pub(super) fn rotate_16(x: Words) -> Words {
        x.rotate_right(16)
    }

    #[inline(always)]
    pub(super) fn rotate_32(x: Words) -> Words {
        x.rotate_right(32)
    }

    #[inline(always)]
    pub(super) fn rotate_fields<const RIGHT: i32, const LEFT: i32>(x: Words) -> Words {
        // The bits of each field that stay within the field in a right shift, and those that do so in a left shift.
        let right = 0x0001_0001_0001_0001 * (0xffff >> RIGHT);
        let left = 0x0001_0001_0001_0001 * (0xffff & (0xffff << LEFT));
        (x >> RIGHT & right) | (x << LEFT & left)
    }
}
