//! Measures how random bytes look: entropy and chi-square of their distribution.

use std::fmt;

use serde::Serialize;

/// Number of occurrences of each byte value.
pub(super) struct Counts([u64; 256]);

impl Default for Counts {
    fn default() -> Self {
        Self([0; 256])
    }
}

/// Statistics of a sample of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Randomness {
    /// Bytes in the sample.
    pub bytes: u64,
    /// Zeros among them.
    pub zeros: u64,
    /// Shannon entropy of the distribution, in bits per byte; at most 8.
    pub entropy: f64,
    /// Pearson's chi-square against equal frequencies, with 255 degrees of freedom.
    pub chi_square: f64,
}

impl Counts {
    pub(super) fn add(&mut self, data: &[u8]) {
        for &byte in data {
            self.0[usize::from(byte)] += 1;
        }
    }

    /// Statistics of the counted bytes; `None` if there are none.
    pub(super) fn randomness(&self) -> Option<Randomness> {
        let bytes: u64 = self.0.iter().sum();
        if bytes == 0 {
            return None;
        }
        let all = bytes as f64;
        let expected = all / 256.0;
        let (mut entropy, mut chi_square) = (0.0, 0.0);
        for &count in &self.0 {
            let count = count as f64;
            if count > 0.0 {
                entropy -= count / all * (count / all).log2();
            }
            chi_square += (count - expected).powi(2) / expected;
        }
        Some(Randomness { bytes, zeros: self.0[0], entropy, chi_square })
    }
}

impl Randomness {
    /// Whether the sample is plausible for random bytes: chi-square is within 5 standard deviations of its
    /// mean, by the normal approximation for 255 degrees of freedom.
    ///
    /// Random data falls outside about once in 100,000 samples, because the upper tail is heavier than the
    /// normal one. Compressed data often passes as well.
    pub fn looks_random(&self) -> bool {
        const MEAN: f64 = 255.0;
        let deviation = (2.0 * MEAN).sqrt();
        (self.chi_square - MEAN).abs() < 5.0 * deviation
    }
}

impl fmt::Display for Randomness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, entropy, chi_square, .. } = self;
        write!(
            f,
            "{bytes} bytes sampled: {entropy:.4} bits of entropy per byte, chi-square {chi_square:.0} \
             (random data: 255 +- 23)"
        )
    }
}
