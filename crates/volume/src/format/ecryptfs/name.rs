//! Names of files and targets of links, encrypted with a key of their own.

use cryptbench_cipher::Tier;

use super::cipher::Cipher;
use super::key::{Key, Keys, Signature};
use super::packet::Bytes;
use super::{damaged, no_key};
use crate::VolumeError;

/// What an encrypted name begins with.
pub const PREFIX: &[u8] = b"ECRYPTFS_FNEK_ENCRYPTED.";

/// The number of the packet that such a name is.
const PACKET: u8 = 70;

/// Bytes before a name that the kernel makes of the key (`ECRYPTFS_FILENAME_MIN_RANDOM_PREPEND_BYTES`).
const BEFORE: usize = 16;

/// What stands there for a zero (`ECRYPTFS_NON_NULL`).
const NOT_ZERO: u8 = 0x42;

/// The signature of the key of an encrypted name; `None` of a plain one.
///
/// # Errors
/// [`VolumeError::Damaged`].
pub fn signature(name: &[u8]) -> Result<Option<Signature>, VolumeError> {
    Encrypted::parse(name).map(|name| name.map(|name| name.signature))
}

/// The name of a file as its user sees it: one component of a path.
///
/// # Errors
/// [`VolumeError::Damaged`], also where it would lead out of its directory; [`VolumeError::NoKeyFits`];
/// [`VolumeError::CannotOpen`] for a cipher that is not there.
pub fn plain_name(name: &[u8], keys: &mut Keys) -> Result<Vec<u8>, VolumeError> {
    let plain = decoded(name, keys)?;
    if matches!(&plain[..], b"." | b"..") || plain.contains(&b'/') {
        return Err(damaged("its name leads elsewhere"));
    }
    Ok(plain)
}

/// The target of a symbolic link as its user sees it.
///
/// # Errors
/// As of [`plain_name`].
pub fn link_target(target: &[u8], keys: &mut Keys) -> Result<Vec<u8>, VolumeError> {
    decoded(target, keys)
}

fn decoded(name: &[u8], keys: &mut Keys) -> Result<Vec<u8>, VolumeError> {
    let plain = match Encrypted::parse(name)? {
        None => name.to_vec(),
        Some(encrypted) => {
            let tier = keys.tier;
            let key = keys.find(encrypted.signature, None);
            encrypted.open(key.ok_or_else(|| no_key(encrypted.signature))?, tier)?
        }
    };
    match plain.is_empty() || plain.contains(&0) {
        true => Err(damaged("its name is empty, or has zeros in it")),
        false => Ok(plain),
    }
}

struct Encrypted {
    signature: Signature,
    code: u8,
    blocks: Vec<u8>,
}

impl Encrypted {
    fn parse(name: &[u8]) -> Result<Option<Self>, VolumeError> {
        let Some(letters) = name.strip_prefix(PREFIX).filter(|letters| !letters.is_empty()) else {
            return Ok(None);
        };
        let packet = bytes_of(letters).ok_or_else(|| damaged("its name has other letters"))?;
        let parsed = (|| {
            let mut body = Bytes(&packet).packet(PACKET)?;
            let signature = Signature(body.array()?);
            Some(Self { signature, code: body.byte()?, blocks: body.0.to_vec() })
        })();
        Ok(Some(parsed.ok_or_else(|| damaged("its name is cut short"))?))
    }

    /// Of some ciphers the packet does not tell the length of the key: the right one gives what the kernel puts first.
    fn open(&self, key: &Key, tier: Tier) -> Result<Vec<u8>, VolumeError> {
        let cipher = Cipher::of_code(self.code)?;
        let before = before(&key.bytes)?;
        for bytes in cipher.lengths()? {
            let mut plain = self.blocks.clone();
            cipher.each_block(&key.bytes[..bytes], &mut plain, tier)?;
            let Some(after) = plain.strip_prefix(&before[..]) else { continue };
            // More of these bytes fill the blocks up, and none is zero.
            if let Some(end) = after.iter().position(|byte| *byte == 0) {
                return Ok(after[end + 1..].to_vec());
            }
        }
        Err(damaged("its name does not decrypt"))
    }
}

/// What the kernel puts before every name that it encrypts with `key`.
fn before(key: &[u8]) -> Result<[u8; BEFORE], VolumeError> {
    let mut hash = [0; BEFORE];
    cryptbench_kdf::find("md5")?.hash(&[key], &mut hash);
    Ok(hash.map(|byte| if byte == 0 { NOT_ZERO } else { byte }))
}

/// Six bits for each letter of `-.0-9A-Za-z`, the highest first; `None` where there is another one.
fn bytes_of(letters: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in letters {
        let six = match letter {
            b'-' => 0,
            b'.' => 1,
            b'0'..=b'9' => letter - b'0' + 2,
            b'A'..=b'Z' => letter - b'A' + 12,
            b'a'..=b'z' => letter - b'a' + 38,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}
