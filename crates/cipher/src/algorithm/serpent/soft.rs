//! The portable kernel: bitsliced, in constant time, in the baseline's vectors.
//!
//! On x86-64 a word is a 128-bit SSE2 vector, which every such CPU has. On other CPUs and in Miri
//! it is a plain `u32`.

use super::rounds::{Group, decrypt, encrypt};
use super::schedule::Schedule;
use crate::kernel::{Block, BlockCipher, Visit, tell};
use lanes::{LANES, Lanes};

/// Serpent keyed for the portable kernel.
pub(super) struct Soft(Box<Schedule>);

impl Soft {
    /// `key` must be of at most 32 bytes.
    pub(super) fn new(key: &[u8]) -> Self {
        Self(Box::new(Schedule::new(key)))
    }

    /// Runs `cipher` over groups of blocks and pads the last one with zeros.
    fn each_group(blocks: &mut [Block], cipher: impl Fn(&mut Group<Lanes>)) {
        for blocks in blocks.chunks_mut(LANES) {
            let mut group: Group<Lanes> = std::array::from_fn(|word| {
                lanes::new(std::array::from_fn(|lane| {
                    blocks
                        .get(lane)
                        .map_or(0, |block| u32::from_le_bytes(block.as_chunks().0[word]))
                }))
            });
            cipher(&mut group);
            for (word, lanes) in group.into_iter().enumerate() {
                for (block, value) in blocks.iter_mut().zip(lanes::get(lanes)) {
                    block.as_chunks_mut().0[word] = value.to_le_bytes();
                }
            }
        }
    }
}

impl BlockCipher for Soft {
    const PARALLEL: usize = LANES;

    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        let keys = &self.0.0;
        Self::each_group(blocks, |group| encrypt(std::array::from_mut(group), keys));
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        let keys = &self.0.0;
        Self::each_group(blocks, |group| decrypt(std::array::from_mut(group), keys));
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.0, visit);
    }

    fn name(&self) -> &'static str {
        "soft"
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod lanes {
    use std::arch::x86_64::*;
    use std::ops::{BitAnd, BitOr, BitXor};

    use super::super::word::Word;

    pub(super) const LANES: usize = 4;

    /// Four words.
    #[derive(Clone, Copy)]
    pub(super) struct Lanes(__m128i);

    /// An expression of SSE2 intrinsics.
    macro_rules! sse2 {
        ($expression:expr) => {
            // SAFETY: x86-64 always has SSE2.
            unsafe { $expression }
        };
    }

    #[inline(always)]
    pub(super) fn new(words: [u32; 4]) -> Lanes {
        let [a, b, c, d] = words.map(u32::cast_signed);
        Lanes(sse2!(_mm_setr_epi32(a, b, c, d)))
    }

    #[inline(always)]
    pub(super) fn get(lanes: Lanes) -> [u32; 4] {
        // SAFETY: both are 16 bytes without invalid values.
        unsafe { std::mem::transmute(lanes.0) }
    }

    impl BitXor for Lanes {
        type Output = Self;
        #[inline(always)]
        fn bitxor(self, other: Self) -> Self {
            Self(sse2!(_mm_xor_si128(self.0, other.0)))
        }
    }

    impl BitAnd for Lanes {
        type Output = Self;
        #[inline(always)]
        fn bitand(self, other: Self) -> Self {
            Self(sse2!(_mm_and_si128(self.0, other.0)))
        }
    }

    impl BitOr for Lanes {
        type Output = Self;
        #[inline(always)]
        fn bitor(self, other: Self) -> Self {
            Self(sse2!(_mm_or_si128(self.0, other.0)))
        }
    }

    impl Word for Lanes {
        type Key = u32;

        #[inline(always)]
        fn and_not(self, other: Self) -> Self {
            Self(sse2!(_mm_andnot_si128(other.0, self.0)))
        }

        #[inline(always)]
        fn add_key(self, key: &u32) -> Self {
            self ^ Self(sse2!(_mm_set1_epi32(key.cast_signed())))
        }

        #[inline(always)]
        fn shift_left<const BITS: i32>(self) -> Self {
            Self(sse2!(_mm_slli_epi32::<BITS>(self.0)))
        }

        #[inline(always)]
        fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
            let left = sse2!(_mm_slli_epi32::<LEFT>(self.0));
            let right = sse2!(_mm_srli_epi32::<RIGHT>(self.0));
            Self(sse2!(_mm_or_si128(left, right)))
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod lanes {
    pub(super) const LANES: usize = 1;

    pub(super) type Lanes = u32;

    #[inline(always)]
    pub(super) fn new([word]: [u32; 1]) -> Lanes {
        word
    }

    #[inline(always)]
    pub(super) fn get(lanes: Lanes) -> [u32; 1] {
        [lanes]
    }
}
