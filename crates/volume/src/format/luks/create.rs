//! Creates a volume: a new volume key, the header and the first keyslot.

use cryptbench_blockdev::{BlockDevice, Extent, LockedBytes, write_bytes};
use cryptbench_kdf::{Argon2Kind, Argon2Params, Derivation, KdfError};

use super::hash::{Hash, refuse_short};
use super::limits::Resources;
use super::material;
use super::model::{Keyslot, MOST_KEY, Priority};
use super::spec::Spec;
use super::store::{Header, io, random};
use super::unlock::new_passphrase;
use super::v2::{HDR_SIZES, MOST_KEYSLOTS_BYTES};
use super::{ALIGNMENT, SECTOR, STRIPES, Version, v1, v2};
use crate::{Credentials, VolumeError};

/// Default start of LUKS2 data, as in cryptsetup.
const LUKS2_DATA: u64 = 16 << 20;
/// Default alignment of LUKS1 data, as in cryptsetup.
const LUKS1_ALIGNMENT: u64 = 1 << 20;
/// Bytes of a salt.
const SALT: usize = 32;

/// The properties of a new volume.
#[derive(Clone, Debug)]
pub struct CreateOptions<'a> {
    /// Version of the format.
    pub version: Version,
    /// Cipher, mode and IV generator, such as `aes-xts-plain64`.
    pub encryption: &'a str,
    /// Length of the volume key in bytes; XTS needs twice the cipher's key size.
    pub key_bytes: usize,
    /// Sector size in bytes: 512; in LUKS2 also 1024, 2048 or 4096.
    pub sector_size: u32,
    /// Hash for the splitter and the digest, such as `sha256`; LUKS1 also derives its keys with it.
    pub hash: &'a str,
    /// KDF and cost of the first passphrase. See [`calibrate`](super::calibrate).
    pub derivation: Derivation,
    /// PBKDF2 iterations of the volume key's digest, at least 1000. A small number is sufficient, because the
    /// volume key is random.
    pub digest_iterations: u32,
    /// UUID; `None` generates a random one.
    pub uuid: Option<&'a str>,
    /// LUKS2: the volume's label, at most 47 bytes.
    pub label: &'a str,
    /// LUKS2: the subsystem label, at most 47 bytes.
    pub subsystem: &'a str,
    /// Start of the data in bytes. `None` means 16 MiB, or in LUKS1 the first MiB boundary after the keyslots.
    pub data_offset: Option<u64>,
    /// LUKS2: size of each header copy in bytes, a power of two from 16 KiB to 4 MiB.
    pub metadata_size: u64,
    /// The header is on a separate device. Data starts at [`data_offset`](Self::data_offset) of the data
    /// device, 0 by default.
    pub detached: bool,
    /// The machine's resources that may be used.
    pub resources: Resources<'a>,
}

impl<'a> CreateOptions<'a> {
    /// AES-256 in XTS mode with cryptsetup's defaults. LUKS2: Argon2id with 1 GiB (at most half of
    /// the memory), 4 passes and 4 lanes. LUKS1: PBKDF2 with SHA-256 and 2,000,000 iterations.
    ///
    /// # Errors
    /// None in practice; [`KdfError::Unknown`] if the registry of PRFs lacked SHA-256.
    pub fn new(version: Version, resources: Resources<'a>) -> Result<Self, KdfError> {
        let derivation = match version {
            Version::Luks1 => {
                Derivation::Pbkdf2 { prf: cryptbench_kdf::find("sha-256")?, iterations: 2_000_000 }
            }
            Version::Luks2 => Derivation::Argon2 {
                kind: Argon2Kind::Id,
                params: Argon2Params { memory_kib: most_argon2_memory_kib(), passes: 4, lanes: 4 },
            },
        };
        Ok(Self {
            version,
            encryption: "aes-xts-plain64",
            key_bytes: 64,
            sector_size: SECTOR as u32,
            hash: "sha256",
            derivation,
            digest_iterations: 100_000,
            uuid: None,
            label: "",
            subsystem: "",
            data_offset: None,
            metadata_size: HDR_SIZES[0],
            detached: false,
            resources,
        })
    }
}

