//! File names and link targets, which are encrypted with a separate key.

use cryptbench_cipher::Tier;

use super::cipher::Cipher;
use super::key::{Key, Keys, Signature};
use super::packet::{array, packet};
use super::{damaged, md5};
use crate::VolumeError;

/// The prefix of an encrypted name.
const PREFIX: &[u8] = b"ECRYPTFS_FNEK_ENCRYPTED.";

const LETTERS: &[u8] = b"-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The packet number of such a name.
const PACKET: u8 = 70;

/// The value that replaces zeros in the bytes before a name (`ECRYPTFS_NON_NULL`).
const NOT_ZERO: u8 = 0x42;

/// The signature of the key that encrypted `name`; `None` if the name is not encrypted.
///
/// # Errors
/// [`VolumeError::Damaged`].
pub fn signature(name: &[u8]) -> Result<Option<Signature>, VolumeError> {
    Encrypted::parse(name).map(|name| name.map(|name| name.signature))
}

/// The decrypted name of a file: one component of a path.
///
/// # Errors
/// [`VolumeError::Damaged`], also if the name would lead out of its directory; [`VolumeError::NoKeyFits`];
/// [`VolumeError::CannotOpen`] for an unsupported cipher.
pub fn plain_name(name: &[u8], keys: &mut Keys) -> Result<Vec<u8>, VolumeError> {
    let plain = link_target(name, keys)?;
    if matches!(&plain[..], b"." | b"..") || plain.contains(&b'/') {
        return Err(damaged("its name leads outside the directory"));
    }
    Ok(plain)
}

/// The decrypted target of a symbolic link.
///
/// # Errors
/// As for [`plain_name`].
pub fn link_target(target: &[u8], keys: &mut Keys) -> Result<Vec<u8>, VolumeError> {
    let plain = match Encrypted::parse(target)? {
        None => target.to_vec(),
        Some(encrypted) => {
            let tier = keys.tier;
            encrypted.open(keys.find(encrypted.signature, None)?, tier)?
        }
    };
    match plain.is_empty() || plain.contains(&0) {
        true => Err(damaged("its name is empty or contains zero bytes")),
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
        let packed =
            bytes_of(letters).ok_or_else(|| damaged("its name contains invalid characters"))?;
        let parsed = (|| {
            let mut body = packet(&mut &packed[..], PACKET)?;
            let signature = Signature(array(&mut body)?);
            Some(Self { signature, code: *body.split_off_first()?, blocks: body.to_vec() })
        })();
        Ok(Some(parsed.ok_or_else(|| damaged("its name is truncated"))?))
    }

    /// Decrypts the name. For some ciphers the packet does not determine the key length, so all lengths are tried. With
    /// the right length, the result starts with the prefix that the kernel writes, a hash of the key.
    fn open(&self, key: &Key, tier: Tier) -> Result<Vec<u8>, VolumeError> {
        let cipher = Cipher::of_code(self.code)?;
        let before = md5(&[&key.bytes])?.map(|byte| if byte == 0 { NOT_ZERO } else { byte });
        for bytes in cipher.lengths()? {
            let mut plain = self.blocks.clone();
            cipher.each_block(&key.bytes[..bytes], &mut plain, tier)?;
            let Some(after) = plain.strip_prefix(&before[..]) else { continue };
            // More of these bytes pad the blocks; no such byte is zero.
            if let Some(end) = after.iter().position(|byte| *byte == 0) {
                return Ok(after[end + 1..].to_vec());
            }
        }
        Err(damaged("its name cannot be decrypted"))
    }
}

/// Decodes six bits from each letter of [`LETTERS`], most significant bit first.
fn bytes_of(letters: &[u8]) -> Option<Vec<u8>> {
    let six = |letter: &u8| LETTERS.iter().position(|known| known == letter);
    let sixes: Vec<usize> = letters.iter().map(six).collect::<Option<_>>()?;
    let whole = |four: &[usize]| {
        let bits = (0..4).fold(0, |bits, at| bits << 6 | four.get(at).copied().unwrap_or(0));
        let three = [bits >> 16, bits >> 8, bits].map(|byte| byte as u8);
        three.into_iter().take(four.len() * 6 / 8)
    };
    Some(sixes.chunks(4).flat_map(whole).collect())
}
