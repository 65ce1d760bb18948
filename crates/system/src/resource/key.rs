//! Keys that the kernel holds for file systems: put there through a pipe, and taken back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha512};
use zeroize::Zeroizing;

use super::{Identity, Recovered, Resource, ResourceStack, removed};
use crate::SystemError;
use crate::command::{Invocation, run};
use crate::machine::Machine;

/// A key of fscrypt in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystemKey {
    /// A path on the file system that it was added to.
    pub path: PathBuf,
    /// What names it, in hexadecimal digits.
    pub identifier: String,
}

/// A key in the user's keyring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserKey {
    /// What names it.
    pub description: PathBuf,
}

/// Adds a key of fscrypt to the file system that `path` lies on, and gives what names it.
pub(crate) fn add_to_file_system(
    stack: &mut ResourceStack,
    path: &Path,
    key: Zeroizing<Vec<u8>>,
) -> Result<String, SystemError> {
    let identifier = identifier(&key);
    let what = FileSystemKey { path: path.to_owned(), identifier: identifier.clone() };
    stack.create(what, || add(path, key).map(|()| ((), None)))?;
    Ok(identifier)
}

/// Adds a key to the user's keyring by a program that is given its secret, and will name it `description`.
pub(crate) fn add_to_user(
    stack: &mut ResourceStack,
    description: &str,
    adds: &Invocation,
    machine: &Machine,
) -> Result<(), SystemError> {
    let what = UserKey { description: description.into() };
    stack.create(what, || adds.run(machine, machine.ready_within).map(|_| ((), None)))?;
    Ok(())
}

impl Resource for FileSystemKey {
    type Live = ();
    const IS_KEY: bool = true;

    fn path(&self) -> &Path {
        &self.path
    }

    fn destroy(&self, (): &mut (), _: Option<Identity>) -> Result<(), SystemError> {
        remove_from_file_system(&self.path, &self.identifier)?;
        // The kernel keeps the keys of files that are in use, until they are taken away once more.
        match on_file_system(&self.path, &self.identifier)? {
            true => Err(SystemError::Busy { path: self.path.clone() }),
            false => Ok(()),
        }
    }

    fn recover(&self, _: Option<Identity>) -> Recovered {
        if !self.path.exists() {
            return None;
        }
        match on_file_system(&self.path, &self.identifier) {
            Ok(false) => None,
            Ok(true) => removed(remove_from_file_system(&self.path, &self.identifier)),
            Err(e) => removed(Err(e)),
        }
    }

    fn made_by(&self) -> Option<String> {
        Some(format!("add_enckey\0{}", self.path.display()))
    }
}

impl Resource for UserKey {
    type Live = ();
    const IS_KEY: bool = true;

    fn path(&self) -> &Path {
        &self.description
    }

    fn destroy(&self, (): &mut (), _: Option<Identity>) -> Result<(), SystemError> {
        remove_of_user(&self.description)
    }

    fn recover(&self, _: Option<Identity>) -> Recovered {
        match of_user(&self.description) {
            Ok(None) => None,
            Ok(Some(_)) => removed(remove_of_user(&self.description)),
            Err(e) => removed(Err(e)),
        }
    }
}

/// Putting a key into the kernel is a matter of milliseconds.
const LIMIT: Duration = Duration::from_secs(60);

/// What names a key of fscrypt: HKDF-SHA512 of the key without salt, under the context 1, cut to 16 bytes; in
/// hexadecimal digits (Linux, `fs/crypto/fscrypt_private.h`, `HKDF_CONTEXT_KEY_IDENTIFIER`; RFC 5869).
fn identifier(key: &[u8]) -> String {
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
fn add(path: &Path, key: Zeroizing<Vec<u8>>) -> Result<(), SystemError> {
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
fn on_file_system(path: &Path, identifier: &str) -> Result<bool, SystemError> {
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
fn remove_from_file_system(path: &Path, identifier: &str) -> Result<(), SystemError> {
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
fn of_user(description: &Path) -> Result<Option<String>, SystemError> {
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
fn remove_of_user(description: &Path) -> Result<(), SystemError> {
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
