//! The offsets of a job, for each pattern.

use super::zipf::Zipf;
use super::{IoRequest, OffsetGenerator, Shuffle, below, mix, splitmix};
use crate::{Amount, Direction, Job, Operation, Pattern, Start};

/// Makes the random choice between reads and writes independent of the random choice of offsets.
const DIRECTIONS: u64 = 0x6469_7265_6374_696f;

/// Makes the positions of popular blocks independent of the random ranks.
const SCATTER: u64 = 0x7363_6174_7465_7221;

/// The offsets of a job: an endless sequence, or as many offsets as [`Amount::Bytes`] requires.
#[derive(Clone, Copy)]
pub(crate) struct JobOffsets {
    walk: Walk,
    direction: Direction,
    seed: u64,
    block: u32,
    blocks: u64,
    /// Number of requests; `u64::MAX` for a timed job.
    requests: u64,
}

/// The order of blocks. `start` is a position within a pass.
#[derive(Clone, Copy)]
enum Walk {
    Sequential { start: u64 },
    Random,
    Zipf(Zipf, Shuffle),
    Permutation(Shuffle),
    Backward { start: u64 },
    Strided { start: u64, stride: u64 },
    Same { block: u64 },
    Sampled { start: u64, points: u64, run: u64 },
}

impl JobOffsets {
    /// `job` must have been checked against an extent of `len` bytes.
    pub(crate) fn new(job: &Job, len: u64) -> Self {
        let blocks = len / job.block_size;
        let start = |of: u64| match job.start {
            Start::Seeded => below(mix(job.seed), of),
            Start::First => 0,
        };
        let walk = match job.pattern {
            Pattern::Sequential => Walk::Sequential { start: start(blocks) },
            Pattern::Random => Walk::Random,
            Pattern::Zipf { theta } => Walk::Zipf(Zipf::new(blocks, theta), Shuffle::new(blocks)),
            Pattern::Permutation => Walk::Permutation(Shuffle::new(blocks)),
            Pattern::Backward => Walk::Backward { start: start(blocks) },
            Pattern::Strided { stride } => {
                Walk::Strided { start: start(blocks), stride: u64::from(stride) }
            }
            Pattern::Same => Walk::Same { block: start(blocks) },
            Pattern::Sampled { points, run } => {
                let (points, run) = (u64::from(points), u64::from(run));
                Walk::Sampled { start: start(points) * run, points, run }
            }
        };
        let requests = match job.amount {
            Amount::Time { .. } => u64::MAX,
            Amount::Bytes(bytes) => bytes.div_ceil(job.block_size),
        };
        let (direction, seed, block) = (job.direction, job.seed, job.block_size as u32);
        Self { walk, direction, seed, block, blocks, requests }
    }

    #[inline]
    fn block(&self, index: u64) -> u64 {
        let blocks = self.blocks;
        match &self.walk {
            Walk::Sequential { start } => wrapped(*start, index, blocks),
            Walk::Random => below(splitmix(self.seed, index), blocks),
            Walk::Zipf(zipf, scatter) => {
                let rank = zipf.rank(splitmix(self.seed, index));
                scatter.at(self.seed ^ SCATTER, rank - 1)
            }
            Walk::Permutation(shuffle) => {
                shuffle.at(splitmix(self.seed, index / blocks), index % blocks)
            }
            Walk::Backward { start } => blocks - 1 - wrapped(*start, index, blocks),
            Walk::Strided { start, stride } => {
                strided(wrapped(*start, index, blocks), *stride, blocks)
            }
            Walk::Same { block } => *block,
            Walk::Sampled { start, points, run } => {
                let at = wrapped(*start, index, points * run);
                let point = u128::from(at / run) * u128::from(blocks) / u128::from(*points);
                point as u64 + at % run
            }
        }
    }

    #[inline]
    fn operation(&self, index: u64) -> Operation {
        match self.direction {
            Direction::Read => Operation::Read,
            Direction::Write => Operation::Write,
            Direction::Mixed { read_percent } => {
                let reads = below(splitmix(self.seed ^ DIRECTIONS, index), 100);
                if reads < u64::from(read_percent) { Operation::Read } else { Operation::Write }
            }
        }
    }
}

/// The position `index` steps after `start` (below `n`) on a circle of `n`.
#[inline]
fn wrapped(start: u64, index: u64, n: u64) -> u64 {
    let at = start + index % n;
    if at >= n { at - n } else { at }
}

/// The block at a position of a strided pass. The pass visits one residue after another; the first residues have one
/// block more if the number of blocks is not a multiple of the stride.
#[inline]
fn strided(at: u64, stride: u64, blocks: u64) -> u64 {
    let (short, longer) = (blocks / stride, blocks % stride);
    let head = longer * (short + 1);
    if at < head {
        at / (short + 1) + at % (short + 1) * stride
    } else {
        longer + (at - head) / short + (at - head) % short * stride
    }
}

