//! Kernel keys for file systems: added through a pipe, and removed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha512};
use zeroize::Zeroizing;

use super::{Identity, Recovered, Resource, ResourceStack, removed};
use crate::SystemError;
use crate::command::{Invocation, run};
use crate::machine::Machine;

/// An fscrypt key in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystemKey {
    /// A path on the file system to which it was added.
    pub path: PathBuf,
    /// Its identifier in hexadecimal.
    pub identifier: String,
}

/// A key in the user's keyring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserKey {
    /// Its name.
    pub description: PathBuf,
}

/// Adds an fscrypt key to the file system of `path`, and returns its identifier.
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

/// Adds a key to the user's keyring with a program, which receives the secret and the key's name,
/// `description`.
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

    fn destroy(&self, (): &mut (), _: Option<Identity>) -> Result<(), SystemError> {
        remove_from_file_system(&self.path, &self.identifier)?;
        // The kernel keeps the keys of files in use until they are removed a second time.
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

/// Adding a key to the kernel takes milliseconds.
const LIMIT: Duration = Duration::from_secs(60);

/// The identifier of an fscrypt key in hexadecimal: HKDF-SHA512 of the key without a salt, with context 1,
/// truncated to 16 bytes (Linux, `fs/crypto/fscrypt_private.h`, `HKDF_CONTEXT_KEY_IDENTIFIER`; RFC 5869).
fn identifier(key: &[u8]) -> String {
    let secret = Zeroizing::new(hmac(&[0; 64], key));
    let identifier = hmac(&secret[..], b"fscrypt\0\x01\x01");
    identifier[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// HMAC-SHA512 (RFC 2104) with a key of at most one block.
fn hmac(key: &[u8], message: &[u8]) -> [u8; 64] {
    let pad = |with: u8| {
        let mut block = Zeroizing::new([with; 128]);
        block.iter_mut().zip(key).for_each(|(b, k)| *b ^= k);
        block
    };
    let inner = Sha512::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha512::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
}

/// Adds an fscrypt key to the file system of `path`.
///
/// # Errors
/// [`SystemError::Program`], for example if the file system does not support encryption.
fn add(path: &Path, key: Zeroizing<Vec<u8>>) -> Result<(), SystemError> {
    Invocation::new("xfs_io")
        .args(["-c".as_ref(), "add_enckey".as_ref(), path.as_os_str()])
        .input(key)
        .run(&Machine::this(), LIMIT)
        .map(drop)
}

/// Whether the file system of `path` has the key, even if only until the last file that uses it is closed.
///
/// # Errors
/// [`SystemError::Program`] if the status cannot be determined.
fn on_file_system(path: &Path, identifier: &str) -> Result<bool, SystemError> {
    let ask = format!("enckey_status {identifier}");
    match run("xfs_io", ["-c".as_ref(), ask.as_ref(), path.as_os_str()]) {
        Ok(status) => Ok(!status.to_lowercase().contains("absent")),
        // The file system that was mounted here is gone, and the underlying one does not support keys.
        Err(e) if says(&e, &["Operation not supported", "Inappropriate ioctl"]) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Removes an fscrypt key if it exists.
fn remove_from_file_system(path: &Path, identifier: &str) -> Result<(), SystemError> {
    let remove = format!("rm_enckey {identifier}");
    match run("xfs_io", ["-c".as_ref(), remove.as_ref(), path.as_os_str()]) {
        // The key has already been removed, for example by the xfs_io of a run that was killed in the meantime.
        Err(e) if says(&e, &["Required key not available"]) => Ok(()),
        done => done.map(drop),
    }
}

/// Number of the user's key with this description, if the key exists.
///
/// # Errors
/// [`SystemError::Program`] if that cannot be determined.
fn of_user(description: &Path) -> Result<Option<String>, SystemError> {
    let arguments = ["search".as_ref(), "@u".as_ref(), "user".as_ref(), description.as_os_str()];
    match run("keyctl", arguments) {
        Ok(number) => Ok(Some(number)),
        Err(e) if says(&e, &["Required key not available"]) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Removes the user's key with this description if it exists.
fn remove_of_user(description: &Path) -> Result<(), SystemError> {
    match of_user(description)? {
        Some(number) => run("keyctl", ["unlink", &number, "@u"]).map(drop),
        None => Ok(()),
    }
}

/// Whether a program's error message contains one of these C library messages.
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
