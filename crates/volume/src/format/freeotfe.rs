//! The volume format of FreeOTFE and LibreCrypt, read-only: a 512-byte block without a signature, then the
//! data.
//!
//! Source: LibreCrypt, `docs/technical_details__FreeOTFE_CDB_layout_format_3.md` and `_4.md`. The block states
//! neither its hash nor its cipher, so all are tried, with the program's default salt length and number of
//! iterations.

use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, Extent, LockedBytes, read_bytes};
use cryptbench_cipher::{Layout, SectorCipher, Tier, dm_crypt, dm_crypt_key_bytes};
use cryptbench_kdf::Prf;

use crate::volume::{WARNING, there};
use crate::{Access, Credentials, Mapping, OpenOptions, Volume, VolumeError, VolumeInfo};

/// Name of the format in errors and records.
const FORMAT: &str = "freeotfe";

/// Sizes in bytes: of the critical data block, its salt, and the part before the details (the MAC and its padding).
const BLOCK: u64 = 512;
const SALT: usize = 32;
const MAC: usize = 64;

const ITERATIONS: u32 = 2048;

/// Bytes of a data unit.
const UNIT: usize = 512;

/// The longest key of any cipher.
const MOST_KEY: usize = 64;

/// The hashes of volumes: PRF, block size in bytes, and name in dm-crypt.
static HASHES: [(&str, usize, &str); 8] = [
    ("sha-512", 128, "sha512"),
    ("sha-256", 64, "sha256"),
    ("whirlpool", 64, "wp512"),
    ("ripemd-160", 64, "rmd160"),
    ("sha-384", 128, "sha384"),
    ("sha-1", 64, "sha1"),
    ("sha-224", 64, "sha224"),
    ("md5", 64, "md5"),
];

/// The ciphers and the modes that encrypt the block, by their names in dm-crypt.
static CIPHERS: [(&str, &str); 9] = [
    ("aes", "xts-plain64"),
    ("serpent", "xts-plain64"),
    ("twofish", "xts-plain64"),
    ("aes", "cbc-null"),
    ("serpent", "cbc-null"),
    ("twofish", "cbc-null"),
    ("blowfish", "cbc-null"),
    ("cast5", "cbc-null"),
    ("des3_ede", "cbc-null"),
];

/// The ciphers and hashes that are tried.
pub fn tried() -> (impl Iterator<Item = String>, impl Iterator<Item = &'static str>) {
    let mode = |mode: &'static str| mode.split('-').next().unwrap_or(mode);
    (
        CIPHERS.iter().map(move |(cipher, whole)| format!("{cipher}-{}", mode(whole))),
        HASHES.iter().map(|(name, ..)| *name),
    )
}

/// The block's information about the data.
struct Details {
    cipher: &'static str,
    mode: &'static str,
    prf: &'static Prf,
    hash: &'static str,
    /// Whether sectors are counted from the start of the file instead of the data.
    from_file: bool,
    len: u64,
    key: LockedBytes,
    /// The value added to the IV of each sector, if any.
    iv: Vec<u8>,
    /// The generator of the IVs.
    generator: u8,
}

