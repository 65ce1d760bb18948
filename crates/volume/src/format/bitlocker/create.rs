//! Creates volumes in the layout of Windows 7 and later, protected by a password, a recovery password, or both.
//!
//! The metadata and the relocated first sectors are stored after the part that a file system may use. Windows
//! stores them among the files, in reserved clusters; a file system created by another program does not reserve
//! such clusters, so it must use only the bytes before the metadata ([`Created::usable`]).

use cryptbench_blockdev::{BlockDevice, LockedBytes, write_bytes};
use cryptbench_cipher::Tier;
use cryptbench_kdf::{Effort, bitlocker};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::boot::BOOT_BYTES;
use super::dataset::{entry, kind, role, utf16};
use super::guid::Guid;
use super::method::Method;
use super::recovery::RecoveryPassword;
use super::sealed::{Key, Sealed};
use super::unlock::{password_hash, recovery_hash};
use super::{COPIES, METADATA_BYTES, SIGNATURE, metadata, time};
use crate::crc32::crc32;
use crate::{Credentials, VolumeError};

/// Number of bytes at the start of the file system that are relocated, as in Windows.
const FIRST: u64 = 8192;
/// Number of bytes after the usable part: the metadata copies and the relocated first sectors.
const BEHIND: u64 = (COPIES as u64 + 1) * METADATA_BYTES;
/// Number of bytes at the start that are zeroed, so that remnants of old data are not mistaken for contents of the
/// volume.
const WIPED: u64 = 1 << 20;
/// Minimum size of a volume in bytes.
const SMALLEST: u64 = WIPED + BEHIND;
/// Length of a password in characters that Windows accepts.
const PASSWORD: std::ops::RangeInclusive<usize> = 8..=256;

/// Numbers that identify the use of a sealed key.
mod purpose {
    /// The 16 bytes of a recovery password.
    pub const RECOVERY: u16 = 0x1000;
    /// Salt of a password.
    pub const PASSWORD: u16 = 0x1001;
    /// The volume master key.
    pub const MASTER: u16 = 0x2003;
    /// The digest of the metadata.
    pub const DIGEST: u16 = 0x2005;
    /// A key stretched from a password.
    pub const FROM_PASSWORD: u16 = 0x2007;
    /// A key stretched from a recovery password.
    pub const FROM_RECOVERY: u16 = 0x2008;
}

/// Roles of the keys that are stored with the salt of a recovery password.
const RECOVERY_ROLES: (u16, u16) = (0x0012, 0x0013);

/// How to create a volume.
#[derive(Clone, Copy, Debug)]
pub struct CreateOptions<'a> {
    /// Cipher of the data.
    pub method: Method,
    /// Bytes of a sector: 512, or 4096.
    pub sector: u32,
    /// A recovery password, which can open the volume instead of the password.
    pub recovery: Option<&'a RecoveryPassword>,
    /// Text shown with the password prompt.
    pub description: &'a str,
    /// Instruction sets of the cipher.
    pub tier: Tier,
    /// Instruction sets and stop flag of the key derivation.
    pub effort: Effort<'a>,
}

impl<'a> CreateOptions<'a> {
    /// 128-bit AES-XTS with 512-byte sectors, as in Windows 11, and no recovery password.
    pub fn new(tier: Tier, effort: Effort<'a>) -> Self {
        Self {
            method: Method::Xts128,
            sector: 512,
            recovery: None,
            description: "cryptbench",
            tier,
            effort,
        }
    }
}

/// A new volume.
#[derive(Clone, Copy, Debug)]
pub struct Created {
    /// Bytes from the start that a file system may use.
    pub usable: u64,
}

