//! The ciphers of eCryptfs by their numbers of OpenPGP (RFC 2440, 9.2).

use cryptbench_blockdev::LockedBytes;
use cryptbench_cipher::{Layout, SectorCipher, Tier, dm_crypt, dm_crypt_key_bytes};

use super::{damaged, header};
use crate::VolumeError;

/// Bytes of a data unit in which ECB is computed.
const UNIT: usize = 512;

/// A cipher as a packet names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cipher {
    pub code: u8,
    /// Its name in Linux's crypto API.
    pub name: &'static str,
    /// Bytes of a block.
    pub block: usize,
    /// Bytes of its key, where the number tells them.
    pub key_bytes: Option<usize>,
}

const fn cipher(code: u8, name: &'static str, block: usize, key_bytes: Option<usize>) -> Cipher {
    Cipher { code, name, block, key_bytes }
}

static CIPHERS: [Cipher; 8] = [
    cipher(7, "aes", 16, Some(16)),
    cipher(8, "aes", 16, Some(24)),
    cipher(9, "aes", 16, Some(32)),
    cipher(10, "twofish", 16, None),
    cipher(2, "des3_ede", 8, Some(24)),
    cipher(3, "cast5", 8, None),
    cipher(4, "blowfish", 8, None),
    cipher(11, "cast6", 16, None),
];

/// The ciphers whose files are read.
pub fn ciphers() -> impl Iterator<Item = &'static str> {
    let repeated = |at: usize| CIPHERS[..at].iter().any(|one| one.name == CIPHERS[at].name);
    (0..CIPHERS.len()).filter(move |at| !repeated(*at)).map(|at| CIPHERS[at].name)
}

/// The cipher with this number, if it is known.
#[must_use]
pub fn name_of_code(code: u8) -> Option<&'static str> {
    CIPHERS.iter().find(|cipher| cipher.code == code).map(|cipher| cipher.name)
}

impl Cipher {
    pub fn of_code(code: u8) -> Result<Self, VolumeError> {
        let found = CIPHERS.iter().find(|cipher| cipher.code == code).copied();
        found.ok_or_else(|| damaged(format!("no cipher has the number {code}")))
    }

    /// Every length in bytes that a key can have.
    pub fn lengths(self) -> Result<Vec<usize>, VolumeError> {
        match self.key_bytes {
            Some(bytes) => Ok(vec![bytes]),
            None => Ok(dm_crypt_key_bytes(self.name, "ecb")?),
        }
    }

    /// Decrypts whole blocks, each by itself.
    pub fn each_block(self, key: &[u8], data: &mut [u8], tier: Tier) -> Result<(), VolumeError> {
        if !data.len().is_multiple_of(self.block) {
            return Err(damaged(format!("{} bytes are no whole blocks", data.len())));
        }
        let layout = Layout { data_unit: UNIT, tweak_step: 1 };
        let ecb = dm_crypt(self.name, "ecb", key, layout, tier)?;
        let mut units = LockedBytes::brief(data.len().next_multiple_of(UNIT));
        units[..data.len()].copy_from_slice(data);
        ecb.decrypt_in_place(0, &mut units);
        data.copy_from_slice(&units[..data.len()]);
        Ok(())
    }

    /// Decrypts extents in CBC with IVs of zeros.
    pub fn extents(self, key: &[u8], tier: Tier) -> Result<Box<dyn SectorCipher>, VolumeError> {
        let layout = Layout { data_unit: header::EXTENT, tweak_step: 1 };
        Ok(dm_crypt(self.name, "cbc-null", key, layout, tier)?)
    }
}
