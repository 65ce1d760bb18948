//! The portable kernel: bitsliced, in constant time, with the vectors of the baseline instruction set.
//!
//! On x86-64 a word is a 128-bit SSE2 vector, which every such CPU supports. On other CPUs and in Miri, it is a
//! `u32`.

use super::rounds::{Group, decrypt, encrypt};
use super::schedule::Schedule;
use crate::kernel::{BLOCK, Block, BlockKernel, Visit, tell};

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::vector::V128 as Lanes;
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
type Lanes = u32;

/// Words in a vector.
const LANES: usize = size_of::<Lanes>() / size_of::<u32>();

/// Serpent with a key, for the portable kernel.
pub(super) struct Soft(Box<Schedule>);

impl Soft {
    /// `key` must have at most 32 bytes.
    pub(super) fn new(key: &[u8]) -> Self {
        Self(Box::new(Schedule::new(key)))
    }

    /// Applies `cipher` to groups of blocks, and pads the last group with zeros.
    fn each_group(blocks: &mut [Block], cipher: impl Fn(&mut Group<Lanes>)) {
        for blocks in blocks.chunks_mut(LANES) {
            let mut words = [[0; LANES]; 4];
            for (lane, block) in blocks.iter().enumerate() {
                for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
                    word[lane] = u32::from_le_bytes(*bytes);
                }
            }
            // SAFETY: both types have the same number of bytes, and every byte value is valid; the vectors belong to
            // the baseline instruction set.
            let mut group: Group<Lanes> = unsafe { std::mem::transmute(words) };
            cipher(&mut group);
            // SAFETY: as above.
            words = unsafe { std::mem::transmute::<Group<Lanes>, [[u32; LANES]; 4]>(group) };
            for (lane, block) in blocks.iter_mut().enumerate() {
                for (word, bytes) in words.iter().zip(block.as_chunks_mut().0) {
                    *bytes = word[lane].to_le_bytes();
                }
            }
        }
    }
}

impl BlockKernel<BLOCK> for Soft {
    fn parallel(&self) -> usize {
        LANES
    }

    fn encrypt(&self, blocks: &mut [Block]) {
        let keys = &self.0.0;
        Self::each_group(blocks, |group| encrypt(std::array::from_mut(group), keys));
    }

    fn decrypt(&self, blocks: &mut [Block]) {
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
impl super::word::Word for Lanes {
    type Key = u32;

    #[inline(always)]
    fn add_key(self, key: &u32) -> Self {
        // SAFETY: x86-64 always has SSE2.
        self ^ unsafe { <Self as crate::vector::Vector>::splat(*key) }
    }
}
