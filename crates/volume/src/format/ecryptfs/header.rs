//! The header of a lower file: the file's length and its key, which is encrypted with one or more other keys.

use cryptbench_blockdev::LockedBytes;

use super::cipher::Cipher;
use super::key::{Keys, Salt, Signature};
use super::packet::{array, packet};
use super::{FORMAT, damaged};
use crate::VolumeError;

/// Size of an extent in bytes; each extent is encrypted independently.
pub(super) const EXTENT: usize = 4096;

/// Number of bytes at the start of a lower file that [`Header::parse`] needs: the size of the shortest header.
pub const START: usize = 8192;

/// Offset and length of the marker of a lower file.
pub const MARKED: std::ops::Range<usize> = 8..16;

/// The difference between the two halves of the marker (`MAGIC_ECRYPTFS_MARKER`).
const MARKER: u32 = 0x3c81_b7f5;

/// The newest version of the format, and the flag for encrypted files.
const VERSION: u8 = 3;
const ENCRYPTED: u8 = 2;

/// Packet numbers: a key encrypted under a passphrase, its signature, and a key encrypted under a public key.
const UNDER_PASSPHRASE: u8 = 0x8c;
const LITERAL: u8 = 0xed;
const UNDER_PUBLIC_KEY: u8 = 1;

/// Maximum size of an encrypted key (`ECRYPTFS_MAX_ENCRYPTED_KEY_BYTES`), and maximum number of keys that are
/// accepted in one file; the kernel writes one or two.
const MOST_KEY: usize = 512;
const MOST_WRAPS: usize = 32;

/// An encrypted key of a file.
#[derive(Clone, Debug)]
struct Wrap {
    code: u8,
    salt: Salt,
    signature: Signature,
    encrypted: Vec<u8>,
}

/// The header of a lower file.
#[derive(Clone, Debug)]
pub struct Header {
    /// Size of the decrypted file in bytes.
    pub size: u64,
    /// Size of the header in bytes.
    pub data: u64,
    /// At least one wrapped key.
    wraps: Vec<Wrap>,
}

/// Whether the bytes at [`MARKED`] identify a lower file.
pub fn is_marked(marker: [u8; 8]) -> bool {
    let [a, b] = [0, 4].map(|at| u32::from_be_bytes([0, 1, 2, 3].map(|byte| marker[at + byte])));
    a ^ b == MARKER
}

impl Header {
    /// Parses the header in the first [`START`] bytes of a file, or in the whole file if it is shorter.
    ///
    /// # Errors
    /// [`VolumeError::NotThisFormat`] if there is no marker; [`VolumeError::Damaged`];
    /// [`VolumeError::CannotOpen`] if the key is encrypted only under a public key, and for a later version.
    pub fn parse(start: &[u8]) -> Result<Self, VolumeError> {
        if start.is_empty() {
            let reason = "the file has no header, although even empty files have one";
            return Err(damaged(reason));
        }
        let mut rest = start;
        let size = array(&mut rest).map(u64::from_be_bytes);
        let (Some(size), Some(true)) = (size, array(&mut rest).map(is_marked)) else {
            let reason =
                "it is not encrypted, or its header is in an extended attribute".to_owned();
            return Err(VolumeError::NotThisFormat { format: FORMAT, reason });
        };
        let fields = (array(&mut rest), array(&mut rest), array(&mut rest));
        let (Some([version, _, _, flags]), Some(unit), Some(units)) = fields else {
            return Err(damaged("its header is truncated"));
        };
        if version > VERSION {
            return Err(cannot(format!("a file of version {version}"), "the format is newer"));
        }
        if flags & ENCRYPTED == 0 {
            return Err(damaged("it is marked as not encrypted"));
        }
        let data = u64::from(u32::from_be_bytes(unit)) * u64::from(u16::from_be_bytes(units));
        if data < START as u64 || !data.is_multiple_of(EXTENT as u64) {
            return Err(damaged(format!("its header has an invalid size: {data} bytes")));
        }
        if i64::try_from(size).is_err() {
            return Err(damaged(format!(
                "its size, {size} bytes, exceeds the maximum size of a file"
            )));
        }
        Ok(Self { size, data, wraps: wraps(rest)? })
    }

