//! The ciphers of TrueCrypt and VeraCrypt volumes, and how they encrypt headers and data.

use cryptbench_cipher::{
    CipherInfo, Layout, LegacyCipher, LegacyMode, SectorCipher, Tier, legacy_ciphers,
};

use super::header::{DATA_UNIT, ENCRYPTED_BYTES, Product};
use super::layout::Slot;
use crate::VolumeError;

/// A cipher or cascade in XTS.
#[derive(Debug)]
pub struct XtsScheme {
    /// Name in the registry of the cipher crate.
    pub cipher: &'static str,
    /// VeraCrypt's name, which lists the cipher that is applied last first.
    pub label: &'static str,
    /// Whether TrueCrypt also supports it.
    pub in_truecrypt: bool,
}

/// In the order in which VeraCrypt tries them; [`schemes`] returns them.
static XTS: &[XtsScheme] = &[
    both("aes-256-xts", "AES"),
    both("serpent-256-xts", "Serpent"),
    both("twofish-256-xts", "Twofish"),
    both("aes-twofish-xts", "AES(Twofish)"),
    both("aes-twofish-serpent-xts", "AES(Twofish(Serpent))"),
    both("serpent-aes-xts", "Serpent(AES)"),
    both("serpent-twofish-aes-xts", "Serpent(Twofish(AES))"),
    both("twofish-serpent-xts", "Twofish(Serpent)"),
    newer("camellia-256-xts", "Camellia"),
    newer("kuznyechik-xts", "Kuznyechik"),
    newer("camellia-kuznyechik-xts", "Camellia(Kuznyechik)"),
    newer("camellia-serpent-xts", "Camellia(Serpent)"),
    newer("kuznyechik-aes-xts", "Kuznyechik(AES)"),
    newer("kuznyechik-serpent-camellia-xts", "Kuznyechik(Serpent(Camellia))"),
    newer("kuznyechik-twofish-xts", "Kuznyechik(Twofish)"),
];

const fn both(cipher: &'static str, label: &'static str) -> XtsScheme {
    XtsScheme { cipher, label, in_truecrypt: true }
}

const fn newer(cipher: &'static str, label: &'static str) -> XtsScheme {
    XtsScheme { cipher, label, in_truecrypt: false }
}

/// The ciphers for new volumes.
pub fn schemes() -> &'static [XtsScheme] {
    XTS
}

/// The header is a single data unit with number 0.
const HEADER: Layout = Layout { data_unit: ENCRYPTED_BYTES, tweak_step: 1 };

/// The encryption of a volume.
#[derive(Clone, Copy)]
pub(super) enum Scheme {
    /// In XTS: TrueCrypt 5 and later, VeraCrypt.
    Xts(&'static XtsScheme),
    /// In LRW or CBC: TrueCrypt 1 to 4.
    Legacy(&'static LegacyCipher),
}

impl XtsScheme {
    fn info(&self) -> Result<&'static CipherInfo, VolumeError> {
        Ok(cryptbench_cipher::find(self.cipher)?)
    }
}

/// The ciphers of `product` in XTS.
fn xts_of(product: Product) -> impl Iterator<Item = &'static XtsScheme> {
    XTS.iter().filter(move |xts| product == Product::VeraCrypt || xts.in_truecrypt)
}

impl Scheme {
    /// Every scheme that a header of `product` in `slot` can use.
    pub(super) fn candidates(product: Product, slot: Slot) -> impl Iterator<Item = Self> {
        // The header locations of TrueCrypt before version 6.
        let old = matches!(slot, Slot::Primary | Slot::HiddenLegacy);
        let old = old && product == Product::TrueCrypt;
        let legacy = if old { legacy_ciphers() } else { &[] };
        xts_of(product).map(Self::Xts).chain(legacy.iter().map(Self::Legacy))
    }

    /// The cipher for a new volume of `product`, by its name in the registry or in VeraCrypt.
    pub(super) fn find(product: Product, name: &str) -> Result<Self, VolumeError> {
        let found = xts_of(product).find(|xts| xts.cipher == name || xts.label == name);
        found.map(Self::Xts).ok_or_else(|| {
            let known: Vec<_> = xts_of(product).map(|xts| xts.cipher).collect();
            VolumeError::Invalid(format!(
                "{} has no cipher `{name}` (known: {})",
                product.name(),
                known.join(", ")
            ))
        })
    }

