//! The password from which header keys are derived: passphrase and key files combined.

use cryptbench_blockdev::LockedBytes;

use crate::crc32::Crc32;
use crate::{Credentials, VolumeError};

/// The longest passphrase that TrueCrypt and VeraCrypt before 1.26 accept, in bytes. It is also the
/// size of the key file pool for passphrases up to this length.
pub(super) const SHORT: usize = 64;
/// The longest passphrase of VeraCrypt, and the size of the pool for passphrases longer than [`SHORT`].
const LONG: usize = 128;
/// Number of bytes of a key file that are used; VeraCrypt ignores the rest.
const KEYFILE_BYTES: usize = 1 << 20;

/// Combines the passphrase with the key files.
///
/// The passphrase initialises a pool. Each key file runs through CRC-32, and after every byte the
/// four bytes of the register are added to the pool (VeraCrypt's documentation, "Keyfiles",
/// technical details). Sums commute, so the order of the files does not matter.
///
/// # Errors
/// [`VolumeError::Invalid`] if there is neither passphrase nor key file, if the passphrase is too
/// long, or if a key file is empty.
pub(super) fn password(credentials: &Credentials) -> Result<LockedBytes, VolumeError> {
    let passphrase = credentials.passphrase.bytes();
    let invalid = |reason: &str| Err(VolumeError::Invalid(reason.to_owned()));
    if passphrase.len() > LONG {
        return invalid("VeraCrypt accepts passphrases of at most 128 bytes");
    }
    if credentials.keyfiles.is_empty() {
        return match passphrase {
            [] => invalid("neither a passphrase nor a key file was given"),
            _ => Ok(LockedBytes::copy_of(passphrase)),
        };
    }
    let mut pool = LockedBytes::zeroed(if passphrase.len() > SHORT { LONG } else { SHORT });
    pool[..passphrase.len()].copy_from_slice(passphrase);
    for keyfile in &credentials.keyfiles {
        let bytes = &keyfile.bytes()[..keyfile.bytes().len().min(KEYFILE_BYTES)];
        if bytes.is_empty() {
            return invalid("a key file is empty");
        }
        let mut crc = Crc32::new();
        for (place, &byte) in bytes.iter().enumerate() {
            let at = place * 4 % pool.len();
            for (sum, add) in pool[at..].iter_mut().zip(crc.update(byte).to_be_bytes()) {
                *sum = sum.wrapping_add(add);
            }
        }
    }
    Ok(pool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    fn credentials(passphrase: &[u8], keyfiles: &[&[u8]]) -> Credentials {
        let secret = |bytes: &[u8]| Secret::new(bytes.to_vec());
        Credentials {
            passphrase: secret(passphrase),
            keyfiles: keyfiles.iter().map(|bytes| secret(bytes)).collect(),
            ..Credentials::default()
        }
    }

    #[test]
    fn the_pool_is_as_long_as_the_passphrase_needs() {
        let length =
            |passphrase, files: &[&[u8]]| password(&credentials(passphrase, files)).unwrap().len();
        assert_eq!(length(&[7; 64], &[]), 64);
        assert_eq!(length(&[7; 3], &[]), 3);
        assert_eq!(length(&[7; 3], &[b"x"]), 64);
        assert_eq!(length(&[7; 64], &[b"x"]), 64);
        assert_eq!(length(&[7; 65], &[b"x"]), 128);
        assert_eq!(length(&[], &[b"x"]), 64);
    }

    #[test]
    fn one_byte_adds_the_register_after_it() {
        // CRC-32 of "a" is 0xE8B7BE43; the pool uses the register before the final inversion.
        let pool = password(&credentials(&[1, 2], &[b"a"])).unwrap();
        let register = (!0xE8B7_BE43_u32).to_be_bytes();
        let expected =
            [register[0].wrapping_add(1), register[1].wrapping_add(2), register[2], register[3], 0];
        assert_eq!(pool[..5], expected);
    }

    #[test]
    fn order_does_not_matter_and_only_the_first_mebibyte_counts() {
        let (a, b) = (vec![3; 100], vec![9; KEYFILE_BYTES]);
        let mut longer = b.clone();
        longer.push(1);
        let pool = password(&credentials(b"p", &[&a, &b])).unwrap();
        assert_eq!(pool[..], password(&credentials(b"p", &[&longer, &a])).unwrap()[..]);
        assert_ne!(pool[..], password(&credentials(b"p", &[&b[1..], &a])).unwrap()[..]);
    }

    #[test]
    fn what_cannot_be_a_password_is_refused() {
        for (passphrase, keyfiles) in
            [(vec![], vec![]), (vec![1; 129], vec![]), (vec![1], vec![&[][..]])]
        {
            let refused = password(&credentials(&passphrase, &keyfiles));
            assert!(matches!(refused, Err(VolumeError::Invalid(_))));
        }
    }
}
