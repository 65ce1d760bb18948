//! BitLocker's key stretching: a chain of SHA-256 over its own output, the hash of the password, a
//! salt and a counter.

use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use crate::effort::Effort;
use crate::error::KdfError;

/// Number of links in the chain, the same in every version.
pub const BITLOCKER_ITERATIONS: u64 = 1 << 20;

/// Number of links between two checks of the stop flags.
const UNCHECKED: u64 = 1 << 12;

/// Digest size in bytes.
const DIGEST: usize = 32;

/// The key of a protector, derived from the hash of a password or recovery password and the protector's salt
/// (libyal/libbde, "BitLocker Drive Encryption (BDE) format", Recovery key).
///
/// # Errors
/// [`KdfError::Stopped`].
pub fn bitlocker(
    hash: &[u8; DIGEST],
    salt: &[u8; 16],
    effort: Effort<'_>,
) -> Result<Zeroizing<[u8; DIGEST]>, KdfError> {
    let _running = effort.start();
    // Output of the previous link, hash of the password, salt, counter.
    let mut state = Zeroizing::new([0; 2 * DIGEST + 16 + 8]);
    state[DIGEST..2 * DIGEST].copy_from_slice(hash);
    state[2 * DIGEST..][..16].copy_from_slice(salt);
    for count in 0..BITLOCKER_ITERATIONS {
        if count % UNCHECKED == 0 {
            effort.check()?;
        }
        state[2 * DIGEST + 16..].copy_from_slice(&count.to_le_bytes());
        let mut digest = Sha256::digest(*state);
        state[..DIGEST].copy_from_slice(&digest);
        digest.as_mut_slice().zeroize();
    }
    let mut key = Zeroizing::new([0; DIGEST]);
    key.copy_from_slice(&state[..DIGEST]);
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::cpu::Tier;

    /// Computed with Python's hashlib from the definition.
    #[test]
    fn the_chain_of_the_definition() {
        let hash = std::array::from_fn(|i| i as u8);
        let salt = std::array::from_fn(|i| 0x80 + i as u8);
        let key = bitlocker(&hash, &salt, Effort::new(Tier::Soft, 1)).unwrap();
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "c02412fc8662470d0e97f17dafb468e441d9dabc023240053e821bfefd20bcad");
    }

    #[test]
    fn it_stops() {
        let stop = AtomicBool::new(true);
        let effort = Effort::new(Tier::Soft, 1).stopped_by(&stop);
        assert_eq!(bitlocker(&[0; 32], &[0; 16], effort).unwrap_err(), KdfError::Stopped);
    }
}
