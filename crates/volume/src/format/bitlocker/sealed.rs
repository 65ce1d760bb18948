//! Keys in the metadata, sealed with AES-CCM under another key.

use cryptbench_blockdev::LockedBytes;
use cryptbench_cipher::{AesCcm, Tier};

use crate::VolumeError;
use crate::bytes::{array_at, u16_at};

/// Number of bytes before the key in unsealed data: an entry's header and the number of the key's use.
const KEY_HEADER: usize = 12;

/// Maximum accepted size of a sealed key in bytes; the longest known one has 76.
const MOST: usize = 1024;

/// A sealed key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sealed {
    pub nonce: [u8; 12],
    pub tag: [u8; 16],
    pub data: Vec<u8>,
}

/// An unsealed key.
pub(super) struct Key {
    /// The number that identifies its use: a cipher, or a kind of key.
    pub number: u16,
    pub bytes: LockedBytes,
}

impl Sealed {
    /// The contents of an entry of kind [`kind::SEALED`](super::dataset::kind::SEALED).
    pub(super) fn parse(data: &[u8]) -> Option<Self> {
        let sealed = data.get(28..).filter(|sealed| sealed.len() <= MOST)?;
        Some(Self { nonce: array_at(data, 0)?, tag: array_at(data, 12)?, data: sealed.to_vec() })
    }

    /// Serialises it as the contents of an entry.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        [&self.nonce[..], &self.tag, &self.data].concat()
    }

    /// Unseals the key; `None` if `key` does not fit.
    ///
    /// # Errors
    /// [`VolumeError::Damaged`] if `key` fits but the data contains no key.
    pub(super) fn open(&self, key: &[u8], tier: Tier) -> Result<Option<Key>, VolumeError> {
        let mut plain = LockedBytes::copy_of(&self.data);
        if !AesCcm::new(key, tier)?.open(&self.nonce, &self.tag, &mut plain) {
            return Ok(None);
        }
        let len = u16_at(&plain, 0).map(usize::from);
        let (kind, number) = (u16_at(&plain, 4), u16_at(&plain, 8));
        match (kind, number, plain.get(KEY_HEADER..)) {
            (Some(super::dataset::kind::KEY), Some(number), Some(bytes))
                if len == Some(plain.len()) =>
            {
                Ok(Some(Key { number, bytes: LockedBytes::copy_of(bytes) }))
            }
            _ => Err(super::damaged("a sealed entry contains no key")),
        }
    }

    /// Seals a key.
    pub(super) fn seal(
        inner: &Key,
        nonce: [u8; 12],
        key: &[u8],
        tier: Tier,
    ) -> Result<Self, VolumeError> {
        let len = KEY_HEADER + inner.bytes.len();
        let mut plain = LockedBytes::zeroed(len);
        plain[..2].copy_from_slice(&(len as u16).to_le_bytes());
        plain[4..6].copy_from_slice(&super::dataset::kind::KEY.to_le_bytes());
        plain[8..10].copy_from_slice(&inner.number.to_le_bytes());
        plain[KEY_HEADER..].copy_from_slice(&inner.bytes);
        let tag = AesCcm::new(key, tier)?.seal(&nonce, &mut plain);
        Ok(Self { nonce, tag, data: plain.to_vec() })
    }
}
