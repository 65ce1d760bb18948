//! Which block each request goes to: a pure function of seed and request number.
//!
//! Random places come from SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
//! Generators, OOPSLA 2014), whose n-th output is a hash of seed and n: threads can share one
//! sequence through a counter, and both engines visit the same places.

use crate::{Job, Pattern};

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64.
#[inline]
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The `n`-th output (from 0) of SplitMix64 seeded with `seed`.
#[inline]
pub(crate) const fn splitmix(seed: u64, n: u64) -> u64 {
    mix(seed.wrapping_add(GOLDEN.wrapping_mul(n.wrapping_add(1))))
}

/// One request's place, in bytes from the start of the extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) len: u32,
}

/// A sequence of places; `None` past its end.
pub(crate) trait Places: Copy + Send + 'static {
    fn place(&self, index: u64) -> Option<Place>;
}

/// The endless places of a job.
#[derive(Clone, Copy)]
pub(crate) struct JobPlaces {
    pattern: Pattern,
    seed: u64,
    block: u32,
    blocks: u64,
    start: u64,
}

impl JobPlaces {
    /// `job` has been checked against an extent of `len` bytes.
    pub(crate) fn new(job: &Job, len: u64) -> Self {
        let blocks = len / job.block_size;
        Self {
            pattern: job.pattern,
            seed: job.seed,
            block: job.block_size as u32,
            blocks,
            start: below(mix(job.seed), blocks),
        }
    }
}

impl Places for JobPlaces {
    #[inline]
    fn place(&self, index: u64) -> Option<Place> {
        let block = match self.pattern {
            Pattern::Sequential => (self.start + index % self.blocks) % self.blocks,
            Pattern::Random => below(splitmix(self.seed, index), self.blocks),
        };
        Some(Place { offset: block * u64::from(self.block), len: self.block })
    }
}

/// Maps 64 random bits to `0..n` (Lemire: Fast Random Integer Generation in an Interval, 2019,
/// without the rejection step: the bias is below n / 2^64).
#[inline]
fn below(random: u64, n: u64) -> u64 {
    ((u128::from(random) * u128::from(n)) >> 64) as u64
}

/// Every byte from `start` to `end` once, in large blocks; the last one may be shorter.
#[derive(Clone, Copy)]
pub(crate) struct FillPlaces {
    pub(crate) block: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Places for FillPlaces {
    #[inline]
    fn place(&self, index: u64) -> Option<Place> {
        let offset = index.checked_mul(u64::from(self.block))?.checked_add(self.start)?;
        let left = self.end.checked_sub(offset).filter(|&left| left > 0)?;
        let len = u64::from(self.block).min(left) as u32;
        Some(Place { offset, len })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::Operation;

    fn job(pattern: Pattern, block_size: u64, seed: u64) -> Job {
        Job {
            operation: Operation::Read,
            pattern,
            block_size,
            queue_depth: 1,
            ramp: Duration::ZERO,
            duration: Duration::ZERO,
            seed,
            generation: 0,
        }
    }

    /// Known answers of the reference splitmix64.c (Vigna) for seed 1234567.
    #[test]
    fn splitmix_matches_the_reference() {
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        for (n, e) in expected.into_iter().enumerate() {
            assert_eq!(splitmix(1_234_567, n as u64), e);
        }
    }

    proptest! {
        #[test]
        fn places_repeat_and_stay_inside(
            seed: u64, sectors in 1u64..4096, extra in 0u64..100_000_000, start: u64,
            random: bool,
        ) {
            let pattern = if random { Pattern::Random } else { Pattern::Sequential };
            let block = sectors * 512;
            let len = block + extra;
            let a = JobPlaces::new(&job(pattern, block, seed), len);
            let b = JobPlaces::new(&job(pattern, block, seed), len);
            for i in (0..64).map(|i| start.wrapping_add(i)) {
                let p = a.place(i).unwrap();
                prop_assert_eq!(p, b.place(i).unwrap());
                prop_assert_eq!(p.offset % block, 0);
                prop_assert!(p.offset + u64::from(p.len) <= len);
            }
        }

        #[test]
        fn a_sequential_pass_covers_every_block_once(seed: u64, blocks in 1u64..600) {
            let p = JobPlaces::new(&job(Pattern::Sequential, 4096, seed), blocks * 4096 + 511);
            let mut seen = vec![0u32; blocks as usize];
            let mut last: Option<u64> = None;
            for i in 0..blocks {
                let block = p.place(i).unwrap().offset / 4096;
                if let Some(last) = last {
                    prop_assert_eq!(block, (last + 1) % blocks);
                }
                last = Some(block);
                seen[block as usize] += 1;
            }
            prop_assert!(seen.iter().all(|&n| n == 1));
        }

        #[test]
        fn a_fill_covers_every_byte_once(
            block in 1u32..100_000,
            start in 0u64..5_000_000,
            len in 1u64..5_000_000,
        ) {
            let p = FillPlaces { block, start, end: start + len };
            let mut end = start;
            for i in 0.. {
                let Some(place) = p.place(i) else { break };
                prop_assert_eq!(place.offset, end);
                prop_assert!(place.len > 0);
                end += u64::from(place.len);
            }
            prop_assert_eq!(end, start + len);
            prop_assert!(p.place(u64::MAX).is_none());
        }
    }

    /// Chi-squared over 64 blocks, 64,000 draws: 63 degrees of freedom, 99.99 % quantile 113.
    #[test]
    fn random_places_are_uniform() {
        for seed in 0..8 {
            let p = JobPlaces::new(&job(Pattern::Random, 4096, seed), 64 * 4096);
            let mut seen = [0f64; 64];
            for i in 0..64_000 {
                seen[(p.place(i).unwrap().offset / 4096) as usize] += 1.0;
            }
            let chi2: f64 = seen.iter().map(|n| (n - 1000.0).powi(2) / 1000.0).sum();
            assert!(chi2 < 113.0, "seed {seed}: {chi2}");
        }
    }

    #[test]
    fn other_seeds_go_elsewhere() {
        for pattern in [Pattern::Random, Pattern::Sequential] {
            let a = JobPlaces::new(&job(pattern, 4096, 1), 1 << 40);
            let b = JobPlaces::new(&job(pattern, 4096, 2), 1 << 40);
            assert_ne!(a.place(0), b.place(0));
        }
    }
}
