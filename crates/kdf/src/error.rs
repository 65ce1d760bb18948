//! The crate's error type: what a caller can get wrong when asking for a key, and a stop that was obeyed.

use thiserror::Error;

/// Why no key was derived.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KdfError {
    /// No PRF of that name is in the registry.
    #[error("unknown PRF `{name}` (known: {})", known.join(", "))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// Every name in the registry.
        known: Vec<&'static str>,
    },
    /// PBKDF2 needs at least one iteration (RFC 8018, section 5.2).
    #[error("PBKDF2 needs at least 1 iteration")]
    NoIterations,
    /// PBKDF2 can give 2^32 - 1 blocks of its PRF's output for each salt, no more (RFC 8018, section 5.2).
    #[error("a key of {bytes} bytes is longer than PBKDF2 can derive")]
    TooLong {
        /// Bytes that were asked for.
        bytes: usize,
    },
    /// Parameters that the function does not allow, in its own words.
    #[error("{function}: {reason}")]
    Parameters {
        /// The function, such as `argon2id`.
        function: &'static str,
        /// What it objects to.
        reason: String,
    },
    /// The memory that the parameters ask for cannot be had.
    #[error("{function} needs {} of memory, {}", size(*kib), there_is(*free))]
    Memory {
        /// The function, such as `argon2id`.
        function: &'static str,
        /// KiB that were asked for.
        kib: u64,
        /// KiB that this process can have, where that was the reason.
        free: Option<u64>,
    },
    /// This kind of volume never had this PRF.
    #[error("{volume} has no {function} header keys")]
    NotThere {
        /// The kind of volume.
        volume: &'static str,
        /// Name of the PRF or KDF.
        function: String,
    },
    /// The PIM is outside what this kind of volume takes.
    #[error("a PIM of {pim} is too high for {volume} (at most {highest})")]
    Pim {
        /// The kind of volume.
        volume: &'static str,
        /// The PIM that was given.
        pim: u32,
        /// The highest that is allowed; 0 where the volume has no PIM at all.
        highest: u32,
    },
    /// The caller's stop flag was set before the key was there.
    #[error("key derivation was stopped")]
    Stopped,
}

fn there_is(free: Option<u64>) -> String {
    match free {
        Some(free) => format!(
            "and this process can have {}; close other programs, or raise its memory limit",
            size(free)
        ),
        None => "which this system does not give".to_owned(),
    }
}

/// KiB for people.
fn size(kib: u64) -> String {
    if kib < 10 << 10 { format!("{kib} KiB") } else { format!("{} MiB", kib >> 10) }
}
