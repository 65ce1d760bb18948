//! Keys and their signatures: derives keys from a passphrase, and decrypts a wrapped passphrase.

use std::fmt;

use cryptbench_blockdev::LockedBytes;
use cryptbench_cipher::Tier;

use super::cipher::Cipher;
use super::damaged;
use super::packet::array;
use crate::{Credentials, Secret, VolumeError};

/// The salts of a passphrase, for contents and for names, unless a mount specifies others
/// (`ECRYPTFS_DEFAULT_SALT_HEX`, `ECRYPTFS_DEFAULT_SALT_FNEK_HEX`). The programs interpret the first digits of
/// the second salt as text.
const SALT: Salt = [0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77];
const SALT_OF_NAMES: Salt = *b"99887766";

/// `ECRYPTFS_DEFAULT_NUM_HASH_ITERATIONS`.
const ITERATIONS: u32 = 65_536;

/// Length of a key in bytes; a cipher uses only as many of the first bytes as it needs.
const KEY_BYTES: usize = 64;

/// Maximum number of other salts to try. Each salt costs as much time as unlocking, and a directory has one salt of
/// each kind.
const MOST_SALTS: usize = 16;

/// Maximum size of a passphrase in bytes (`ECRYPTFS_MAX_PASSPHRASE_BYTES`).
const MOST_PASSPHRASE: usize = 64;

pub(super) type Salt = [u8; 8];

/// The identifier of a key: the first bytes of its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature(pub [u8; 8]);

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A key that encrypts file names, or the keys of files.
pub(super) struct Key {
    signature: Signature,
    pub bytes: LockedBytes,
}

impl Key {
    fn of(passphrase: &[u8], salt: Salt) -> Result<Self, VolumeError> {
        let sha512 = cryptbench_kdf::find("sha-512")?;
        let [mut bytes, mut next] = [0; 2].map(|_| LockedBytes::zeroed(KEY_BYTES));
        sha512.hash(&[&salt, passphrase], &mut bytes);
        for _ in 1..ITERATIONS {
            sha512.hash(&[&bytes], &mut next);
            std::mem::swap(&mut bytes, &mut next);
        }
        let mut signature = Signature([0; 8]);
        sha512.hash(&[&bytes], &mut signature.0);
        Ok(Self { signature, bytes })
    }
}

/// The keys derived from a passphrase.
pub struct Keys {
    passphrase: Secret,
    keys: Vec<Key>,
    salts: Vec<Salt>,
    /// Instruction sets of the ciphers.
    pub tier: Tier,
}

impl Keys {
    /// The keys of the mount passphrase. `credentials` contains that passphrase itself, or the login passphrase
    /// with the wrapped passphrase as the only key file.
    ///
    /// # Errors
    /// [`VolumeError::NoKeyFits`] if the login passphrase is wrong; [`VolumeError::Damaged`] if the wrapped
    /// passphrase is damaged.
    pub fn of(credentials: &Credentials, tier: Tier) -> Result<Self, VolumeError> {
        let passphrase = match credentials.keyfiles.first() {
            None => credentials.passphrase.clone(),
            Some(wrapped) => unwrap(wrapped.bytes(), credentials.passphrase.bytes(), tier)?,
        };
        let salts = vec![SALT, SALT_OF_NAMES];
        let keys = salts.iter().map(|salt| Key::of(passphrase.bytes(), *salt));
        Ok(Self { keys: keys.collect::<Result<_, _>>()?, passphrase, salts, tier })
    }

    /// The signatures of the keys.
    pub fn signatures(&self) -> Vec<Signature> {
        self.keys.iter().map(|key| key.signature).collect()
    }

    /// The key with this signature. A file's key may have been derived with a separate `salt`.
    pub(super) fn find(
        &mut self,
        signature: Signature,
        salt: Option<Salt>,
    ) -> Result<&Key, VolumeError> {
        let is_known = self.keys.iter().any(|key| key.signature == signature);
        if let Some(salt) = salt.filter(|salt| !is_known && !self.salts.contains(salt))
            && self.salts.len() < MOST_SALTS
        {
            self.salts.push(salt);
            self.keys.push(Key::of(self.passphrase.bytes(), salt)?);
        }
        let found = self.keys.iter().find(|key| key.signature == signature);
        let why = "which cannot be derived from the passphrase";
        found.ok_or_else(|| VolumeError::NoKeyFits(format!("it needs the key {signature}, {why}")))
    }
}

