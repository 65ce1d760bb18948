//! A dm-crypt cipher specification, such as `aes-xts-plain64`, and the cipher that it specifies.

use std::fmt;

use cryptbench_cipher::{CipherError, Layout, SectorCipher, Tier};

use crate::VolumeError;

/// A cipher, its chaining mode and IV generator, as LUKS headers specify them.
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

    /// The cipher and key length of LUKS2 keyslots if the data's cipher is unsuitable, as in cryptsetup.
    pub(super) fn of_keyslots() -> (Self, usize) {
        (Self { cipher: "aes".to_owned(), mode: "xts-plain64".to_owned() }, 64)
    }

    /// Checks that the cipher exists and accepts a key of `key_bytes`.
    pub(super) fn check(&self, key_bytes: usize) -> Result<(), VolumeError> {
        let lengths = cryptbench_cipher::dm_crypt_key_bytes(&self.cipher, &self.mode)
            .map_err(|error| self.cannot(&error))?;
        if lengths.is_empty() || lengths.contains(&key_bytes) {
            return Ok(());
        }
        let lengths: Vec<_> = lengths.iter().map(usize::to_string).collect();
        Err(VolumeError::CannotOpen {
            what: format!("the cipher {self}"),
            why: format!(
                "its key is {key_bytes} bytes long, but the cipher needs {}",
                lengths.join(" or ")
            ),
            with: WITH.to_owned(),
        })
    }

    /// Whether the cipher is the null cipher, under any of its names.
    pub(super) fn is_null(&self) -> bool {
        let lengths = cryptbench_cipher::dm_crypt_key_bytes(&self.cipher, &self.mode);
        lengths.is_ok_and(|lengths| lengths.is_empty())
    }

    /// Whether LUKS2 keyslots can be encrypted with this cipher. If the data is not encrypted or has several keys,
    /// cryptsetup uses AES-XTS.
    pub(super) fn suits_keyslots(&self) -> bool {
        !self.is_null() && (!self.cipher.contains(':') || self.cipher.starts_with("capi:"))
    }

    /// The cipher under `key` for sectors of `sector` bytes, whose tweaks are 512-byte sector numbers.
    ///
    /// # Errors
    /// [`VolumeError::CannotOpen`] if the cipher does not exist or does not accept a key of this length.
    pub(super) fn with_key(
        &self,
        key: &[u8],
        sector: u32,
        tier: Tier,
    ) -> Result<Box<dyn SectorCipher>, VolumeError> {
        self.keyed(key, sector, tier).map_err(|error| self.cannot(&error))
    }

    /// The cipher for the key material of keyslots.
    pub(super) fn for_keyslot(
        &self,
        key: &[u8],
        tier: Tier,
    ) -> Result<Box<dyn SectorCipher>, VolumeError> {
        let layout = Layout { data_unit: super::SECTOR as usize, tweak_step: 1 };
        cryptbench_cipher::of_keyslots(&self.cipher, &self.mode, key, layout, tier)
            .map_err(|error| self.cannot(&error))
    }

    /// [`with_key`](Self::with_key) for a cipher that the user specified.
    pub(super) fn keyed(
        &self,
        key: &[u8],
        sector: u32,
        tier: Tier,
    ) -> Result<Box<dyn SectorCipher>, CipherError> {
        let tweak_step = u64::from(sector) / super::SECTOR;
        let layout = Layout { data_unit: sector as usize, tweak_step };
        cryptbench_cipher::dm_crypt(&self.cipher, &self.mode, key, layout, tier)
    }

    fn cannot(&self, error: &CipherError) -> VolumeError {
        let begins =
            |name: &str| self.cipher == name || self.cipher.starts_with(&format!("{name}:"));
        let (why, with) = if begins("paes") {
            (
                "its keys are available only on IBM Z CPUs".to_owned(),
                "open it there with cryptsetup",
            )
        } else if begins("cipher_null") {
            ("it does not encrypt".to_owned(), "cryptsetup opens it")
        } else if self.cipher.contains(':')
            && !self.cipher.starts_with("capi:")
            && matches!(error, CipherError::DmCryptCipher { .. })
        {
            ("this program does not support the cipher with so many keys".to_owned(), WITH)
        } else if self.mode.ends_with("random") {
            ("it needs dm-integrity for its tags".to_owned(), WITH)
        } else {
            let why = match error {
                CipherError::DmCryptCipher { .. } => {
                    "this program does not support the cipher".to_owned()
                }
                CipherError::DmCryptMode { .. } => {
                    "this program does not support the mode".to_owned()
                }
                CipherError::EssivHash { name, .. } => {
                    format!("this program does not support ESSIV with {name}")
                }
                other => other.to_string(),
            };
            (why, WITH)
        };
        VolumeError::CannotOpen { what: format!("the cipher {self}"), why, with: with.to_owned() }
    }
}

/// A program that opens a volume whose cipher this program does not have.
pub(super) const WITH: &str = "cryptsetup opens it if the kernel supports it";

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dash = if self.mode.is_empty() { "" } else { "-" };
        write!(f, "{}{dash}{}", self.cipher, self.mode)
    }
}
