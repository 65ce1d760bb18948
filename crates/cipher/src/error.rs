//! The crate's error type: what a caller can get wrong when choosing and keying a cipher.

use thiserror::Error;

/// Why a cipher could not be found or keyed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CipherError {
    /// No cipher of that name is in the registry.
    #[error("unknown cipher `{name}` (known: {})", known.join(", "))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// Every name in the registry.
        known: Vec<&'static str>,
    },
    /// The key has not the length that the cipher needs.
    #[error("{cipher} needs a key of {expected} bytes, got {actual}")]
    KeyLength {
        /// Name of the cipher.
        cipher: &'static str,
        /// Bytes that it needs, all halves and stages together.
        expected: usize,
        /// Bytes that were given.
        actual: usize,
    },
    /// The data unit is not a usable number of cipher blocks.
    #[error(
        "a data unit must be a multiple of 16 bytes from 16 to 16777216 (2^20 blocks, IEEE 1619), got {bytes}"
    )]
    DataUnit {
        /// Bytes that were asked for.
        bytes: usize,
    },
    /// A tweak step of zero would encrypt every unit under one tweak.
    #[error("the tweak step must be at least 1")]
    TweakStep,
}
