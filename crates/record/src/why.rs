//! The data that explains costs, in addition to the trials: plain storage by queue depth and request size, and
//! the speed of the ciphers in RAM.

use serde::{Deserialize, Serialize};

use crate::{DiskCounts, Operation, Pattern};

/// Measured on plain storage and in RAM after everything was set up and before the first trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Why {
    /// Plain storage by the number of requests in flight and by their size.
    #[serde(default)]
    pub curve: Vec<CurvePoint>,
    /// The ciphers of the run's arms that this program implements, each on one thread.
    #[serde(default)]
    pub ciphers: Vec<CipherSpeed>,
    /// The cost of memory that the page cache allocates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryCost>,
}

/// CPU time of reads through the page cache, depending on where its memory comes from. In a virtual machine whose
/// host reclaims free memory, the first use of each such page waits for the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryCost {
    /// CPU seconds per MiB read into memory that was free.
    pub free_s_per_mib: f64,
    /// CPU seconds per MiB read into memory that the page cache has just released.
    pub reused_s_per_mib: f64,
}

impl MemoryCost {
    /// Additional seconds per MiB for free memory if the host reclaims free memory, which then costs several times as
    /// much as memory in use.
    pub fn taken_back(&self) -> Option<f64> {
        let Self { free_s_per_mib, reused_s_per_mib } = *self;
        let more = free_s_per_mib - reused_s_per_mib;
        (free_s_per_mib > 3.0 * reused_s_per_mib && more > 1e-4).then_some(more)
    }
}

/// A short measurement of plain storage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CurvePoint {
    /// Number of the pass over all points, from 0. Each pass measures every point once, and every second pass in
    /// reverse order.
    pub pass: u32,
    /// `read` or `write`.
    #[cfg_attr(test, schemars(with = "String"))]
    pub operation: Operation,
    /// `random` or `sequential`.
    #[cfg_attr(test, schemars(with = "String"))]
    pub pattern: Pattern,
    /// Bytes per request.
    pub block_size: u64,
    /// Requests in flight.
    pub depth: u32,
    /// Measured seconds.
    pub elapsed_s: f64,
    /// Requests completed in them.
    pub ios: u64,
    /// Mean latency in microseconds.
    pub latency_us: f64,
    /// Requests that reached the disk, if its device counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskCounts>,
}

/// The speed of a cipher on data in a CPU's cache: a lower bound on its time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CipherSpeed {
    /// Its name, such as `aes-256-xts`.
    pub cipher: String,
    /// Bytes under one tweak.
    pub data_unit: u32,
    /// The kernel in use.
    pub kernel: String,
    /// Encryption on one thread in bytes per second.
    pub encrypt_bytes_per_s: f64,
    /// Decryption on one thread in bytes per second.
    pub decrypt_bytes_per_s: f64,
}

impl CurvePoint {
    /// Requests per second.
    pub fn iops(&self) -> f64 {
        self.ios as f64 / self.elapsed_s
    }
}

impl CipherSpeed {
    /// Seconds that one thread takes to decrypt `read` bytes and to encrypt `written`.
    pub fn seconds(&self, read: u64, written: u64) -> f64 {
        read as f64 / self.decrypt_bytes_per_s + written as f64 / self.encrypt_bytes_per_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_several_times_as_dear_was_taken_back() {
        let cost = |free, reused| MemoryCost { free_s_per_mib: free, reused_s_per_mib: reused };
        assert_eq!(cost(1.3e-3, 0.3e-3).taken_back(), Some(1e-3));
        assert_eq!(cost(0.1e-3, 0.05e-3).taken_back(), None);
        assert_eq!(cost(0.1e-3, 0.01e-3).taken_back(), None, "next to nothing");
    }

    #[test]
    fn a_cipher_takes_time_in_both_directions() {
        let speed = CipherSpeed {
            encrypt_bytes_per_s: 2e9,
            decrypt_bytes_per_s: 4e9,
            ..CipherSpeed::default()
        };
        assert!((speed.seconds(4_000_000_000, 1_000_000_000) - 1.5).abs() < 1e-12);
        let point = CurvePoint { ios: 30, elapsed_s: 0.5, ..CurvePoint::default() };
        assert!((point.iops() - 60.0).abs() < 1e-12);
    }
}
