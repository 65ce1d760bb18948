//! The file sizes of a set, derived from a seed.

use std::f64::consts::TAU;

use crate::offsets::splitmix;
use crate::profile::{FileSizes, FileWork};

/// Draws the size of each file in bytes. Log-normal sizes are computed from two uniform numbers by the Box-Muller
/// transform (Box, Muller: A Note on the Generation of Random Normal Deviates, 1958).
pub(super) fn draw(work: &FileWork, seed: u64) -> Vec<u64> {
    let size = |n: u64| match work.sizes {
        FileSizes::Fixed(bytes) => bytes,
        FileSizes::LogNormal { median, sigma } => {
            // The numbers are in (0, 1], so that the first number's logarithm is finite.
            let [u, v] =
                [2 * n, 2 * n + 1].map(|i| ((splitmix(seed, i) >> 11) + 1) as f64 / 2f64.powi(53));
            let normal = (-2.0 * u.ln()).sqrt() * (TAU * v).cos();
            let bytes = median as f64 * (sigma * normal).exp();
            (bytes.round() as u64).clamp(1, FileSizes::CAP)
        }
    };
    (0..u64::from(work.count)).map(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::FileAction;

    fn sizes(sizes: FileSizes, count: u32, seed: u64) -> Vec<u64> {
        draw(&FileWork { action: FileAction::Stat, count, sizes }, seed)
    }

    /// Median, standard deviation of the logarithms and mean agree with the requested values within
    /// four standard errors. The seed is fixed.
    #[test]
    fn log_normal_sizes_have_their_median_and_spread() {
        let sigma = 1.0;
        let kind = FileSizes::LogNormal { median: 4096, sigma };
        let mut drawn = sizes(kind, 20_000, 7);
        let n = drawn.len() as f64;
        drawn.sort_unstable();
        let logs: Vec<f64> = drawn.iter().map(|&s| (s as f64 / 4096.0).ln()).collect();
        let mean = logs.iter().sum::<f64>() / n;
        let sd = (logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        assert!(mean.abs() < 4.0 * sigma / n.sqrt(), "{mean}");
        assert!((sd - sigma).abs() < 4.0 * sigma / (2.0 * n).sqrt(), "{sd}");
        let arithmetic = drawn.iter().sum::<u64>() as f64 / n;
        let expected = kind.mean() as f64;
        assert!((arithmetic / expected - 1.0).abs() < 0.04, "{arithmetic} against {expected}");
    }

    #[test]
    fn sizes_repeat_with_the_seed_and_respect_the_cap() {
        let wide = FileSizes::LogNormal { median: 1 << 19, sigma: 2.0 };
        let drawn = sizes(wide, 1000, 1);
        assert_eq!(drawn, sizes(wide, 1000, 1));
        assert_ne!(drawn, sizes(wide, 1000, 2));
        assert_eq!(drawn.iter().max(), Some(&FileSizes::CAP));
        assert!(drawn.iter().all(|&s| (1..=FileSizes::CAP).contains(&s)));
        assert_eq!(sizes(FileSizes::Fixed(4096), 3, 9), [4096; 3]);
    }
}
