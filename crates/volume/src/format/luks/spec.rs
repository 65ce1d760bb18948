//! A dm-crypt cipher specification, such as `aes-xts-plain64`, and the cipher it names.

use std::fmt;

use cryptbench_cipher::{Layout, SectorCipher, Tier};

use crate::VolumeError;

/// A cipher, its chaining mode and IV generator, as LUKS headers name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    /// Cipher, such as `aes`.
    pub cipher: String,
    /// Mode and IV generator, such as `xts-plain64`.
    pub mode: String,
}

impl Spec {
    /// Splits `cipher-mode-iv`; `None` if a part is missing.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (cipher, mode) = text.split_once('-')?;
        (!cipher.is_empty() && !mode.is_empty())
            .then(|| Self { cipher: cipher.to_owned(), mode: mode.to_owned() })
    }

    /// Checks that the cipher exists and takes a key of `key_bytes`.
    ///
    /// # Errors
    /// [`VolumeError::Cipher`] if the cipher does not exist; [`VolumeError::Unsupported`] if it
    /// takes no key of this length.
    pub(super) fn check(&self, key_bytes: usize) -> Result<(), VolumeError> {
        let lengths = cryptbench_cipher::dm_crypt_key_bytes(&self.cipher, &self.mode)?;
        if lengths.contains(&key_bytes) {
            return Ok(());
        }
        let lengths: Vec<_> = lengths.iter().map(usize::to_string).collect();
        Err(VolumeError::Unsupported {
            what: format!("{self} with a key of {key_bytes} bytes"),
            hint: Some(format!("it takes {}", lengths.join(" or "))),
        })
    }

    /// The cipher under `key` for sectors of `sector` bytes, whose tweaks count 512-byte sectors.
    ///
    /// # Errors
    /// [`VolumeError::Cipher`] if the cipher does not exist or takes no key of this length.
    pub(super) fn with_key(
        &self,
        key: &[u8],
        sector: u32,
        tier: Tier,
    ) -> Result<Box<dyn SectorCipher>, VolumeError> {
        let tweak_step = u64::from(sector) / super::SECTOR;
        let layout = Layout { data_unit: sector as usize, tweak_step };
        Ok(cryptbench_cipher::dm_crypt(&self.cipher, &self.mode, key, layout, tier)?)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.cipher, self.mode)
    }
}