/// Creates a volume on the whole of `device`. Existing data is lost, but not overwritten.
///
/// The boot sector is written last: until then the volume does not exist.
///
/// # Errors
/// [`VolumeError::Invalid`] if the device is too small or does not support the sector size, if Windows would
/// not accept the password, or if there is neither a password nor a recovery password;
/// [`VolumeError::Stopped`]; [`VolumeError::Random`]; [`VolumeError::Io`].
pub fn create(
    device: &dyn BlockDevice,
    credentials: &Credentials,
    options: &CreateOptions<'_>,
) -> Result<Created, VolumeError> {
    let password = password(credentials, options)?;
    let sector = u64::from(options.sector);
    if !matches!(sector, 512 | 4096) || !sector.is_multiple_of(device.sector() as u64) {
        let reason = format!(
            "cannot use {sector}-byte sectors on a device with {}-byte sectors",
            device.sector()
        );
        return Err(VolumeError::Invalid(reason));
    }
    let size = device.size() - device.size() % sector;
    if size < SMALLEST {
        let reason = format!(
            "a BitLocker volume needs at least {SMALLEST} bytes, but only {size} are available"
        );
        return Err(VolumeError::Invalid(reason));
    }
    let usable = (size - BEHIND) / METADATA_BYTES * METADATA_BYTES;
    let place = Place { usable, size, sector };
    let mut keys = Keys::random(options.method)?;
    let block = block(&place, password.as_ref().map(|p| p.as_str()), options, &mut keys)?;
    write_data(device, &place, &keys, options)?;
    for at in place.copies() {
        write_bytes(device, at, &block).map_err(VolumeError::io("writing the metadata"))?;
    }
    device.flush().map_err(VolumeError::io("flushing the metadata"))?;
    let boot = boot_sector(&place);
    write_bytes(device, 0, &boot).map_err(VolumeError::io("writing the boot sector"))?;
    device.flush().map_err(VolumeError::io("flushing the boot sector"))?;
    read_back(device, &keys)?;
    Ok(Created { usable })
}

/// The layout of the volume.
struct Place {
    usable: u64,
    size: u64,
    sector: u64,
}

impl Place {
    fn copies(&self) -> [u64; COPIES] {
        std::array::from_fn(|index| self.usable + index as u64 * METADATA_BYTES)
    }

    /// The first sectors of the file system.
    fn first(&self) -> u64 {
        self.usable + COPIES as u64 * METADATA_BYTES
    }
}

/// The keys of a new volume, and the counter of sealing operations.
struct Keys {
    id: Guid,
    master: LockedBytes,
    /// As stored in the metadata.
    data: LockedBytes,
    time: u64,
    sealed: u32,
}

impl Keys {
    fn random(method: Method) -> Result<Self, VolumeError> {
        let mut master = LockedBytes::zeroed(32);
        getrandom::fill(&mut master)?;
        let mut data = LockedBytes::zeroed(method.stored_bytes());
        getrandom::fill(&mut data)?;
        Ok(Self { id: Guid::random()?, master, data, time: time::now(), sealed: 1 })
    }

    /// A nonce that is unique among the keys of this volume.
    fn nonce(&mut self) -> [u8; 12] {
        self.sealed += 1;
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&self.time.to_le_bytes());
        nonce[8..].copy_from_slice(&self.sealed.to_le_bytes());
        nonce
    }

    /// An entry that contains `key`, sealed under `under` or under the volume master key.
    fn seal(
        &mut self,
        role: u16,
        (number, key): (u16, &[u8]),
        under: Option<&[u8]>,
        tier: Tier,
    ) -> Result<Vec<u8>, VolumeError> {
        let nonce = self.nonce();
        let key = Key { number, bytes: LockedBytes::copy_of(key) };
        let sealed = Sealed::seal(&key, nonce, under.unwrap_or(&self.master), tier)?;
        Ok(entry(role, kind::SEALED, &[&sealed.to_bytes()]))
    }
}

/// The password, if there is one.
fn password(
    credentials: &Credentials,
    options: &CreateOptions<'_>,
) -> Result<Option<Zeroizing<String>>, VolumeError> {
    let invalid = |reason: &str| Err(VolumeError::Invalid(reason.to_owned()));
    if !credentials.keyfiles.is_empty() || credentials.pim.is_some_and(|pim| pim != 0) {
        return invalid("BitLocker supports neither key files nor a PIM");
    }
    match std::str::from_utf8(credentials.passphrase.bytes()) {
        Err(_) => invalid("a BitLocker password must be UTF-8 text"),
        Ok("") if options.recovery.is_some() => Ok(None),
        Ok(text) if !PASSWORD.contains(&text.encode_utf16().count()) => {
            invalid("a BitLocker password must have 8 to 256 characters")
        }
        Ok(text) => Ok(Some(Zeroizing::new(text.to_owned()))),
    }
}

