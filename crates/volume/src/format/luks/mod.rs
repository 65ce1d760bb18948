//! Creates and opens LUKS1 and LUKS2 volumes and manages their keyslots.
//!
//! Sources: "LUKS1 On-Disk Format Specification" 1.2.3 and "LUKS2 On-Disk Format Specification"
//! 1.1.4. Both versions share one `Metadata` of keyslots, digests and segments. The trait `Header`
//! hides how each version lays it out on the device.

mod af;
mod backup;
mod calibrate;
mod create;
mod hash;
mod info;
mod keys;
mod limits;
mod material;
mod model;
mod open;
mod sighting;
mod spec;
mod store;
mod unlock;
mod v1;
mod v2;

use std::fmt;

pub use backup::{backup_header, repair, restore_header};
pub use calibrate::calibrate;
pub use create::{CreateOptions, create};
pub use info::{CopyInfo, DigestInfo, Info, KeyslotInfo, SegmentInfo, info, keyslot_costs};
pub use keys::{KeyOptions, Removal, add_key, change_key, remove_key};
pub(crate) use limits::Budget;
pub use limits::{Limits, Resources};
pub use open::{LuksOptions, open, open_detached, open_with};
pub(crate) use sighting::sightings;
pub use unlock::derivations;

/// The name that LUKS headers use for the hash of a PRF, such as `sha256` for `sha-256`.
pub fn hash_of(prf: &str) -> Option<&'static str> {
    hash::Hash::of_prf(cryptbench_kdf::find(prf).ok()?).map(|hash| hash.name)
}

/// The PRF whose hash has this name in LUKS headers, such as `sha-256` for `sha256`.
pub fn prf_of(hash: &str) -> Option<&'static str> {
    hash::Hash::find(hash).and_then(hash::Hash::prf).ok().map(|prf| prf.name)
}

/// Whether new volumes can use this cipher, such as `aes`. Volumes with rare or weak ciphers, or with several
/// keys, can only be opened.
pub fn makes_cipher(cipher: &str) -> bool {
    let several = cipher.contains(':') && !cipher.starts_with("capi:");
    !matches!(cipher, "anubis" | "cipher_null" | "des" | "khazad" | "seed") && !several
}

/// Whether new volumes can use this mode, such as `xts-plain64`. The other modes reveal which sectors are
/// equal, or what two versions of a sector have in common. Volumes that use them, or `eboiv` with a mode other
/// than CBC, can only be opened.
pub fn makes_new(mode: &str) -> bool {
    let (chain, generator) = mode.split_once('-').unwrap_or((mode, ""));
    let usual =
        !generator.starts_with("null") && (chain == "cbc" || !generator.starts_with("eboiv"));
    matches!(chain, "xts" | "cbc" | "adiantum" | "hctr2") && usual
}

/// The hashes that headers can specify, under the names that this program writes.
pub fn hashes() -> impl Iterator<Item = &'static str> {
    hash::Hash::all().iter().map(|hash| hash.name)
}

/// Version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Version {
    /// One 592-byte header, eight keyslots, PBKDF2 only.
    Luks1,
    /// Two copies of a header with JSON metadata; keys can be derived with Argon2.
    Luks2,
}

impl Version {
    /// Name in lists and records: `luks1` or `luks2`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Luks1 => "luks1",
            Self::Luks2 => "luks2",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// First bytes of a LUKS1 header and of the primary header of LUKS2.
pub(crate) const MAGIC: [u8; 6] = *b"LUKS\xba\xbe";

/// First bytes of the secondary header of LUKS2.
const SECONDARY_MAGIC: [u8; 6] = *b"SKUL\xba\xbe";

/// Byte range of the UUID in the primary and secondary headers of both versions.
const UUID: std::ops::Range<usize> = 168..208;

/// Unit of LUKS1's offsets and of all tweak numbers, in bytes.
const SECTOR: u64 = 512;

/// Alignment of keyslot areas and of the header's parts, in bytes.
const ALIGNMENT: u64 = 4096;

/// Stripes of the anti-forensic splitter in every known implementation.
const STRIPES: u32 = 4000;

/// The text of a NUL-terminated field of a binary header.
///
/// # Errors
/// A message if the field has no NUL or is not valid text.
fn text(field: &[u8], name: &str) -> Result<String, String> {
    let end =
        field.iter().position(|&byte| byte == 0).ok_or(format!("{name} has no terminating NUL"))?;
    match std::str::from_utf8(&field[..end]) {
        Ok(text) if !text.contains(char::is_control) => Ok(text.to_owned()),
        _ => Err(format!("{name} is not text")),
    }
}

/// The text of a field with arbitrary content: bytes that are not text are escaped, as `\xfc`.
fn shown_text(field: &[u8]) -> String {
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    match std::str::from_utf8(&field[..end]) {
        Ok(text) if !text.contains(char::is_control) => text.to_owned(),
        _ => field[..end].escape_ascii().to_string(),
    }
}

/// Writes `text` into a NUL-terminated field and zeroes the rest.
///
/// # Errors
/// [`VolumeError::Invalid`](crate::VolumeError::Invalid) if the text is too long or contains control
/// characters.
fn set_text(field: &mut [u8], name: &str, text: &str) -> Result<(), crate::VolumeError> {
    let most = field.len() - 1;
    if text.len() > most {
        return Err(crate::VolumeError::Invalid(format!("the {name} is longer than {most} bytes")));
    }
    if text.contains(char::is_control) {
        return Err(crate::VolumeError::Invalid(format!("the {name} has control characters")));
    }
    field.fill(0);
    field[..text.len()].copy_from_slice(text.as_bytes());
    Ok(())
}