/// Opens a FreeOTFE or LibreCrypt volume read-only.
///
/// # Errors
/// [`VolumeError::NoKeyFits`], also if its salt length, iteration count, hash or cipher is not among those that
/// are tried; [`VolumeError::CannotOpen`] for unsupported IVs.
pub fn open(
    device: Arc<dyn BlockDevice>,
    credentials: &Credentials,
    options: &OpenOptions<'_>,
) -> Result<Volume, VolumeError> {
    let block = read_bytes(&*device, 0..BLOCK.min(device.size()));
    let block = block.map_err(VolumeError::io("reading the critical data block"))?;
    if block.len() < BLOCK as usize {
        let reason = "it is shorter than a critical data block".to_owned();
        return Err(VolumeError::NotThisFormat { format: FORMAT, reason });
    }
    let details = unlock(&block, credentials, options)?;
    let (data, warning) = there(
        Extent { offset: BLOCK, len: details.len },
        device.size(),
        UNIT as u64,
        Access::ReadOnly,
    )?;
    let cipher = details.data_cipher(options.tier)?;
    let info = VolumeInfo {
        format: FORMAT,
        cipher: format!("{}-{}", details.cipher, details.data_mode()?),
        kernel: cipher.tier(),
        key_bytes: details.key.len(),
        derivation: format!("{}, {ITERATIONS} iterations", details.prf.name),
        data_unit: UNIT,
        size: data.len,
        data_offset: data.offset,
        details: warning.map(|text| (WARNING, text)).into_iter().collect(),
    };
    let first_tweak = if details.from_file { BLOCK / UNIT as u64 } else { 0 };
    let mapping = Mapping { data, cipher, first_tweak, tweak_step: 1, protected: None };
    Volume::new(device, mapping, Access::ReadOnly, info)
}

/// Tries every hash with every cipher.
fn unlock(
    block: &[u8],
    credentials: &Credentials,
    options: &OpenOptions<'_>,
) -> Result<Details, VolumeError> {
    let (salt, rest) = block.split_at(SALT);
    for (name, hash_block, hash) in HASHES {
        if options.prf.is_some_and(|wanted| wanted != name) {
            continue;
        }
        let prf = cryptbench_kdf::find(name)?;
        let mut derived = LockedBytes::zeroed(MOST_KEY);
        prf.pbkdf2(credentials.passphrase.bytes(), salt, ITERATIONS, &mut derived, options.effort)?;
        for (cipher, mode) in CIPHERS {
            for bytes in dm_crypt_key_bytes(cipher, mode)? {
                let Some(key) = derived.get(..bytes) else { continue };
                let layout = Layout { data_unit: rest.len(), tweak_step: 1 };
                let mut plain = LockedBytes::copy_of(rest);
                dm_crypt(cipher, mode, key, layout, options.tier)?.decrypt_in_place(0, &mut plain);
                let (mac, details) = plain.split_at(MAC);
                let right = hmac(prf, hash_block, key, details);
                if mac[..right.len()] == right {
                    let found = Found { cipher, mode, prf, hash };
                    return found.parsed(details).ok_or_else(|| VolumeError::Damaged {
                        format: FORMAT,
                        reason: "its critical data block has neither layout 3 nor layout 4"
                            .to_owned(),
                    });
                }
            }
        }
    }
    let reason = "wrong passphrase, not a FreeOTFE volume, or a FreeOTFE volume with an unsupported hash, cipher, \
                  salt length (only 256 bits) or iteration count (only 2048)";
    Err(VolumeError::NoKeyFits(reason.to_owned()))
}

/// HMAC (RFC 2104) with a hash whose block size is `block`.
fn hmac(prf: &Prf, block: usize, key: &[u8], data: &[u8]) -> Vec<u8> {
    // No key is longer than a block.
    let padded = |with: u8| {
        let mut pad = LockedBytes::zeroed(block);
        pad[..key.len()].copy_from_slice(key);
        pad.iter_mut().for_each(|byte| *byte ^= with);
        pad
    };
    let (mut inner, mut outer) = (vec![0; prf.output_bytes], vec![0; prf.output_bytes]);
    prf.hash(&[&padded(0x36), data], &mut inner);
    prf.hash(&[&padded(0x5c), &inner], &mut outer);
    outer
}

/// The credential that decrypted the block.
struct Found {
    cipher: &'static str,
    mode: &'static str,
    prf: &'static Prf,
    hash: &'static str,
}