/// The metadata with the checks that follow it, padded to the length of a copy.
fn block(
    place: &Place,
    password: Option<&str>,
    options: &CreateOptions<'_>,
    keys: &mut Keys,
) -> Result<Vec<u8>, VolumeError> {
    let tier = options.tier;
    let description = utf16(options.description);
    let mut entries = entry(role::DESCRIPTION, kind::TEXT, &[&description]);
    if let Some(password) = password {
        entries.extend(password_protector(password, options, keys)?);
    }
    if let Some(recovery) = options.recovery {
        entries.extend(recovery_protector(recovery, options, keys)?);
    }
    let data = LockedBytes::copy_of(&keys.data);
    entries.extend(keys.seal(role::DATA_KEY, (options.method.number(), &data), None, tier)?);
    let moved = [place.first().to_le_bytes(), FIRST.to_le_bytes()];
    entries.extend(entry(role::FIRST_SECTORS, kind::PLACE, &[moved.as_flattened()]));

    let dataset_len = 48 + entries.len() as u32;
    let block_len = (64 + dataset_len as usize).next_multiple_of(16);
    let mut block = vec![0; METADATA_BYTES as usize];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &SIGNATURE);
    put(8, &((block_len / 16) as u16).to_le_bytes());
    put(10, &2_u16.to_le_bytes());
    // The current state and the next state, both "encrypted".
    put(12, &4_u16.to_le_bytes());
    put(14, &4_u16.to_le_bytes());
    put(16, &place.size.to_le_bytes());
    put(28, &((FIRST / place.sector) as u32).to_le_bytes());
    for (index, at) in place.copies().into_iter().enumerate() {
        put(32 + 8 * index, &at.to_le_bytes());
    }
    put(56, &place.first().to_le_bytes());
    put(64, &dataset_len.to_le_bytes());
    put(68, &1_u32.to_le_bytes());
    put(72, &48_u32.to_le_bytes());
    put(76, &dataset_len.to_le_bytes());
    put(80, &keys.id.0);
    // Later sealing operations continue from this number; the digest below uses the next number.
    put(96, &(keys.sealed + 2).to_le_bytes());
    put(100, &options.method.number().to_le_bytes());
    put(102, &options.method.number().to_le_bytes());
    put(104, &keys.time.to_le_bytes());
    put(112, &entries);
    let digest: [u8; 32] = Sha256::digest(&block[..block_len]).into();
    let sealed = keys.seal(role::PROPERTY, (purpose::DIGEST, &digest), None, tier)?;
    let checks_len = (METADATA_BYTES as usize - block_len) as u16;
    let crc = crc32(&block[..block_len]);
    let mut put = |at: usize, bytes: &[u8]| {
        block[block_len + at..block_len + at + bytes.len()].copy_from_slice(bytes);
    };
    put(0, &checks_len.to_le_bytes());
    put(2, &2_u16.to_le_bytes());
    put(4, &crc.to_le_bytes());
    put(8, &sealed);
    Ok(block)
}

fn password_protector(
    password: &str,
    options: &CreateOptions<'_>,
    keys: &mut Keys,
) -> Result<Vec<u8>, VolumeError> {
    let salt = salt()?;
    let key = bitlocker(&password_hash(password), &salt, options.effort)?;
    let inner = keys.seal(role::PROPERTY, (purpose::FROM_PASSWORD, &*key), None, options.tier)?;
    protector(0x2000, (purpose::PASSWORD, salt, inner), &*key, options, keys)
}

fn recovery_protector(
    recovery: &RecoveryPassword,
    options: &CreateOptions<'_>,
    keys: &mut Keys,
) -> Result<Vec<u8>, VolumeError> {
    let salt = salt()?;
    let key = bitlocker(&recovery_hash(recovery), &salt, options.effort)?;
    let tier = options.tier;
    // Windows can show the recovery password while the volume is open.
    let bytes = (purpose::RECOVERY, recovery.bytes());
    let mut inner = keys.seal(RECOVERY_ROLES.0, bytes, None, tier)?;
    inner.extend(keys.seal(RECOVERY_ROLES.1, (purpose::FROM_RECOVERY, &*key), None, tier)?);
    protector(0x0800, (purpose::RECOVERY, salt, inner), &*key, options, keys)
}