    /// The file's encryption: the number of the cipher, the length of the key in bytes, and the signature of
    /// the first key that opens the file.
    pub fn encryption(&self) -> (u8, usize, Signature) {
        let wrap = &self.wraps[0];
        (wrap.code, wrap.key_bytes(), wrap.signature)
    }

    /// Size of the whole lower file in bytes.
    pub fn whole(&self) -> u64 {
        self.data.saturating_add(self.size.next_multiple_of(EXTENT as u64))
    }

    /// Fails if `keys` do not open the file.
    ///
    /// # Errors
    /// [`VolumeError::NoKeyFits`]; [`VolumeError::CannotOpen`] for an unsupported cipher;
    /// [`VolumeError::Damaged`].
    pub fn is_opened_by(&self, keys: &mut Keys) -> Result<(), VolumeError> {
        self.key(keys).map(drop)
    }

    /// The cipher of the content, and its key.
    pub(super) fn key(&self, keys: &mut Keys) -> Result<(Cipher, LockedBytes), VolumeError> {
        let tier = keys.tier;
        let is_known = |wrap: &&Wrap| keys.find(wrap.signature, Some(wrap.salt)).is_ok();
        let wrap = self.wraps.iter().find(is_known).unwrap_or(&self.wraps[0]);
        let key = keys.find(wrap.signature, None)?;
        let (cipher, bytes) = (Cipher::of_code(wrap.code)?, wrap.key_bytes());
        if !cipher.lengths()?.contains(&bytes) {
            return Err(damaged(format!("a {bytes}-byte key for {}", cipher.name)));
        }
        let mut opened = LockedBytes::copy_of(&wrap.encrypted);
        cipher.each_block(&key.bytes[..bytes], &mut opened, tier)?;
        opened.resize(bytes);
        Ok((cipher, opened))
    }
}

impl Wrap {
    /// Reads a key that is encrypted under a passphrase, and the signature that follows it.
    fn read(from: &mut &[u8]) -> Option<Self> {
        let mut body = packet(from, UNDER_PASSPHRASE)?;
        let [4, code, 3, 1] = array(&mut body)? else { return None };
        let salt = array(&mut body)?;
        // Number of hash iterations that the kernel would apply to a passphrase. The user-space programs hash
        // it instead, always with the same number of iterations.
        let encrypted = body.split_off(1..)?.to_vec();
        let mut literal = packet(from, LITERAL)?;
        let [b'b', 8] = array(&mut literal)? else { return None };
        // The signature follows a name and a date.
        let signature = Signature(literal.split_off(12..)?.try_into().ok()?);
        let fits = (1..=MOST_KEY).contains(&encrypted.len());
        fits.then_some(Self { code, salt, signature, encrypted })
    }

    /// Length of the key in bytes: a 24-byte AES key is followed by eight zeros, which are encrypted as well.
    fn key_bytes(&self) -> usize {
        let known = Cipher::of_code(self.code).ok().and_then(|cipher| cipher.key_bytes);
        let is_padded = |bytes: &usize| *bytes == 24 && self.encrypted.len() == 32;
        known.filter(is_padded).unwrap_or(self.encrypted.len())
    }
}

/// The keys in the packets of a header.
fn wraps(mut packets: &[u8]) -> Result<Vec<Wrap>, VolumeError> {
    let cut = || damaged("its key packet is not valid");
    let (mut wraps, mut has_public) = (Vec::new(), false);
    while wraps.len() < MOST_WRAPS {
        match packets.first() {
            Some(&UNDER_PASSPHRASE) => wraps.push(Wrap::read(&mut packets).ok_or_else(cut)?),
            Some(&UNDER_PUBLIC_KEY) => {
                has_public = true;
                packet(&mut packets, UNDER_PUBLIC_KEY).ok_or_else(cut)?;
            }
            _ => break,
        }
    }
    match has_public {
        _ if !wraps.is_empty() => Ok(wraps),
        true => {
            Err(cannot("a file encrypted with a public key".to_owned(), "it has no passphrase"))
        }
        false => Err(damaged("it has no key")),
    }
}

fn cannot(what: String, why: &str) -> VolumeError {
    let with = "the kernel's eCryptfs can open it".to_owned();
    VolumeError::CannotOpen { what, why: why.to_owned(), with }
}
