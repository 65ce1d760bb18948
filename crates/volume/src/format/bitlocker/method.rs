//! The ciphers for the data, with BitLocker's numbers for them.

use std::fmt;

use cryptbench_blockdev::LockedBytes;
use cryptbench_catalog::{
    AES_128_CBC, AES_128_CBC_ELEPHANT, AES_128_XTS, AES_256_CBC, AES_256_CBC_ELEPHANT, AES_256_XTS,
    Cipher,
};
use cryptbench_cipher::{CipherError, Layout, SectorCipher, Tier, dm_crypt};

/// A cipher of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// AES-CBC with the Elephant diffuser, 128 bits: Windows Vista and 7.
    Elephant128,
    /// AES-CBC with the Elephant diffuser, 256 bits.
    Elephant256,
    /// AES-CBC, 128 bits: Windows 8, and still used for removable media.
    Cbc128,
    /// AES-CBC, 256 bits.
    Cbc256,
    /// AES-XTS, 128 bits: the default since Windows 10.
    Xts128,
    /// AES-XTS, 256 bits.
    Xts256,
}

/// The methods, with their numbers and their names in dm-crypt.
static METHODS: [(Method, u16, &Cipher); 6] = [
    (Method::Elephant128, 0x8000, &AES_128_CBC_ELEPHANT),
    (Method::Elephant256, 0x8001, &AES_256_CBC_ELEPHANT),
    (Method::Cbc128, 0x8002, &AES_128_CBC),
    (Method::Cbc256, 0x8003, &AES_256_CBC),
    (Method::Xts128, 0x8004, &AES_128_XTS),
    (Method::Xts256, 0x8005, &AES_256_XTS),
];

impl Method {
    /// Every method.
    pub fn all() -> impl Iterator<Item = Self> {
        METHODS.iter().map(|(method, ..)| *method)
    }

    /// The method with this `name` on the command line.
    pub fn find(name: &str) -> Option<Self> {
        METHODS.iter().find(|(.., cipher)| cipher.name == name).map(|(method, ..)| *method)
    }

    fn row(self) -> &'static (Self, u16, &'static Cipher) {
        METHODS.iter().find(|(method, ..)| *method == self).unwrap_or(&METHODS[0])
    }

    /// The method's name on the command line.
    pub fn name(self) -> &'static str {
        self.row().2.name
    }

    pub(super) fn number(self) -> u16 {
        self.row().1
    }

    pub(super) fn of_number(number: u16) -> Option<Self> {
        METHODS.iter().find(|(_, known, ..)| *known == number).map(|(method, ..)| *method)
    }

    /// In dm-crypt's notation.
    pub fn dm_crypt(self) -> &'static str {
        self.row().2.specification
    }

    fn has_diffuser(self) -> bool {
        matches!(self, Self::Elephant128 | Self::Elephant256)
    }

    fn is_xts(self) -> bool {
        matches!(self, Self::Xts128 | Self::Xts256)
    }

    /// Length of an AES key in bytes, which is the same for data, tweak and sector keys.
    fn aes_bytes(self) -> usize {
        match self {
            Self::Elephant128 | Self::Cbc128 | Self::Xts128 => 16,
            Self::Elephant256 | Self::Cbc256 | Self::Xts256 => 32,
        }
    }

    /// Bytes of the cipher's key.
    pub fn key_bytes(self) -> usize {
        self.row().2.key_bytes()
    }

    /// Length in bytes of the key as stored in the metadata. With the diffuser, each of the two keys occupies
    /// 32 bytes.
    pub(super) fn stored_bytes(self) -> usize {
        if self.has_diffuser() { 64 } else { self.key_bytes() }
    }

    /// Extracts the cipher's key from the stored key, which must be [`stored_bytes`](Self::stored_bytes) long.
    pub(super) fn key_of_stored(self, stored: &[u8]) -> LockedBytes {
        let mut key = LockedBytes::zeroed(self.key_bytes());
        if self.has_diffuser() {
            let len = self.aes_bytes();
            key[..len].copy_from_slice(&stored[..len]);
            key[len..].copy_from_slice(&stored[32..][..len]);
        } else {
            key.copy_from_slice(stored);
        }
        key
    }

    /// The keyed cipher for sectors of `sector` bytes; the tweak is the sector number.
    ///
    /// # Errors
    /// [`CipherError`] if the key or the sector size does not fit.
    pub fn keyed(
        self,
        key: &[u8],
        sector: usize,
        tier: Tier,
    ) -> Result<Box<dyn SectorCipher>, CipherError> {
        let layout = Layout { data_unit: sector, tweak_step: 1 };
        let (cipher, mode) = self.row().2.parts();
        dm_crypt(cipher, mode, key, layout, tier)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = 8 * self.aes_bytes();
        match self {
            _ if self.is_xts() => write!(f, "AES-XTS {bits}"),
            _ if self.has_diffuser() => write!(f, "AES-CBC {bits} with Elephant diffuser"),
            _ => write!(f, "AES-CBC {bits}"),
        }
    }
}

impl serde::Serialize for Method {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_keys_a_cipher() {
        for method in Method::all() {
            let stored: Vec<u8> = (0..method.stored_bytes()).map(|i| i as u8).collect();
            let key = method.key_of_stored(&stored);
            for sector in [512, 4096] {
                let cipher = method.keyed(&key, sector, Tier::Soft).unwrap();
                assert_eq!(cipher.data_unit(), sector);
            }
            assert_eq!(Method::find(method.name()), Some(method));
            assert_eq!(Method::of_number(method.number()), Some(method));
        }
        assert_eq!(Method::of_number(0x8006), None);
    }
}