/// A protector of type `number`, with the master key sealed under `key`.
fn protector(
    number: u16,
    (salted_for, salt, inner): (u16, [u8; 16], Vec<u8>),
    key: &[u8],
    options: &CreateOptions<'_>,
    keys: &mut Keys,
) -> Result<Vec<u8>, VolumeError> {
    let master = LockedBytes::copy_of(&keys.master);
    let salted_for = u32::from(salted_for).to_le_bytes();
    let stretched = entry(role::PROPERTY, kind::STRETCHED, &[&salted_for, &salt, &inner]);
    let sealed = keys.seal(role::PROPERTY, (purpose::MASTER, &master), Some(key), options.tier)?;
    let id = Guid::random()?;
    let time = keys.time.to_le_bytes();
    let number = number.to_le_bytes();
    let parts: [&[u8]; 6] = [&id.0, &time, &[0; 2], &number, &stretched, &sealed];
    Ok(entry(role::PROTECTOR, kind::PROTECTOR, &parts))
}

fn salt() -> Result<[u8; 16], VolumeError> {
    let mut salt = [0; 16];
    getrandom::fill(&mut salt)?;
    Ok(salt)
}

/// Zeroes the start of the plaintext, so that old data there is not recognised as contents of the volume.
fn write_data(
    device: &dyn BlockDevice,
    place: &Place,
    keys: &Keys,
    options: &CreateOptions<'_>,
) -> Result<(), VolumeError> {
    let key = options.method.key_of_stored(&keys.data);
    let cipher = options.method.keyed(&key, place.sector as usize, options.tier)?;
    let write = |at: u64, len: u64| {
        let mut data = vec![0; len as usize];
        cipher.encrypt_in_place(at / place.sector, &mut data);
        write_bytes(device, at, &data).map_err(VolumeError::io("writing the first sectors"))
    };
    let zeros = |at: u64, len: u64| {
        write_bytes(device, at, &vec![0; len as usize])
            .map_err(VolumeError::io("overwriting the previous contents"))
    };
    // The sectors at the start are never read again.
    zeros(0, FIRST)?;
    write(FIRST, WIPED - FIRST)?;
    write(place.first(), FIRST)
}

/// The boot sector, which looks like FAT's to systems without BitLocker.
fn boot_sector(place: &Place) -> [u8; BOOT_BYTES] {
    let mut boot = [0; BOOT_BYTES];
    let mut put = |at: usize, bytes: &[u8]| boot[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &[0xeb, 0x58, 0x90]);
    put(3, &SIGNATURE);
    put(11, &(place.sector as u16).to_le_bytes());
    // 4096-byte clusters.
    put(13, &[(4096 / place.sector) as u8]);
    put(21, &[0xf8]);
    put(24, &63_u16.to_le_bytes());
    put(26, &255_u16.to_le_bytes());
    put(36, &0x1fe0_u32.to_le_bytes());
    put(48, &1_u16.to_le_bytes());
    put(50, &6_u16.to_le_bytes());
    put(64, &[0x80, 0, 0x29]);
    put(71, b"NO NAME    FAT32   ");
    put(160, &Guid::WHOLE.0);
    for (index, at) in place.copies().into_iter().enumerate() {
        put(176 + 8 * index, &at.to_le_bytes());
    }
    put(510, &[0x55, 0xaa]);
    boot
}

/// Checks that the device returns the written data, before the volume is used.
fn read_back(device: &dyn BlockDevice, keys: &Keys) -> Result<(), VolumeError> {
    let (_, boot) = metadata::boot(device)?;
    let metadata = metadata::read(device, &boot)?;
    if metadata.id != keys.id || metadata.copies.iter().any(Result::is_err) {
        let source =
            std::io::Error::other("the device did not return the metadata that was written");
        return Err(VolumeError::Io { doing: "checking the new volume", source });
    }
    Ok(())
}
