//! The crate's error type: invalid requests for a cipher or a key.

use thiserror::Error;

/// Why a cipher could not be found or keyed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CipherError {
    /// The registry does not contain a cipher with this name.
    #[error("unknown cipher {name:?}; known: {}", known.join(", "))]
    Unknown {
        /// The requested name.
        name: String,
        /// Every name in the registry.
        known: Vec<&'static str>,
    },
    /// The key does not have the length that the cipher requires.
    #[error("{cipher} needs a key of {expected} bytes, got {actual}")]
    KeyLength {
        /// Name of the cipher.
        cipher: &'static str,
        /// Required total length in bytes, for all halves and stages.
        expected: usize,
        /// The given number of bytes.
        actual: usize,
    },
    /// A dm-crypt specification contains an unsupported cipher.
    #[error("unknown dm-crypt cipher {name:?}; known: {}", known.join(", "))]
    DmCryptCipher {
        /// The whole specification.
        name: String,
        /// Every known cipher.
        known: Vec<&'static str>,
    },
    /// A dm-crypt specification contains a mode or IV generator that is not supported, or not available for this
    /// cipher.
    #[error("unknown dm-crypt mode {mode:?} for {cipher}; known: {}", known.join(", "))]
    DmCryptMode {
        /// Name of the cipher.
        cipher: &'static str,
        /// The requested mode.
        mode: String,
        /// Every mode of the cipher, with `HASH` as a placeholder for each hash.
        known: &'static [&'static str],
    },
    /// The ESSIV in a dm-crypt specification uses an unsupported hash.
    #[error("unknown ESSIV hash {name:?}; known: {}", known.join(", "))]
    EssivHash {
        /// The requested name.
        name: String,
        /// Every known name.
        known: Vec<&'static str>,
    },
    /// The digest of an ESSIV hash cannot be used as a key for the cipher.
    #[error("ESSIV with {hash} produces keys of {bytes} bytes, which {cipher} does not accept")]
    EssivKey {
        /// Name of the cipher.
        cipher: &'static str,
        /// Name of the hash.
        hash: &'static str,
        /// Bytes of its digest.
        bytes: usize,
    },
    /// The key length is not valid for a dm-crypt cipher in this mode.
    #[error("{cipher}-{mode} needs keys of {} bytes, got {actual}", list(expected))]
    DmCryptKeyLength {
        /// Name of the cipher.
        cipher: &'static str,
        /// The requested mode.
        mode: String,
        /// Every valid length in bytes.
        expected: Vec<usize>,
        /// The given number of bytes.
        actual: usize,
    },
    /// dm-crypt supports the mode only for 512-byte data units.
    #[error("{mode} supports only data units of 512 bytes, not of {bytes}")]
    DmCryptUnit {
        /// The requested mode.
        mode: String,
        /// Bytes requested.
        bytes: usize,
    },
    /// The data unit is not a permitted number of cipher blocks.
    #[error(
        "a data unit must be a multiple of 16 bytes from 16 to 16777216 (2^20 blocks, IEEE 1619), got {bytes}"
    )]
    DataUnit {
        /// Bytes requested.
        bytes: usize,
    },
    /// With a tweak step of zero, all units would be encrypted with the same tweak.
    #[error("the tweak step must be at least 1")]
    TweakStep,
}

fn list(lengths: &[usize]) -> String {
    let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
    lengths.join(", ")
}
