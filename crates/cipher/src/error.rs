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
    /// A dm-crypt specification names a cipher that is not here.
    #[error("unknown dm-crypt cipher `{name}` (known: {})", known.join(", "))]
    DmCryptCipher {
        /// The name that was asked for.
        name: String,
        /// Every name that is known.
        known: Vec<&'static str>,
    },
    /// A dm-crypt specification names a mode or IV generator that is not here or not for this cipher.
    #[error("unknown dm-crypt mode `{mode}` for {cipher} (known: {})", known.join(", "))]
    DmCryptMode {
        /// Name of the cipher.
        cipher: &'static str,
        /// The mode that was asked for.
        mode: String,
        /// Every mode for the cipher, with `HASH` in place of each hash.
        known: &'static [&'static str],
    },
    /// A dm-crypt specification's ESSIV uses a hash that is not here.
    #[error("unknown ESSIV hash `{name}` (known: {})", known.join(", "))]
    EssivHash {
        /// The name that was asked for.
        name: String,
        /// Every name that is known.
        known: Vec<&'static str>,
    },
    /// The hash of an ESSIV is no key for the cipher.
    #[error("ESSIV with {hash} makes keys of {bytes} bytes, which {cipher} does not take")]
    EssivKey {
        /// Name of the cipher.
        cipher: &'static str,
        /// Name of the hash.
        hash: &'static str,
        /// Bytes of its digest.
        bytes: usize,
    },
    /// The key has none of the lengths that a dm-crypt cipher takes in that mode.
    #[error("{cipher}-{mode} takes keys of {} bytes, got {actual}", list(expected))]
    DmCryptKeyLength {
        /// Name of the cipher.
        cipher: &'static str,
        /// The mode that was asked for.
        mode: String,
        /// Every length in bytes that it takes.
        expected: Vec<usize>,
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

fn list(lengths: &[usize]) -> String {
    let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
    lengths.join(", ")
}
