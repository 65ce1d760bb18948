//! The block of each request: a pure function of the seed and the request number.
//!
//! Random offsets come from SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA
//! 2014), whose n-th output is a hash of seed and n, so that threads can share one sequence, and all engines use the
//! same offsets.

mod fill;
mod pattern;
mod shuffle;
mod zipf;

pub(crate) use self::fill::FillOffsets;
pub(crate) use self::pattern::JobOffsets;
pub(crate) use self::shuffle::Shuffle;
use crate::Operation;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64.
#[inline]
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The `n`-th output (counted from 0) of SplitMix64 with this seed.
#[inline]
pub(crate) const fn splitmix(seed: u64, n: u64) -> u64 {
    mix(seed.wrapping_add(GOLDEN.wrapping_mul(n.wrapping_add(1))))
}

/// Maps 64 random bits to `0..n` (Lemire: Fast Random Integer Generation in an Interval, 2019,
/// without the rejection step: the bias is below n / 2^64).
#[inline]
fn below(random: u64, n: u64) -> u64 {
    ((u128::from(random) * u128::from(n)) >> 64) as u64
}

/// One request: its operation, and its offset in bytes from the start of the extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IoRequest {
    pub(crate) operation: Operation,
    pub(crate) offset: u64,
    pub(crate) len: u32,
}

/// The requests of a job in order; `None` after the last.
pub(crate) trait OffsetGenerator: Copy + Send + 'static {
    fn request(&self, index: u64) -> Option<IoRequest>;
}

/// One thread's share of a sequence: the request with index `part` out of every `of` consecutive requests.
#[derive(Clone, Copy)]
pub(crate) struct Share<P> {
    pub(crate) offsets: P,
    pub(crate) part: u32,
    pub(crate) of: u32,
}

impl<P: OffsetGenerator> OffsetGenerator for Share<P> {
    #[inline]
    fn request(&self, index: u64) -> Option<IoRequest> {
        let index = index.checked_mul(u64::from(self.of))?.checked_add(u64::from(self.part))?;
        self.offsets.request(index)
    }
}

/// A sequence that starts at the request with number `first`.
#[derive(Clone, Copy)]
pub(crate) struct From<P> {
    pub(crate) offsets: P,
    pub(crate) first: u64,
}

impl<P: OffsetGenerator> OffsetGenerator for From<P> {
    #[inline]
    fn request(&self, index: u64) -> Option<IoRequest> {
        self.offsets.request(self.first.checked_add(index)?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        fn shares_partition_the_sequence(of in 1u32..9, len in 1u64..100) {
            let offsets = FillOffsets::sequential(512, 0..len * 512);
            let mut seen = Vec::new();
            for part in 0..of {
                let share = Share { offsets, part, of };
                seen.extend((0..).map_while(|k| share.request(k)).map(|p| p.offset / 512));
            }
            seen.sort_unstable();
            prop_assert!(seen.into_iter().eq(0..len));
        }
    }
}