/// Maximum memory of a new Argon2 keyslot in KiB: 1 GiB, or half of the memory available to this process.
pub(super) fn most_argon2_memory_kib() -> u32 {
    cryptbench_kdf::memory::available_kib().map_or(1 << 20, |all| (all / 2).min(1 << 20) as u32)
}

/// Creates a volume whose first keyslot is unlocked with `credentials`. This destroys existing data in the
/// header area; the data area does not change.
///
/// # Errors
/// [`VolumeError::Invalid`] for inconsistent options, before anything is written; [`VolumeError::Cipher`],
/// [`VolumeError::Kdf`]; [`VolumeError::Io`].
pub fn create(
    device: &dyn BlockDevice,
    credentials: &Credentials,
    options: &CreateOptions<'_>,
) -> Result<(), VolumeError> {
    let passphrase = new_passphrase(credentials)?;
    let plan = Plan::new(device, options)?;
    if !plan.encryption.suits_keyslots() {
        let reason = format!("volumes with {} can be opened, but not created", plan.encryption);
        return Err(VolumeError::Invalid(reason));
    }
    let mut key = LockedBytes::zeroed(options.key_bytes);
    random(&mut key)?;
    // Fails if the cipher does not exist or does not accept a key of this size.
    plan.encryption.keyed(&key, options.sector_size, options.resources.tier)?;

    let mut header = plan.header(&key, options)?;
    let (id, area) = header.room(Some(0), Keyslot::material_bytes(options.key_bytes, STRIPES))?;
    let mut salt = vec![0; SALT];
    random(&mut salt)?;
    let slot = Keyslot {
        id,
        key_bytes: options.key_bytes,
        derivation: options.derivation,
        salt,
        stripes: STRIPES,
        hash: plan.hash,
        area,
        encryption: plan.encryption.clone(),
        area_key_bytes: options.key_bytes,
        priority: Priority::Normal,
    };
    header.insert(&slot)?;
    // All checks have passed: destroy the old contents from here on.
    plan.wipe(device, options.detached)?;
    material::write(device, &slot, passphrase, &key, &options.resources)?;
    header.write(device)
}

/// The checked options.
struct Plan<'a> {
    encryption: Spec,
    hash: &'static Hash,
    /// End of the header copies, where the keyslots start.
    keyslots: u64,
    /// End of the keyslots.
    end: u64,
    data_offset: u64,
    device_size: u64,
    uuid: std::borrow::Cow<'a, str>,
}

