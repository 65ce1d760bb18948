//! The header of a lower file: its length, and its key, encrypted with one or more others.

use cryptbench_blockdev::LockedBytes;

use super::cipher::Cipher;
use super::key::{Keys, Salt, Signature};
use super::packet::Bytes;
use super::{FORMAT, damaged, no_key};
use crate::VolumeError;

/// Bytes of an extent, which is encrypted by itself.
pub(super) const EXTENT: usize = 4096;

/// Bytes of the start of a lower file that [`Header::parse`] takes: the shortest header.
pub const START: usize = 8192;

/// Where the marker of a lower file is, and how long it is.
pub const MARKED: std::ops::Range<usize> = 8..16;

/// What the two halves of the marker differ by (`MAGIC_ECRYPTFS_MARKER`).
const MARKER: u32 = 0x3c81_b7f5;

/// The newest version of the format.
const VERSION: u8 = 3;

/// The file is encrypted.
const ENCRYPTED: u32 = 2;

/// Numbers of packets: a key under a passphrase, its signature, a key under a public key.
const UNDER_PASSPHRASE: u8 = 0x8c;
const LITERAL: u8 = 0xed;
const UNDER_PUBLIC_KEY: u8 = 1;

/// Most bytes of an encrypted key (`ECRYPTFS_MAX_ENCRYPTED_KEY_BYTES`).
const MOST_KEY: usize = 512;

/// Most keys that one file is believed to have: the kernel writes one or two.
const MOST_WRAPS: usize = 32;

/// A key of a file, encrypted.
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
    /// Bytes of the file as its user sees it.
    pub size: u64,
    /// Bytes of the header.
    pub data: u64,
    wraps: Vec<Wrap>,
}

/// Whether these bytes of [`MARKED`] mark a lower file.
#[must_use]
pub fn is_marked(marker: [u8; 8]) -> bool {
    let [a, b] = [0, 4].map(|at| u32::from_be_bytes([0, 1, 2, 3].map(|byte| marker[at + byte])));
    a ^ b == MARKER
}

impl Header {
    /// The header in the first [`START`] bytes of a file, or in all that it has.
    ///
    /// # Errors
    /// [`VolumeError::NotThisFormat`] without a marker; [`VolumeError::Damaged`]; [`VolumeError::CannotOpen`] for a key that
    /// only a public key opens, and for a later version.
    pub fn parse(start: &[u8]) -> Result<Self, VolumeError> {
        if start.is_empty() {
            return Err(damaged(
                "the file is empty, without the header that even empty files have",
            ));
        }
        let mut bytes = Bytes(start);
        let size = bytes.array().map(u64::from_be_bytes);
        let (Some(size), Some(true)) = (size, bytes.array().map(is_marked)) else {
            let reason =
                "it is not encrypted, or its header is in an extended attribute".to_owned();
            return Err(VolumeError::NotThisFormat { format: FORMAT, reason });
        };
        let cut = || damaged("its header is cut short");
        let flags = bytes.array().map(u32::from_be_bytes).ok_or_else(cut)?;
        let version = (flags >> 24) as u8;
        if version > VERSION {
            return Err(cannot(format!("a file of version {version}"), "the format is newer"));
        }
        if flags & ENCRYPTED == 0 {
            return Err(damaged("it says that it is not encrypted"));
        }
        let unit = bytes.array().map(u32::from_be_bytes).ok_or_else(cut)?;
        let units = bytes.array().map(u16::from_be_bytes).ok_or_else(cut)?;
        let data = u64::from(unit) * u64::from(units);
        if data < START as u64 || !data.is_multiple_of(EXTENT as u64) {
            return Err(damaged(format!("a header of {data} bytes")));
        }
        if i64::try_from(size).is_err() {
            return Err(damaged(format!("{size} bytes are more than a file can have")));
        }
        Ok(Self { size, data, wraps: wraps(bytes.0)? })
    }

    /// What encrypts it: the cipher's number, and the bytes of its key.
    #[must_use]
    pub fn cipher(&self) -> (u8, usize) {
        self.wraps.first().map_or((0, 0), |wrap| (wrap.code, wrap.key_bytes()))
    }