    /// The format's name for the cipher.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Xts(xts) => xts.label,
            Self::Legacy(cipher) => cipher.name,
        }
    }

    pub(super) fn mode(self) -> String {
        match self {
            Self::Xts(_) => "XTS".to_owned(),
            Self::Legacy(cipher) => cipher.mode.to_string(),
        }
    }

    /// Length of the volume key in the key area, in bytes.
    pub(super) fn key_bytes(self) -> Result<usize, VolumeError> {
        match self {
            Self::Xts(xts) => Ok(xts.info()?.key_bytes),
            Self::Legacy(cipher) => Ok(LegacyCipher::IV_KEY_BYTES + cipher.key_bytes),
        }
    }

    /// Decrypts the encrypted part of a header in place; `key` starts with the header key.
    pub(super) fn decrypt_header(
        self,
        key: &[u8],
        header: &mut [u8; ENCRYPTED_BYTES],
        tier: Tier,
    ) -> Result<(), VolumeError> {
        match self {
            Self::Xts(xts) => xts.header_cipher(key, tier)?.decrypt_in_place(0, header),
            Self::Legacy(cipher) => {
                let (keys, iv_key) = legacy_keys(cipher, key);
                cipher.decrypt_header(keys, iv_key, tier, header)?;
            }
        }
        Ok(())
    }

    /// Encrypts a header in place; `key` starts with the header key.
    pub(super) fn encrypt_header(
        self,
        key: &[u8],
        header: &mut [u8; ENCRYPTED_BYTES],
        tier: Tier,
    ) -> Result<(), VolumeError> {
        match self {
            Self::Xts(xts) => xts.header_cipher(key, tier)?.encrypt_in_place(0, header),
            Self::Legacy(cipher) => {
                let (keys, iv_key) = legacy_keys(cipher, key);
                cipher.encrypt_header(keys, iv_key, tier, header)?;
            }
        }
        Ok(())
    }

    /// The cipher of the data area, keyed with the key area of the header.
    pub(super) fn keyed(
        self,
        keys: &[u8; 256],
        tier: Tier,
    ) -> Result<Box<dyn SectorCipher>, VolumeError> {
        match self {
            Self::Xts(xts) => {
                let info = xts.info()?;
                Ok(info.with_key(&keys[..info.key_bytes], Layout::SECTOR_512, tier)?)
            }
            Self::Legacy(cipher) => {
                let (keys, iv_key) = legacy_keys(cipher, keys);
                Ok(cipher.with_key(keys, iv_key, tier)?)
            }
        }
    }

    /// Number of the first data unit of a data area at `offset` on the host. XTS numbers data units from the
    /// start of the host. LRW and CBC number them from the start of the data, LRW beginning at 0 and CBC at 1;
    /// the same applies to hidden volumes.
    pub(super) fn first_tweak(self, offset: u64) -> u64 {
        match self {
            Self::Xts(_) => offset / DATA_UNIT,
            Self::Legacy(cipher) => u64::from(cipher.mode != LegacyMode::Lrw),
        }
    }
}

impl XtsScheme {
    fn header_cipher(&self, key: &[u8], tier: Tier) -> Result<Box<dyn SectorCipher>, VolumeError> {
        let info = self.info()?;
        Ok(info.with_key(&key[..info.key_bytes], HEADER, tier)?)
    }
}

/// Splits a key area or header key into the ciphers' keys and the bytes that precede them.
fn legacy_keys<'a>(cipher: &LegacyCipher, area: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let (iv_key, keys) = area.split_at(LegacyCipher::IV_KEY_BYTES);
    (&keys[..cipher.key_bytes], iv_key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tcrypt::unlock::KEY_BYTES;

    #[test]
    fn every_key_fits_into_a_header_key_and_every_line_is_in_the_registry() {
        let all = Scheme::candidates(Product::TrueCrypt, Slot::Primary);
        for scheme in all.chain(Scheme::candidates(Product::VeraCrypt, Slot::Primary)) {
            assert!(scheme.key_bytes().unwrap() <= KEY_BYTES, "{}", scheme.label());
            scheme.keyed(&[7; 256], Tier::Soft).unwrap();
        }
    }

    #[test]
    fn labels_are_those_of_the_registry() {
        for xts in XTS {
            let registry = xts.info().unwrap().label.trim_end_matches("-XTS").replace("-256", "");
            assert_eq!(registry, xts.label);
        }
    }

    #[test]
    fn headers_decrypt_to_what_was_encrypted() {
        let key: [u8; KEY_BYTES] = std::array::from_fn(|i| (i * 7) as u8);
        for scheme in Scheme::candidates(Product::TrueCrypt, Slot::Primary) {
            let mut header = [3; ENCRYPTED_BYTES];
            scheme.encrypt_header(&key, &mut header, Tier::Soft).unwrap();
            assert!(header[..16] != header[16..32], "{}", scheme.label());
            scheme.decrypt_header(&key, &mut header, Tier::Soft).unwrap();
            assert_eq!(header, [3; ENCRYPTED_BYTES], "{}", scheme.label());
        }
    }
}