impl OffsetGenerator for JobOffsets {
    #[inline]
    fn request(&self, index: u64) -> Option<IoRequest> {
        if index >= self.requests {
            return None;
        }
        let offset = self.block(index) * u64::from(self.block);
        Some(IoRequest { operation: self.operation(index), offset, len: self.block })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn job(pattern: Pattern, block_size: u64, seed: u64) -> Job {
        Job { seed, ..Job::new(Operation::Read, pattern, block_size, 1) }
    }

    /// The block numbers of the first `n` requests.
    fn blocks(job: &Job, len: u64, n: u64) -> Vec<u64> {
        let p = JobOffsets::new(job, len);
        (0..n).map(|i| p.request(i).unwrap().offset / job.block_size).collect()
    }

    fn patterns() -> impl Strategy<Value = Pattern> {
        prop_oneof![
            Just(Pattern::Sequential),
            Just(Pattern::Random),
            (0.01f64..3.0).prop_map(|theta| Pattern::Zipf { theta }),
            Just(Pattern::Permutation),
            Just(Pattern::Backward),
            (2u32..5000).prop_map(|stride| Pattern::Strided { stride }),
            Just(Pattern::Same),
        ]
    }

    proptest! {
        #[test]
        fn places_repeat_and_stay_inside(
            seed: u64, sectors in 1u64..4096, extra in 0u64..100_000_000, first: u64,
            pattern in patterns(),
        ) {
            let block = sectors * 512;
            let len = block + extra;
            let a = JobOffsets::new(&job(pattern, block, seed), len);
            let b = JobOffsets::new(&job(pattern, block, seed), len);
            for i in (0..64).map(|i| (first >> 1) + i) {
                let p = a.request(i).unwrap();
                prop_assert_eq!(p, b.request(i).unwrap());
                prop_assert_eq!(p.offset % block, 0);
                prop_assert!(p.offset + u64::from(p.len) <= len);
            }
        }

        #[test]
        fn each_pass_covers_every_block_once(
            seed: u64, n in 1u64..600, first: bool, stride in 2u32..700, which in 0usize..4,
        ) {
            let pattern = [
                Pattern::Sequential,
                Pattern::Backward,
                Pattern::Permutation,
                Pattern::Strided { stride },
            ][which];
            let start = if first { Start::First } else { Start::Seeded };
            let job = Job { start, ..job(pattern, 4096, seed) };
            let seen = blocks(&job, n * 4096 + 511, 3 * n);
            for pass in seen.chunks(n as usize) {
                let mut pass = pass.to_vec();
                pass.sort_unstable();
                prop_assert!(pass.into_iter().eq(0..n));
            }
        }

        #[test]
        fn sequences_step_as_they_say(seed: u64, n in 2u64..600, stride in 2u64..50) {
            let forward = blocks(&job(Pattern::Sequential, 4096, seed), n * 4096, 2 * n);
            prop_assert!(forward.windows(2).all(|w| w[1] == (w[0] + 1) % n));
            let back = blocks(&job(Pattern::Backward, 4096, seed), n * 4096, 2 * n);
            prop_assert!(back.windows(2).all(|w| w[0] == (w[1] + 1) % n));
            let strided = job(Pattern::Strided { stride: stride as u32 }, 4096, seed);
            let strides = blocks(&strided, n * 4096, 2 * n);
            for w in strides.windows(2) {
                // The first block of the next residue; after the last residue, of the first one.
                let residue = (w[0] % stride + 1) % stride.min(n);
                let next = if w[0] + stride < n { w[0] + stride } else { residue };
                prop_assert_eq!(w[1], next);
            }
            let same = blocks(&job(Pattern::Same, 4096, seed), n * 4096, 2 * n);
            prop_assert!(same.iter().all(|&b| b == same[0]));
        }

        #[test]
        fn samples_are_runs_at_even_distances(
            seed: u64, points in 1u32..40, run in 1u32..9, extra in 0u64..5000, first: bool,
        ) {
            let n = u64::from(points * run) + extra;
            let start = if first { Start::First } else { Start::Seeded };
            let job = Job { start, ..job(Pattern::Sampled { points, run }, 512, seed) };
            let one = u64::from(points * run);
            let seen = blocks(&job, n * 512, 2 * one);
            prop_assert_eq!(&seen[..one as usize], &seen[one as usize..]);
            let mut pass = seen[..one as usize].to_vec();
            pass.sort_unstable();
            for (k, run_of) in pass.chunks(run as usize).enumerate() {
                prop_assert_eq!(run_of[0], k as u64 * n / u64::from(points));
                prop_assert!(run_of.windows(2).all(|w| w[1] == w[0] + 1));
            }
            pass.dedup();
            prop_assert_eq!(pass.len() as u64, one, "visits no block twice");
            if first {
                prop_assert_eq!(seen[0], 0);
                prop_assert!(seen[..one as usize].is_sorted());
            }
        }

        #[test]
        fn bytes_end_after_whole_requests(bytes in 1u64..100_000, sectors in 1u64..9) {
            let amount = Amount::Bytes(bytes);
            let job = Job { amount, ..job(Pattern::Random, sectors * 512, 1) };
            let p = JobOffsets::new(&job, 1 << 20);
            let requests = bytes.div_ceil(sectors * 512);
            prop_assert!(p.request(requests - 1).is_some());
            prop_assert!(p.request(requests).is_none());
        }
    }

    #[test]
    fn the_first_start_is_the_beginning() {
        let first = |pattern| {
            let job = Job { start: Start::First, ..job(pattern, 4096, 77) };
            blocks(&job, 10 * 4096, 12)
        };
        assert_eq!(first(Pattern::Sequential), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
        assert_eq!(first(Pattern::Backward), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 9, 8]);
        assert_eq!(
            first(Pattern::Strided { stride: 4 }),
            [0, 4, 8, 1, 5, 9, 2, 6, 3, 7, 0, 4],
            "residue after residue"
        );
        assert_eq!(first(Pattern::Same), [0; 12]);
        assert_eq!(first(Pattern::Sampled { points: 2, run: 2 })[..5], [0, 1, 5, 6, 0]);
    }

    /// Chi-squared over 64 blocks, 64,000 draws: 63 degrees of freedom, 99.99 % quantile 113.
    #[test]
    fn random_places_are_uniform() {
        for seed in 0..8 {
            let mut seen = [0f64; 64];
            for block in blocks(&job(Pattern::Random, 4096, seed), 64 * 4096, 64_000) {
                seen[block as usize] += 1.0;
            }
            let chi2: f64 = seen.iter().map(|n| (n - 1000.0).powi(2) / 1000.0).sum();
            assert!(chi2 < 113.0, "seed {seed}: {chi2}");
        }
    }

    /// Checks the share of the most popular block, and that this block can be anywhere.
    #[test]
    fn popularity_is_scattered() {
        let mut tops = std::collections::BTreeSet::new();
        for seed in 0..20 {
            let mut seen = [0u32; 1000];
            for block in blocks(&job(Pattern::Zipf { theta: 1.0 }, 512, seed), 512_000, 20_000) {
                seen[block as usize] += 1;
            }
            let (top, count) = seen.iter().enumerate().max_by_key(|(_, n)| **n).unwrap();
            // Expected: 1 / H(1000) of the draws, which is 2,672 with a standard deviation of 48.
            assert!((2_400..2_950).contains(count), "{count}");
            tops.insert(top);
        }
        assert!(tops.len() > 15, "{tops:?}");
    }

    #[test]
    fn permutation_passes_differ_and_so_do_seeds() {
        let seen = blocks(&job(Pattern::Permutation, 512, 5), 512 * 100, 200);
        assert_ne!(seen[..100], seen[100..]);
        let other = blocks(&job(Pattern::Permutation, 512, 6), 512 * 100, 200);
        assert_ne!(seen, other);
        for pattern in [Pattern::Random, Pattern::Sequential, Pattern::Backward, Pattern::Same] {
            let first = |seed| blocks(&job(pattern, 4096, seed), 1 << 40, 1);
            assert_ne!(first(1), first(2));
        }
    }

    /// The number of reads in a mix is binomial, and independent of the offsets.
    #[test]
    fn mixes_hold_their_share() {
        for read_percent in [1, 30, 70, 99] {
            let mut job = job(Pattern::Random, 4096, 3);
            job.direction = Direction::Mixed { read_percent };
            let p = JobOffsets::new(&job, 1 << 30);
            let n = 100_000;
            let reads = (0..n).filter(|&i| p.request(i).unwrap().operation == Operation::Read);
            let (share, expected) =
                (reads.count() as f64 / n as f64, f64::from(read_percent) / 100.0);
            let sigma = (expected * (1.0 - expected) / n as f64).sqrt();
            assert!((share - expected).abs() < 5.0 * sigma, "{share} of {expected}");
            let half = (0..n).filter(|&i| {
                let request = p.request(i).unwrap();
                request.operation == Operation::Read && request.offset < 1 << 29
            });
            let lower = half.count() as f64 / n as f64;
            assert!((lower - expected / 2.0).abs() < 0.01, "offsets depend on the direction");
        }
    }
}
