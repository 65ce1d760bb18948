//! Throughput over several rounds: medians with their spread, and the order of a table.

use cryptbench_stats::{median, quantile};

/// Data rate over several rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// Median in MB/s (10^6 bytes per second).
    pub mb_s: f64,
    /// Interquartile range as a percentage of the median.
    pub spread_percent: f64,
}

impl Throughput {
    /// Computed from one value in MB/s per round; all values are zero if there are no rounds.
    pub(super) fn of(rounds: &[f64]) -> Self {
        let mb_s = median(rounds).unwrap_or(0.0);
        let spread = match (quantile(rounds, 0.25), quantile(rounds, 0.75)) {
            (Some(low), Some(high)) if mb_s > 0.0 => (high - low) / mb_s * 100.0,
            _ => 0.0,
        };
        Self { mb_s, spread_percent: spread }
    }
}

/// The speed of one cipher with one data unit and one number of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    /// Name in the registry, such as `aes-256-xts`.
    pub cipher: &'static str,
    /// Name for users, such as `AES-256-XTS`.
    pub label: &'static str,
    /// Bytes under one tweak.
    pub data_unit: u32,
    /// Number of simultaneous threads, each with its own buffer.
    pub threads: usize,
    /// Number of bytes that each thread passed per call.
    pub buffer: usize,
    /// The kernel in use, such as `vaes-avx512`.
    pub kernel: &'static str,
    /// Encryption speed of all threads together.
    pub encrypt: Throughput,
    /// Decryption speed of all threads together.
    pub decrypt: Throughput,
    /// The arithmetic mean of both speeds, which is the figure that the benchmarks of disk encryption programs show.
    /// The spread is that of the rounds' means.
    pub mean: Throughput,
}

impl Speed {
    /// The mode in the cipher's name: `xts` in `aes-256-xts`; empty if the name contains no mode.
    pub fn mode(&self) -> &'static str {
        const MODES: &[&str] = &["xts", "cbc", "ctr", "lrw", "ecb", "gcm"];
        let mut start = 0;
        for part in self.cipher.split('-') {
            if MODES.contains(&part) {
                return &self.cipher[start..];
            }
            start += part.len() + 1;
        }
        ""
    }

    pub(super) fn new(case: &super::plan::Case, rounds: &[super::sample::Sample]) -> Self {
        let rate = |pick: fn(&super::sample::Sample) -> f64| {
            Throughput::of(&rounds.iter().map(pick).collect::<Vec<_>>())
        };
        let (encrypt, decrypt) = (rate(|v| v.encrypt_mb_s), rate(|v| v.decrypt_mb_s));
        let means = rate(|v| f64::midpoint(v.encrypt_mb_s, v.decrypt_mb_s));
        Self {
            cipher: case.info.name,
            label: case.info.label,
            data_unit: case.data_unit,
            threads: case.threads,
            buffer: case.buffer,
            kernel: case.kernel,
            encrypt,
            decrypt,
            // The mean is calculated from the two displayed figures, so that a table is consistent.
            mean: Throughput { mb_s: f64::midpoint(encrypt.mb_s, decrypt.mb_s), ..means },
        }
    }
}

/// The rows for one number of threads, in descending order of their means; rows with equal means keep their order.
pub fn by_mean(rows: &[Speed], threads: usize) -> Vec<&Speed> {
    let mut chosen: Vec<_> = rows.iter().filter(|r| r.threads == threads).collect();
    chosen.sort_by(|a, b| b.mean.mb_s.total_cmp(&a.mean.mb_s));
    chosen
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A row of made-up numbers.
    pub(in crate::cipher) fn row(
        label: &'static str,
        data_unit: u32,
        threads: usize,
        (encrypt, decrypt): (f64, f64),
    ) -> Speed {
        let rate = |mb_s| Throughput { mb_s, spread_percent: 1.0 };
        Speed {
            cipher: label,
            label,
            data_unit,
            threads,
            buffer: 1 << 20,
            kernel: "soft",
            encrypt: rate(encrypt),
            decrypt: rate(decrypt),
            mean: rate(f64::midpoint(encrypt, decrypt)),
        }
    }

    #[test]
    fn median_and_interquartile_range_ignore_one_bad_round() {
        let rate = Throughput::of(&[100.0, 102.0, 98.0, 101.0, 3.0]);
        assert_eq!(rate, Throughput { mb_s: 100.0, spread_percent: 3.0 });
        assert_eq!(Throughput::of(&[]), Throughput { mb_s: 0.0, spread_percent: 0.0 });
        assert_eq!(Throughput::of(&[0.0; 5]).spread_percent, 0.0);
    }

    #[test]
    fn rows_are_sorted_by_the_mean_of_the_threads_asked_for() {
        let rows = [
            row("a", 512, 1, (100.0, 300.0)),
            row("a", 512, 2, (900.0, 900.0)),
            row("b", 512, 1, (260.0, 120.0)),
            row("c", 512, 1, (200.0, 202.0)),
        ];
        let order: Vec<_> = by_mean(&rows, 1).iter().map(|r| r.label).collect();
        assert_eq!(order, ["c", "a", "b"]);
        assert_eq!(by_mean(&rows, 2).len(), 1);
        assert!(by_mean(&rows, 3).is_empty());
    }

    #[test]
    fn the_mode_is_the_end_of_the_name() {
        let mode = |name| row(name, 512, 1, (1.0, 1.0)).mode();
        assert_eq!(mode("aes-256-xts"), "xts");
        assert_eq!(mode("aes-twofish-serpent-xts"), "xts");
        assert_eq!(mode("aes-256-cbc-essiv"), "cbc-essiv");
        assert_eq!(mode("adiantum"), "");
    }
}
