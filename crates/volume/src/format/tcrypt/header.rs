//! The 512-byte header: an unencrypted salt, then 448 encrypted bytes with sizes, checksums and keys.
//!
//! All numbers are big-endian. Offsets in this module count from the start of the encrypted part, so they are
//! 64 less than in the "VeraCrypt Volume Format Specification".

use std::ops::{Deref, DerefMut, Range};

use cryptbench_blockdev::LockedBytes;
use cryptbench_catalog::{TRUECRYPT, VERACRYPT};

use crate::VolumeError;
use crate::crc32::crc32;

/// Size of the salt at the start of the header, in bytes.
pub const SALT_BYTES: usize = 64;
/// Size of the encrypted part after the salt, in bytes.
pub const ENCRYPTED_BYTES: usize = 448;
pub(super) const HEADER_BYTES: usize = SALT_BYTES + ENCRYPTED_BYTES;
/// Number of bytes per tweak in the data area, regardless of the sector size in the header.
pub(super) const DATA_UNIT: u64 = 512;

/// The newest header version that this crate supports.
const NEWEST: u16 = 5;
/// Range of the key area, 256 bytes long.
const KEYS: Range<usize> = 192..448;
/// Offset of the CRC over everything before it.
const HEADER_CRC: usize = 188;

/// Secret bytes in locked memory, which stay at the same address until they are wiped. Moving a value on the
/// stack would leave a copy behind. Fill them in place.
#[derive(Clone)]
pub struct SecretBytes<const N: usize>(LockedBytes);

impl<const N: usize> From<&[u8; N]> for SecretBytes<N> {
    fn from(bytes: &[u8; N]) -> Self {
        Self(LockedBytes::copy_of(bytes))
    }
}

impl<const N: usize> Deref for SecretBytes<N> {
    type Target = [u8; N];
    fn deref(&self) -> &[u8; N] {
        (&*self.0).try_into().expect("made with this length")
    }
}

impl<const N: usize> DerefMut for SecretBytes<N> {
    fn deref_mut(&mut self) -> &mut [u8; N] {
        (&mut *self.0).try_into().expect("made with this length")
    }
}

impl<const N: usize> PartialEq for SecretBytes<N> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<const N: usize> Eq for SecretBytes<N> {}

/// The encrypted part of a header, decrypted.
pub(super) type Plain = SecretBytes<ENCRYPTED_BYTES>;

/// Zeroed memory for a secret.
pub(super) fn secret<const N: usize>() -> SecretBytes<N> {
    SecretBytes(LockedBytes::zeroed(N))
}

/// The program to which a volume belongs, as identified by the magic in its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// TrueCrypt: `TRUE`.
    TrueCrypt,
    /// VeraCrypt: `VERA`.
    VeraCrypt,
}

impl Product {
    /// Name of the format.
    pub const fn format(self) -> &'static str {
        match self {
            Self::TrueCrypt => TRUECRYPT.name,
            Self::VeraCrypt => VERACRYPT.name,
        }
    }

    /// Name shown to users.
    pub fn name(self) -> &'static str {
        match self {
            Self::TrueCrypt => "TrueCrypt",
            Self::VeraCrypt => "VeraCrypt",
        }
    }

    fn magic(self) -> [u8; 4] {
        match self {
            Self::TrueCrypt => *b"TRUE",
            Self::VeraCrypt => *b"VERA",
        }
    }
}

/// The fields of a header. Sizes and offsets are in bytes.
#[derive(PartialEq, Eq)]
pub struct Header {
    /// The product of the volume.
    pub product: Product,
    /// Version of the header: TrueCrypt 1 to 4 use 1 and 2, TrueCrypt 5 uses 3, TrueCrypt 6 uses 4, TrueCrypt 7
    /// and VeraCrypt use 5.
    pub version: u16,
    /// The oldest program version that can open the volume, such as `0x010b`.
    pub required_version: u16,
    /// Two timestamps that old versions write; 0 in headers of newer versions.
    pub times: [u64; 2],
    /// Size of the hidden volume; 0 in the header of a normal volume.
    pub hidden_size: u64,
    /// Size of the plaintext; unused before version 3.
    pub volume_size: u64,
    /// Start of the encrypted area on the host; unused before version 3.
    pub data_offset: u64,
    /// Size of the encrypted area. It is smaller than the volume while an in-place encryption is
    /// unfinished.
    pub data_size: u64,
    /// Bit 0: system encryption. Bit 1: encrypted in place.
    pub flags: u32,
    /// Sector size of the file system inside; 0 before version 5, which means 512.
    pub sector_size: u32,
    /// The master keys, as the cipher lays them out.
    pub keys: SecretBytes<256>,
}

impl std::fmt::Debug for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Header")
            .field("product", &self.product)
            .field("version", &self.version)
            .field("hidden_size", &self.hidden_size)
            .field("volume_size", &self.volume_size)
            .field("data_offset", &self.data_offset)
            .field("data_size", &self.data_size)
            .field("flags", &self.flags)
            .field("sector_size", &self.sector_size)
            .finish_non_exhaustive()
    }
}

