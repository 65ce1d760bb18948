//! The interface between the cipher and words: the same bit operations on parallel 32-bit words.

use super::boxes;
use crate::vector::Words;

/// One of the four words of one or more blocks, in bitslice order.
pub(super) trait Word: Words {
    /// A word of a round key, in the form that this type can add at the lowest cost.
    type Key: Copy + Default + From<u32>;

    /// `self` plus a key word in every lane.
    fn add_key(self, key: &Self::Key) -> Self;

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
    fn add_key(self, key: &u32) -> Self {
        self ^ key
    }
}

/// A key word in every lane, which can be added to a vector directly from memory.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[derive(Clone, Copy, Default, zeroize::Zeroize)]
#[cfg_attr(target_arch = "x86_64", repr(C, align(32)))]
#[cfg_attr(target_arch = "aarch64", repr(C, align(16)))]
pub(super) struct WideKey(pub(super) [u32; WideKey::LANES]);

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl WideKey {
    const LANES: usize = if cfg!(target_arch = "x86_64") { 8 } else { 4 };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl From<u32> for WideKey {
    fn from(word: u32) -> Self {
        Self([word; Self::LANES])
    }
}