impl Found {
    fn parsed(self, mut rest: &[u8]) -> Option<Details> {
        let mut take = |count: usize| {
            let (taken, after) = rest.split_at_checked(count)?;
            rest = after;
            Some(taken)
        };
        let number = |bytes: &[u8]| bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
        let [3 | 4] = *take(1)? else { return None };
        let flags = number(take(4)?);
        let len = number(take(8)?);
        let key_bits = usize::try_from(number(take(4)?)).ok()?;
        let key = LockedBytes::copy_of(take(key_bits / 8)?);
        let _drive = take(1)?;
        let iv_bits = usize::try_from(number(take(4)?)).ok()?;
        let iv = take(iv_bits / 8)?.to_vec();
        let [generator] = *take(1)? else { return None };
        let Self { cipher, mode, prf, hash } = self;
        let from_file = flags & 2 != 0;
        Some(Details { cipher, mode, prf, hash, from_file, len, key, iv, generator })
    }
}

impl Details {
    /// The mode of the data, with its IV generator.
    fn data_mode(&self) -> Result<String, VolumeError> {
        match (self.mode, self.generator) {
            ("cbc-null", 0) => Ok("cbc-null".to_owned()),
            ("cbc-null", 1) => Ok("cbc-plain".to_owned()),
            ("cbc-null", 2) => Ok("cbc-plain64".to_owned()),
            // The program truncates or pads the hash to the length of a key; dm-crypt does not.
            ("cbc-null", 5) if self.prf.output_bytes == self.key.len() => {
                Ok(format!("cbc-essiv:{}", self.hash))
            }
            (mode, 0) if self.iv.is_empty() => Ok(mode.to_owned()),
            (_, generator) => Err(VolumeError::CannotOpen {
                what: format!("a FreeOTFE volume with {} and IVs of type {generator}", self.cipher),
                why: "cryptbench does not support these IVs".to_owned(),
                with: "LibreCrypt or FreeOTFE can open it".to_owned(),
            }),
        }
    }

    fn data_cipher(&self, tier: Tier) -> Result<Box<dyn SectorCipher>, VolumeError> {
        let mode = self.data_mode()?;
        if !dm_crypt_key_bytes(self.cipher, &mode)?.contains(&self.key.len()) {
            let reason = format!("a {}-byte key for {}", self.key.len(), self.cipher);
            return Err(VolumeError::Damaged { format: FORMAT, reason });
        }
        let inner = dm_crypt(self.cipher, &mode, &self.key, Layout::SECTOR_512, tier)?;
        Ok(match self.iv.is_empty() {
            true => inner,
            false => Box::new(WithIv { inner, iv: self.iv.clone() }),
        })
    }
}

/// CBC that combines each IV with an additional value.
struct WithIv {
    inner: Box<dyn SectorCipher>,
    iv: Vec<u8>,
}

impl WithIv {
    fn combine(&self, data: &mut [u8]) {
        for unit in data.chunks_mut(UNIT) {
            unit.iter_mut().zip(&self.iv).for_each(|(byte, iv)| *byte ^= iv);
        }
    }
}

impl SectorCipher for WithIv {
    fn data_unit(&self) -> usize {
        UNIT
    }

    fn encrypt(&self, first_unit: u64, src: &[u8], dst: &mut [u8]) {
        dst.copy_from_slice(src);
        self.encrypt_in_place(first_unit, dst);
    }

    fn encrypt_in_place(&self, first_unit: u64, data: &mut [u8]) {
        self.combine(data);
        self.inner.encrypt_in_place(first_unit, data);
    }

    fn decrypt(&self, first_unit: u64, src: &[u8], dst: &mut [u8]) {
        dst.copy_from_slice(src);
        self.decrypt_in_place(first_unit, dst);
    }

    fn decrypt_in_place(&self, first_unit: u64, data: &mut [u8]) {
        self.inner.decrypt_in_place(first_unit, data);
        self.combine(data);
    }

    fn tier(&self) -> &'static str {
        self.inner.tier()
    }

    fn visit_keys(&self, visit: &mut dyn FnMut(*const u8, usize)) {
        self.inner.visit_keys(visit);
    }
}
