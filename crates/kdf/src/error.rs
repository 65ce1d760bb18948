//! The crate's error type: invalid requests for a key, insufficient memory, and stops.

use thiserror::Error;

/// Why no key was derived.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KdfError {
    /// The registry does not contain a PRF with this name.
    #[error("unknown PRF {name:?}; known: {}", known.join(", "))]
    Unknown {
        /// The requested name.
        name: String,
        /// Every name in the registry.
        known: Vec<&'static str>,
    },
    /// PBKDF2 needs at least one iteration (RFC 8018, section 5.2).
    #[error("PBKDF2 needs at least 1 iteration")]
    NoIterations,
    /// PBKDF2 can derive at most 2^32 - 1 blocks of its PRF's output per salt (RFC 8018, section 5.2).
    #[error("a key of {bytes} bytes is longer than PBKDF2 can derive")]
    TooLong {
        /// Bytes requested.
        bytes: usize,
    },
    /// The function does not allow these parameters.
    #[error("{function}: {reason}")]
    Parameters {
        /// The function, such as `argon2id`.
        function: &'static str,
        /// The violated rule.
        reason: String,
    },
    /// The memory that the parameters require is not available.
    #[error("{function} needs {} of memory, {}", size(*kib), there_is(*free))]
    Memory {
        /// The function, such as `argon2id`.
        function: &'static str,
        /// KiB requested.
        kib: u64,
        /// Memory in KiB that is available to this process, if that amount is the limit.
        free: Option<u64>,
    },
    /// This kind of volume has never used this PRF.
    #[error("a {volume} has no {function} header keys")]
    NotThere {
        /// The kind of volume.
        volume: &'static str,
        /// Name of the PRF or KDF.
        function: String,
    },
    /// This kind of volume does not allow such a high PIM.
    #[error("a PIM of {pim} is too high for a {volume} (at most {highest})")]
    Pim {
        /// The kind of volume.
        volume: &'static str,
        /// The given PIM.
        pim: u32,
        /// The highest PIM allowed; 0 if this kind of volume has no PIM.
        highest: u32,
    },
    /// The caller set the stop flag before the key was derived.
    #[error("key derivation was stopped")]
    Stopped,
}

fn there_is(free: Option<u64>) -> String {
    match free {
        Some(free) => format!(
            "but this process can have only {}; close other programs, or raise its memory limit",
            size(free)
        ),
        None => "which this system does not provide".to_owned(),
    }
}

/// Formats KiB for messages.
fn size(kib: u64) -> String {
    if kib < 10 << 10 { format!("{kib} KiB") } else { format!("{} MiB", kib >> 10) }
}
