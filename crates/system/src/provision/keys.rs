//! Keys that the kernel holds for file systems: put there through a pipe, and taken back.

use std::path::Path;
use std::time::Duration;

use sha2::{Digest as _, Sha512};
use zeroize::Zeroizing;

use crate::SystemError;
use crate::command::{Invocation, run};
use crate::machine::Machine;

/// Putting a key into the kernel is a matter of milliseconds.
const LIMIT: Duration = Duration::from_secs(60);

/// What names a key of fscrypt: HKDF-SHA512 of the key without salt, under the context 1, cut to 16 bytes; in
/// hexadecimal digits (Linux, `fs/crypto/fscrypt_private.h`, `HKDF_CONTEXT_KEY_IDENTIFIER`; RFC 5869).
pub(crate) fn file_system_key_identifier(key: &[u8]) -> String {
    let secret = Zeroizing::new(hmac(&[0; 64], key));
    let identifier = hmac(&secret[..], b"fscrypt\0\x01\x01");
    identifier[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// HMAC-SHA512 (RFC 2104) under a key of one block or less.
fn hmac(key: &[u8], message: &[u8]) -> [u8; 64] {
    let pad = |with: u8| {
        let mut block = Zeroizing::new([with; 128]);
        block.iter_mut().zip(key).for_each(|(b, k)| *b ^= k);
        block
    };
    let inner = Sha512::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha512::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
}

/// Adds a key of fscrypt to the file system that `path` lies on.
///
/// # Errors
/// [`SystemError::Program`], such as when the file system has no encryption.
pub(crate) fn add_to_file_system(path: &Path, key: Zeroizing<Vec<u8>>) -> Result<(), SystemError> {
    Invocation::new("xfs_io")
        .args(["-c".as_ref(), "add_enckey".as_ref(), path.as_os_str()])
        .input(key)
        .run(&Machine::this(), LIMIT)
        .map(drop)
}

/// Whether the file system that `path` lies on holds the key, be it only until the last file under it is closed.
///
/// # Errors
/// [`SystemError::Program`], if that cannot be told.
pub(super) fn on_file_system(path: &Path, identifier: &str) -> Result<bool, SystemError> {
    let ask = format!("enckey_status {identifier}");
    match run("xfs_io", ["-c".as_ref(), ask.as_ref(), path.as_os_str()]) {
        Ok(status) => Ok(!status.to_lowercase().contains("absent")),
        // What was mounted here is gone: what is below it knows no keys.
        Err(e) if says(&e, &["Operation not supported", "Inappropriate ioctl"]) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Takes a key of fscrypt away, if it is there.
///
/// # Errors
/// [`SystemError::Program`].
pub(super) fn remove_from_file_system(path: &Path, identifier: &str) -> Result<(), SystemError> {
    let remove = format!("rm_enckey {identifier}");
    match run("xfs_io", ["-c".as_ref(), remove.as_ref(), path.as_os_str()]) {
        // Somebody was quicker, such as the xfs_io of a run that was killed while it took the key away.
        Err(e) if says(&e, &["Required key not available"]) => Ok(()),
        done => done.map(drop),
    }
}

/// Number of the user's key of that description, if there is one.
///
/// # Errors
/// [`SystemError::Program`], if that cannot be told.
pub(super) fn of_user(description: &Path) -> Result<Option<String>, SystemError> {
    let arguments = ["search".as_ref(), "@u".as_ref(), "user".as_ref(), description.as_os_str()];
    match run("keyctl", arguments) {
        Ok(number) => Ok(Some(number)),
        Err(e) if says(&e, &["Required key not available"]) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Takes the user's key of that description away, if it is there.
///
/// # Errors
/// [`SystemError::Program`].
pub(super) fn remove_of_user(description: &Path) -> Result<(), SystemError> {
    match of_user(description)? {
        Some(number) => run("keyctl", ["unlink", &number, "@u"]).map(drop),
        None => Ok(()),
    }
}

/// Whether a program gave one of the C library's texts as its reason.
fn says(error: &SystemError, texts: &[&str]) -> bool {
    matches!(error, SystemError::Program { reason, .. } if texts.iter().any(|t| reason.contains(t)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2.
    #[test]
    fn hmac_is_the_standards() {
        let digest = hmac(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(digest[..8], [0x16, 0x4b, 0x7a, 0x7b, 0xfc, 0xf8, 0x19, 0xe2]);
        assert_eq!(digest[60..], [0x38, 0xbc, 0xe7, 0x37]);
    }
}