impl Header {
    /// Parses a decrypted header; `None` if its magic shows that the key was wrong.
    ///
    /// # Errors
    /// [`VolumeError::Damaged`] if the key is right but a check fails; [`VolumeError::Unsupported`]
    /// for a newer version.
    pub fn parse(plain: &[u8; ENCRYPTED_BYTES]) -> Result<Option<Self>, VolumeError> {
        let magic = array(plain, 0);
        let known = [Product::TrueCrypt, Product::VeraCrypt];
        let Some(product) = known.into_iter().find(|product| product.magic() == magic) else {
            return Ok(None);
        };
        let version = u16_at(plain, 4);
        let damaged = |reason: String| VolumeError::Damaged { format: product.format(), reason };
        // Before version 4 no checksum covered the reserved bytes (specifications of TrueCrypt 5.1a
        // and 6.0).
        if version >= 4 && crc32(&plain[..HEADER_CRC]) != u32_at(plain, HEADER_CRC) {
            return Err(damaged("the checksum of its fields is wrong".to_owned()));
        }
        if crc32(&plain[KEYS]) != u32_at(plain, 8) {
            return Err(damaged("the checksum of its key area is wrong".to_owned()));
        }
        match version {
            0 => return Err(damaged("it states version 0, which does not exist".to_owned())),
            1..=NEWEST => {}
            _ => {
                return Err(VolumeError::Unsupported {
                    what: format!("a {} header of version {version}", product.name()),
                    hint: Some(format!(
                        "versions 1 to {NEWEST} are supported; a newer {} can open it",
                        product.name()
                    )),
                });
            }
        }
        let sector_size = if version < 5 { 0 } else { u32_at(plain, 64) };
        let sectors = sector_size == 0
            || (512..=4096).contains(&sector_size) && sector_size.is_power_of_two();
        if !sectors || version == 5 && sector_size == 0 {
            return Err(damaged(format!("it states an invalid sector size, {sector_size} bytes")));
        }
        let mut keys = secret();
        keys.copy_from_slice(&plain[KEYS]);
        Ok(Some(Self {
            product,
            version,
            required_version: u16_at(plain, 6),
            times: [u64_at(plain, 12), u64_at(plain, 20)],
            hidden_size: u64_at(plain, 28),
            volume_size: u64_at(plain, 36),
            data_offset: u64_at(plain, 44),
            data_size: u64_at(plain, 52),
            flags: u32_at(plain, 60),
            sector_size,
            keys,
        }))
    }

    /// The bytes to encrypt, including their checksums.
    pub fn serialise(&self) -> SecretBytes<ENCRYPTED_BYTES> {
        let mut plain: Plain = secret();
        let mut put = |at: usize, bytes: &[u8]| plain[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &self.product.magic());
        put(4, &self.version.to_be_bytes());
        put(6, &self.required_version.to_be_bytes());
        put(8, &crc32(&self.keys[..]).to_be_bytes());
        put(12, &self.times[0].to_be_bytes());
        put(20, &self.times[1].to_be_bytes());
        put(28, &self.hidden_size.to_be_bytes());
        put(36, &self.volume_size.to_be_bytes());
        put(44, &self.data_offset.to_be_bytes());
        put(52, &self.data_size.to_be_bytes());
        put(60, &self.flags.to_be_bytes());
        put(64, &self.sector_size.to_be_bytes());
        put(KEYS.start, &self.keys[..]);
        let crc = crc32(&plain[..HEADER_CRC]);
        plain[HEADER_CRC..KEYS.start].copy_from_slice(&crc.to_be_bytes());
        plain
    }

    /// Sector size of the file system inside.
    pub(super) fn sector(&self) -> usize {
        match self.sector_size {
            0 => DATA_UNIT as usize,
            bytes => bytes as usize,
        }
    }
}

fn array<const N: usize>(plain: &[u8; ENCRYPTED_BYTES], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&plain[at..at + N]);
    bytes
}

fn u16_at(plain: &[u8; ENCRYPTED_BYTES], at: usize) -> u16 {
    u16::from_be_bytes(array(plain, at))
}

fn u32_at(plain: &[u8; ENCRYPTED_BYTES], at: usize) -> u32 {
    u32::from_be_bytes(array(plain, at))
}

fn u64_at(plain: &[u8; ENCRYPTED_BYTES], at: usize) -> u64 {
    u64::from_be_bytes(array(plain, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tcrypt::unlock::Unlocked;

    #[test]
    fn moving_a_header_moves_no_secret() {
        assert!(size_of::<Plain>() <= 4 * size_of::<usize>(), "a header lies within");
        assert!(size_of::<Header>() < 256, "the key area lies within");
        assert!(size_of::<Unlocked>() < 256, "a header lies within");
    }
}