impl<'a> Plan<'a> {
    fn new(device: &dyn BlockDevice, options: &CreateOptions<'a>) -> Result<Self, VolumeError> {
        let invalid = |reason: String| Err(VolumeError::Invalid(reason));
        let Some(encryption) = Spec::parse(options.encryption) else {
            return invalid(format!("{:?} is not of the form cipher-mode-iv", options.encryption));
        };
        let hash = Hash::find(options.hash).map_err(VolumeError::Invalid)?;
        refuse_short(hash.name, hash.bytes)?;
        if options.key_bytes == 0 || options.key_bytes > MOST_KEY {
            return invalid(format!(
                "the length of the volume key is invalid: {} bytes",
                options.key_bytes
            ));
        }
        if options.digest_iterations < 1000 {
            return invalid("a digest needs at least 1000 iterations".to_owned());
        }
        let sector = u64::from(options.sector_size);
        let (keyslots, end, default) = match options.version {
            Version::Luks1 => {
                if sector != SECTOR || !options.label.is_empty() || !options.subsystem.is_empty() {
                    return invalid("LUKS1 supports only 512-byte sectors and no label".into());
                }
                let end = v1::first_area(v1::SLOTS, options.key_bytes);
                (ALIGNMENT, end, end.next_multiple_of(LUKS1_ALIGNMENT))
            }
            Version::Luks2 => {
                if !(512..=4096).contains(&sector) || !sector.is_power_of_two() {
                    return invalid(format!("LUKS2 does not support {sector}-byte sectors"));
                }
                if !HDR_SIZES.contains(&options.metadata_size) {
                    return invalid(format!(
                        "LUKS2 does not support headers of {} bytes",
                        options.metadata_size
                    ));
                }
                let keyslots = 2 * options.metadata_size;
                let default = LUKS2_DATA.max((2 * keyslots).next_multiple_of(LUKS1_ALIGNMENT));
                let end = match options.data_offset {
                    Some(offset) if !options.detached => offset,
                    _ => default,
                };
                (keyslots, end.min(keyslots + MOST_KEYSLOTS_BYTES), default)
            }
        };
        let first = options.data_offset.unwrap_or(if options.detached { 0 } else { default });
        let unit = sector.max(if options.version == Version::Luks2 { ALIGNMENT } else { SECTOR });
        if !first.is_multiple_of(unit) {
            return invalid(format!("the data must start at a multiple of {unit} bytes"));
        }
        let area = Keyslot::material_bytes(options.key_bytes, STRIPES);
        if !options.detached && (first < end || end < keyslots + area) {
            return invalid(format!(
                "the data cannot start at byte {first}, which is inside the header"
            ));
        }
        let needed = if options.detached { end } else { first.saturating_add(sector) };
        if device.size() < needed {
            return invalid(format!(
                "{} bytes is too little: the header and one sector need {needed}",
                device.size()
            ));
        }
        if device.is_read_only() {
            return invalid("the device is read-only".to_owned());
        }
        let uuid = match options.uuid {
            Some(uuid) => uuid.into(),
            None => random_uuid()?.into(),
        };
        let device_size = device.size();
        Ok(Self { encryption, hash, keyslots, end, data_offset: first, device_size, uuid })
    }

    /// The header with the digest of `key` but without a keyslot.
    fn header(
        &self,
        key: &[u8],
        options: &CreateOptions<'_>,
    ) -> Result<Box<dyn Header>, VolumeError> {
        let iterations = options.digest_iterations;
        let prf = self.hash.prf().map_err(VolumeError::Invalid)?;
        let mut salt = [0; SALT];
        random(&mut salt)?;
        let mut digest = vec![0; self.hash.bytes];
        prf.pbkdf2(key, &salt, iterations, &mut digest, options.resources.effort)?;
        Ok(match options.version {
            Version::Luks1 => {
                let mut start = [0; 20];
                start.copy_from_slice(&digest[..20]);
                let new = v1::NewHeader {
                    encryption: &self.encryption,
                    hash: self.hash,
                    key_bytes: options.key_bytes,
                    payload: self.data_offset,
                    uuid: &self.uuid,
                    digest: start,
                    digest_salt: salt,
                    digest_iterations: iterations,
                };
                Box::new(v1::Header::new(&new, self.device_size)?)
            }
            Version::Luks2 => Box::new(v2::Header::new(&v2::NewHeader {
                hdr_size: options.metadata_size,
                keyslots_size: self.end - self.keyslots,
                uuid: &self.uuid,
                label: options.label,
                subsystem: options.subsystem,
                encryption: options.encryption,
                sector_size: options.sector_size,
                data_offset: self.data_offset,
                digest_hash: self.hash,
                digest_iterations: iterations,
                digest_salt: &salt,
                digest: &digest,
            })?),
        })
    }

    /// Zeroes the header area, so that no valid header remains, and overwrites the space up to the data with
    /// random bytes. Unused keyslots then look like used ones, and no earlier data remains.
    fn wipe(&self, device: &dyn BlockDevice, detached: bool) -> Result<(), VolumeError> {
        let zeros = vec![0; self.keyslots as usize];
        write_bytes(device, 0, &zeros).map_err(io("wiping the header"))?;
        let end = if detached { self.end } else { self.data_offset };
        material::wipe(device, Extent { offset: self.keyslots, len: end - self.keyslots })
    }
}

/// A random UUID (RFC 9562, version 4).
fn random_uuid() -> Result<String, VolumeError> {
    let mut bytes = [0; 16];
    random(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    Ok(text)
}
