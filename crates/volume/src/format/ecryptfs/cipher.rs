//! The ciphers of eCryptfs, with their OpenPGP numbers (RFC 2440, 9.2).

use cryptbench_blockdev::LockedBytes;
use cryptbench_cipher::{Layout, SectorCipher, Tier, dm_crypt, dm_crypt_key_bytes};

use super::{damaged, header};
use crate::VolumeError;

/// A cipher, identified by its number in a packet.
#[derive(Clone, Copy)]
pub(super) struct Cipher {
    code: u8,
    /// The cipher's name in Linux's crypto API.
    pub name: &'static str,
    /// Bytes of a block.
    pub block: usize,
    /// Length of its key in bytes, if the number determines it.
    pub key_bytes: Option<usize>,
}

/// The first cipher has more than one number.
static CIPHERS: [Cipher; 8] = [
    Cipher { code: 7, name: "aes", block: 16, key_bytes: Some(16) },
    Cipher { code: 8, name: "aes", block: 16, key_bytes: Some(24) },
    Cipher { code: 9, name: "aes", block: 16, key_bytes: Some(32) },
    Cipher { code: 10, name: "twofish", block: 16, key_bytes: None },
    Cipher { code: 2, name: "des3_ede", block: 8, key_bytes: Some(24) },
    Cipher { code: 3, name: "cast5", block: 8, key_bytes: None },
    Cipher { code: 4, name: "blowfish", block: 8, key_bytes: None },
    Cipher { code: 11, name: "cast6", block: 16, key_bytes: None },
];

/// The ciphers of files that this program can read.
pub fn ciphers() -> impl Iterator<Item = &'static str> {
    CIPHERS[2..].iter().map(|cipher| cipher.name)
}

/// The cipher with this number, if it is known.
pub fn name_of_code(code: u8) -> Option<&'static str> {
    Cipher::of_code(code).ok().map(|cipher| cipher.name)
}

impl Cipher {
    pub fn of_code(code: u8) -> Result<Self, VolumeError> {
        let found = CIPHERS.iter().find(|cipher| cipher.code == code).copied();
        found.ok_or_else(|| damaged(format!("cipher number {code} is unknown")))
    }

    /// All possible key lengths, in bytes.
    pub fn lengths(self) -> Result<Vec<usize>, VolumeError> {
        match self.key_bytes {
            Some(bytes) => Ok(vec![bytes]),
            None => Ok(dm_crypt_key_bytes(self.name, "ecb")?),
        }
    }

    /// Decrypts whole blocks, independently of each other.
    pub fn each_block(self, key: &[u8], data: &mut [u8], tier: Tier) -> Result<(), VolumeError> {
        if !data.len().is_multiple_of(self.block) {
            return Err(damaged(format!("{} bytes are not a whole number of blocks", data.len())));
        }
        let ecb = dm_crypt(self.name, "ecb", key, Layout::SECTOR_512, tier)?;
        let mut units = LockedBytes::brief(data.len().next_multiple_of(512));
        units[..data.len()].copy_from_slice(data);
        ecb.decrypt_in_place(0, &mut units);
        data.copy_from_slice(&units[..data.len()]);
        Ok(())
    }

    /// The cipher for extents: CBC with an IV of zeros.
    pub fn extents(self, key: &[u8], tier: Tier) -> Result<Box<dyn SectorCipher>, VolumeError> {
        let layout = Layout { data_unit: header::EXTENT, tweak_step: 1 };
        Ok(dm_crypt(self.name, "cbc-null", key, layout, tier)?)
    }
}
