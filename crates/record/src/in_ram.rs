//! Measurements in RAM during a run, as in study A.

use serde::{Deserialize, Serialize};

/// Ciphers and key derivation, without reading from a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InRam {
    /// Bytes that each thread encrypts.
    pub buffer_bytes: u64,
    /// Threads working in parallel, each with its own buffer.
    pub threads: u32,
    /// The ciphers, the fastest first.
    pub ciphers: Vec<CipherInRam>,
    /// The key derivation functions, in ascending order of their default time.
    pub derivations: Vec<DerivationInRam>,
}

/// The speed of a cipher on all threads together: medians in MB/s (10^6 bytes per second).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CipherInRam {
    /// Its name, such as `aes-256-xts`.
    pub cipher: String,
    /// The kernel in use.
    pub kernel: String,
    /// Encryption.
    pub encrypt_mb_s: f64,
    /// Decryption.
    pub decrypt_mb_s: f64,
    /// The arithmetic mean of both.
    pub mean_mb_s: f64,
    /// Interquartile range of the mean in percent.
    pub mean_spread_percent: f64,
}

/// Time that a function takes to derive the key of a volume's header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DerivationInRam {
    /// The function, such as `SHA-512`.
    pub function: String,
    /// The kernel in use.
    pub kernel: String,
    /// Whether only old volumes use this function.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub old_volumes_only: bool,
    /// Seconds with the default cost.
    pub default_s: f64,
    /// Microseconds per iteration, if it has iterations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub us_per_iteration: Option<f64>,
    /// Interquartile range of the longest time measured, in percent.
    pub spread_percent: f64,
    /// Seconds for each requested PIM.
    pub pims: Vec<PimInRam>,
}

/// The time with one PIM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PimInRam {
    /// The PIM.
    pub pim: u32,
    /// Seconds.
    pub seconds: f64,
    /// Whether the time was measured, or calculated from other costs.
    pub measured: bool,
}