/// The signature of the key for contents that is derived from this passphrase, as printed by the programs of
/// ecryptfs-utils.
///
/// # Errors
/// None in practice.
pub fn signature_of(passphrase: &[u8]) -> Result<Signature, VolumeError> {
    Ok(Key::of(passphrase, SALT)?.signature)
}

/// Decrypts the passphrase in `wrapped` (version 1, or version 2 with its own salt) with the passphrase
/// `login`.
fn unwrap(wrapped: &[u8], login: &[u8], tier: Tier) -> Result<Secret, VolumeError> {
    let cut = || damaged("the wrapped passphrase is truncated");
    let (salt, mut rest) = match wrapped {
        [b':', 2, rest @ ..] => rest.split_first_chunk().map(|(salt, rest)| (*salt, rest)),
        [b':', version, ..] => {
            return Err(damaged(format!(
                "the wrapped passphrase has the unknown version {version}"
            )));
        }
        rest => Some((SALT, rest)),
    }
    .ok_or_else(cut)?;
    let signature: [u8; 16] = array(&mut rest).ok_or_else(cut)?;
    if !signature.iter().all(u8::is_ascii_hexdigit) {
        return Err(damaged("the file is not a wrapped passphrase"));
    }
    if rest.is_empty() || rest.len() > MOST_PASSPHRASE || !rest.len().is_multiple_of(16) {
        return Err(damaged(format!(
            "the wrapped passphrase has an invalid length: {} bytes",
            rest.len()
        )));
    }
    let key = Key::of(login, salt)?;
    if key.signature.to_string().as_bytes() != signature {
        let reason = "the login passphrase does not decrypt the wrapped passphrase";
        return Err(VolumeError::NoKeyFits(reason.to_owned()));
    }
    let mut text = LockedBytes::copy_of(rest);
    Cipher::of_code(7)?.each_block(&key.bytes[..16], &mut text, tier)?;
    let len = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    text.resize(len);
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(wrapped: &[u8], login: &str) -> Result<Secret, VolumeError> {
        unwrap(wrapped, login.as_bytes(), cryptbench_cipher::tier().unwrap())
    }

    /// The output of ecryptfs-add-passphrase of ecryptfs-utils 111 for this passphrase.
    #[test]
    fn a_key_is_named_as_the_program_names_it() {
        assert_eq!(signature_of(b"secret phrase").unwrap().to_string(), "8cc52ac324e5c4e3");
    }

    /// `printf 'mount pass\nlogin pass' | ecryptfs-wrap-passphrase FILE -` of ecryptfs-utils 111.
    const WRAPPED: &str =
        "3a02e6b26dbb2b48c7a732653861336437646265306233306234 98872b10857abee218b54e368bbf26eb";

    fn wrapped() -> Vec<u8> {
        let digits: Vec<u8> = WRAPPED.bytes().filter(|byte| *byte != b' ').collect();
        let byte =
            |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }

    #[test]
    fn a_wrapped_passphrase_is_opened_by_the_login_passphrase() {
        assert_eq!(opened(&wrapped(), "login pass").unwrap().bytes(), b"mount pass");
        let wrong = opened(&wrapped(), "login Pass").unwrap_err();
        assert!(matches!(wrong, VolumeError::NoKeyFits(_)), "{wrong}");
    }

    #[test]
    fn what_is_no_wrapped_passphrase_is_refused() {
        let whole = wrapped();
        let mut version = whole.clone();
        version[1] = 3;
        let mut digits = whole.clone();
        digits[10] = b'x';
        for bad in
            [&whole[..9], &whole[..26], &whole[..41], &version, &digits, b"", b"a passphrase"]
        {
            let error = opened(bad, "login pass").unwrap_err();
            assert!(matches!(error, VolumeError::Damaged { .. }), "{error}");
        }
    }
}
