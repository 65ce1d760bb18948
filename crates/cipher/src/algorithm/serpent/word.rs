//! The word interface of the cipher: the same bit operations on 32-bit words side by side.

use std::ops::{BitAnd, BitOr, BitXor};

use super::boxes;

/// One of the four words of each block, for one or more blocks, in bitslice order.
///
/// The operations are safe although some need more than the baseline's instructions: a type for
/// such an instruction set has no safe constructor, so its values exist only where the set does.
pub(super) trait Word:
    Copy + BitXor<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self>
{
    /// A word of a round key, in the form that this type adds at the lowest cost.
    type Key: Copy + Default;

    /// The bits of `self` that are not in `other`.
    fn and_not(self, other: Self) -> Self;

    /// `self` plus a key word in every lane.
    fn add_key(self, key: &Self::Key) -> Self;

    /// Every lane shifted left.
    fn shift_left<const BITS: i32>(self) -> Self;

    /// Every lane rotated left by `LEFT`; `RIGHT` must be `32 - LEFT`.
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self;

    /// a + b + c, in one instruction if the set has it.
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self ^ b ^ c
    }

    /// S-box `BOX` without its constant: `S(x) + S(0)`, which maps 0 to 0.
    #[inline(always)]
    fn substitute<const BOX: usize>(x: [Self; 4]) -> [Self; 4] {
        boxes::forward::<Self, BOX>(x)
    }

    /// The inverse of [`Self::substitute`].
    #[inline(always)]
    fn substitute_back<const BOX: usize>(x: [Self; 4]) -> [Self; 4] {
        boxes::backward::<Self, BOX>(x)
    }
}

impl Word for u32 {
    type Key = u32;

    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        self & !other
    }

    #[inline(always)]
    fn add_key(self, key: &u32) -> Self {
        self ^ key
    }

    #[inline(always)]
    fn shift_left<const BITS: i32>(self) -> Self {
        self << BITS
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        self << LEFT | self >> RIGHT
    }
}