    /// The signatures of the keys that open it.
    #[must_use]
    pub fn signatures(&self) -> Vec<Signature> {
        self.wraps.iter().map(|wrap| wrap.signature).collect()
    }

    /// Bytes of the whole lower file.
    #[must_use]
    pub fn whole(&self) -> u64 {
        self.data.saturating_add(self.size.next_multiple_of(EXTENT as u64))
    }

    /// Refuses keys that do not open it.
    ///
    /// # Errors
    /// [`VolumeError::NoKeyFits`]; [`VolumeError::CannotOpen`] for a cipher that is not there; [`VolumeError::Damaged`].
    pub fn is_opened_by(&self, keys: &mut Keys) -> Result<(), VolumeError> {
        self.key(keys).map(drop)
    }

    /// The cipher of the content, and its key.
    pub(super) fn key(&self, keys: &mut Keys) -> Result<(Cipher, LockedBytes), VolumeError> {
        let tier = keys.tier;
        for wrap in &self.wraps {
            let Some(key) = keys.find(wrap.signature, Some(wrap.salt)) else { continue };
            let (cipher, bytes) = (Cipher::of_code(wrap.code)?, wrap.key_bytes());
            if !cipher.lengths()?.contains(&bytes) {
                return Err(damaged(format!("a key of {bytes} bytes for {}", cipher.name)));
            }
            let mut opened = LockedBytes::copy_of(&wrap.encrypted);
            cipher.each_block(&key.bytes[..bytes], &mut opened, tier)?;
            opened.resize(bytes);
            return Ok((cipher, opened));
        }
        Err(self
            .wraps
            .first()
            .map_or_else(|| damaged("it has no key"), |wrap| no_key(wrap.signature)))
    }
}

impl Wrap {
    /// Bytes of the key: those of AES with 24 are followed by eight zeros, which are encrypted, too.
    fn key_bytes(&self) -> usize {
        let known = Cipher::of_code(self.code).ok().and_then(|cipher| cipher.key_bytes);
        match known.filter(|bytes| *bytes == 24 && self.encrypted.len() == 32) {
            Some(bytes) => bytes,
            None => self.encrypted.len(),
        }
    }
}

/// The keys in the packets of a header.
fn wraps(packets: &[u8]) -> Result<Vec<Wrap>, VolumeError> {
    let mut bytes = Bytes(packets);
    let (mut wraps, mut has_public) = (Vec::new(), false);
    while wraps.len() < MOST_WRAPS {
        match bytes.0.first() {
            Some(&UNDER_PASSPHRASE) => {
                wraps.push(wrap(&mut bytes).ok_or_else(|| damaged("the packet of its key"))?);
            }
            Some(&UNDER_PUBLIC_KEY) => {
                has_public = true;
                bytes.packet(UNDER_PUBLIC_KEY).ok_or_else(|| damaged("the packet of its key"))?;
            }
            _ => break,
        }
    }
    match (wraps.is_empty(), has_public) {
        (true, true) => {
            Err(cannot("a file under a public key".to_owned(), "there is no passphrase"))
        }
        (true, false) => Err(damaged("it has no key")),
        (false, _) => Ok(wraps),
    }
}

/// A key under a passphrase, and the signature that follows it.
fn wrap(bytes: &mut Bytes<'_>) -> Option<Wrap> {
    let mut body = bytes.packet(UNDER_PASSPHRASE)?;
    let [4, code, 3, 1] = body.array()? else { return None };
    let salt = body.array()?;
    // How often the kernel would hash a passphrase; programs do that, always as often.
    body.byte()?;
    let encrypted = body.0.to_vec();
    let mut literal = bytes.packet(LITERAL)?;
    let [b'b', 8] = literal.array()? else { return None };
    // A name and a date.
    literal.take(12)?;
    let signature = Signature(literal.0.try_into().ok()?);
    let fits = !encrypted.is_empty() && encrypted.len() <= MOST_KEY;
    fits.then_some(Wrap { code, salt, signature, encrypted })
}

fn cannot(what: String, why: &str) -> VolumeError {
    let with = "eCryptfs of the kernel opens it".to_owned();
    VolumeError::CannotOpen { what, why: why.to_owned(), with }
}
