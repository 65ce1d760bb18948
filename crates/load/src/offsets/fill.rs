//! Offsets that cover a part of an extent completely, in one or more passes.

use std::ops::Range;

use super::{IoRequest, OffsetGenerator, Shuffle, splitmix};
use crate::Operation;

/// Every byte from `start` to `end` once per pass, in large blocks; the last block may be shorter.
#[derive(Clone, Copy)]
pub(crate) struct FillOffsets {
    block: u32,
    start: u64,
    end: u64,
    passes: u32,
    /// Number of blocks per pass, including the short last block.
    blocks: u64,
    /// The shuffle of each pass, and the seed for the order of each pass; ascending order if `None`.
    order: Option<(Shuffle, u64)>,
}

impl FillOffsets {
    /// One pass in ascending order.
    pub(crate) fn sequential(block: u32, part: Range<u64>) -> Self {
        Self::passes(block, part, 1, None)
    }

    /// Offsets for this number of passes. With a seed, each pass has its own random order. `block` must not be zero.
    pub(crate) fn passes(block: u32, part: Range<u64>, passes: u32, seed: Option<u64>) -> Self {
        let blocks = part.end.saturating_sub(part.start).div_ceil(u64::from(block)).max(1);
        let order = seed.map(|seed| (Shuffle::new(blocks), seed));
        Self { block, start: part.start, end: part.end, passes, blocks, order }
    }
}

impl OffsetGenerator for FillOffsets {
    #[inline]
    fn request(&self, index: u64) -> Option<IoRequest> {
        let pass = index / self.blocks;
        if pass >= u64::from(self.passes) {
            return None;
        }
        let number = index % self.blocks;
        let number = match &self.order {
            Some((shuffle, seed)) => shuffle.at(splitmix(*seed, pass), number),
            None => number,
        };
        let offset = number.checked_mul(u64::from(self.block))?.checked_add(self.start)?;
        let left = self.end.checked_sub(offset).filter(|&left| left > 0)?;
        let len = u64::from(self.block).min(left) as u32;
        Some(IoRequest { operation: Operation::Write, offset, len })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_fill_covers_every_byte_once(
            block in 1u32..100_000,
            start in 0u64..5_000_000,
            len in 1u64..5_000_000,
        ) {
            let p = FillOffsets::sequential(block, start..start + len);
            let mut end = start;
            for i in 0.. {
                let Some(request) = p.request(i) else { break };
                prop_assert_eq!(request.offset, end);
                prop_assert!(request.len > 0);
                end += u64::from(request.len);
            }
            prop_assert_eq!(end, start + len);
            prop_assert!(p.request(u64::MAX).is_none());
        }

        #[test]
        fn each_random_pass_covers_every_byte_once(
            block in 1u32..3000, start in 0u64..5000, len in 1u64..100_000, seed: u64,
        ) {
            let p = FillOffsets::passes(block, start..start + len, 3, Some(seed));
            let blocks = len.div_ceil(u64::from(block));
            for pass in 0..3 {
                let mut offsets: Vec<_> =
                    (0..blocks).map(|i| p.request(pass * blocks + i).unwrap()).collect();
                offsets.sort_by_key(|p| p.offset);
                let mut end = start;
                for request in offsets {
                    prop_assert_eq!(request.offset, end);
                    end += u64::from(request.len);
                }
                prop_assert_eq!(end, start + len);
            }
            prop_assert!(p.request(3 * blocks).is_none());
        }
    }
}
