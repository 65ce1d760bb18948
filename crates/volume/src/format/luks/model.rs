//! The contents of a LUKS header, independent of its version: keyslots, digests and segments.

use std::collections::BTreeMap;

use cryptbench_blockdev::Extent;
use cryptbench_kdf::Derivation;

use super::Version;
use super::hash::Hash;
use super::spec::{Spec, WITH};
use super::unlock::cannot_use;
use crate::VolumeError;

/// Maximum accepted length of a volume key or keyslot key, in bytes. One key has at most 64, or 128 with
/// integrity; loop-AES uses 64 keys and a seed.
pub(super) const MOST_KEY: usize = 65 * 64;

/// Maximum number of stripes accepted; every known implementation writes 4000.
pub(super) const MOST_STRIPES: u32 = 8192;

/// The parsed and checked metadata.
#[derive(Clone)]
pub(super) struct Metadata {
    pub version: Version,
    pub uuid: String,
    /// LUKS2 only.
    pub label: String,
    /// LUKS2 only.
    pub subsystem: String,
    pub keyslots: BTreeMap<u32, Slot>,
    pub digests: Vec<Digest>,
    pub segments: Vec<Segment>,
    /// Types of tokens: LUKS2 only.
    pub tokens: Vec<String>,
    /// Mandatory requirements: LUKS2 only.
    pub requirements: Vec<String>,
    /// Size of the headers without the keyslots in bytes, from the start of the device.
    pub heads_bytes: u64,
    /// Size of the headers and the keyslots in bytes, from the start of the device.
    pub header_bytes: u64,
}

/// A keyslot that this program can use, or the reason why it cannot.
#[derive(Clone)]
pub(super) enum Slot {
    Usable(Keyslot),
    Unusable {
        /// The keyslot's area, if it has one.
        area: Option<Extent>,
        reason: String,
    },
}

impl Slot {
    pub(super) fn area(&self) -> Option<Extent> {
        match self {
            Self::Usable(slot) => Some(slot.area),
            Self::Unusable { area, .. } => *area,
        }
    }
}

/// A volume key encrypted under a passphrase.
#[derive(Clone)]
pub(super) struct Keyslot {
    pub id: u32,
    /// Bytes of the volume key.
    pub key_bytes: usize,
    pub derivation: Derivation,
    pub salt: Vec<u8>,
    pub stripes: u32,
    /// The splitter's hash.
    pub hash: &'static Hash,
    pub area: Extent,
    /// Encryption of the area.
    pub encryption: Spec,
    /// Size of the area's key in bytes; the key is derived from the passphrase.
    pub area_key_bytes: usize,
    pub priority: Priority,
}

impl Keyslot {
    /// Size of the key material in the area in bytes, rounded up to whole sectors.
    pub(super) fn material_bytes(key_bytes: usize, stripes: u32) -> u64 {
        (key_bytes as u64 * u64::from(stripes)).next_multiple_of(super::SECTOR)
    }

    /// Checks the sizes.
    ///
    /// # Errors
    /// A message that contains the invalid size.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.key_bytes == 0 || self.key_bytes > MOST_KEY {
            return Err(format!(
                "the length of the volume key is invalid: {} bytes",
                self.key_bytes
            ));
        }
        if self.area_key_bytes == 0 || self.area_key_bytes > MOST_KEY {
            return Err(format!(
                "the length of the area's key is invalid: {} bytes",
                self.area_key_bytes
            ));
        }
        if self.stripes == 0 || self.stripes > MOST_STRIPES {
            return Err(format!("the number of stripes is invalid: {}", self.stripes));
        }
        let needed = Self::material_bytes(self.key_bytes, self.stripes);
        if needed > self.area.len {
            let len = self.area.len;
            return Err(format!(
                "{needed} bytes of key material do not fit into an area of {len} bytes"
            ));
        }
        Ok(())
    }
}

/// Order in which keyslots are tried (LUKS2; in LUKS1 all are normal).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Priority {
    Prefer,
    Normal,
    /// Tried only if the caller specifies the keyslot.
    Ignore,
}

/// A digest that verifies a volume key.
#[derive(Clone)]
pub(super) struct Digest {
    pub keyslots: Vec<u32>,
    pub segments: Vec<u32>,
    /// PBKDF2, or why the digest cannot be computed.
    pub derivation: Result<Derivation, String>,
    pub salt: Vec<u8>,
    pub value: Vec<u8>,
}

/// A part of the data area.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub id: u32,
    /// `crypt`, `linear`, `hw-opal`, `hw-opal-crypt`.
    pub kind: String,
    /// Offset in bytes from the start of the data device.
    pub offset: u64,
    /// Size in bytes; `None` extends to the end of the device.
    pub size: Option<u64>,
    /// Tweak number of its first sector.
    pub iv_tweak: u64,
    pub encryption: String,
    pub sector_size: u32,
    /// Name of the underlying dm-integrity algorithm, if any.
    pub integrity: Option<String>,
    pub flags: Vec<String>,
}

impl Segment {
    /// The cipher that it specifies.
    ///
    /// # Errors
    /// [`VolumeError::CannotOpen`] if the specification does not have the form `cipher-mode`.
    pub(super) fn spec(&self) -> Result<Spec, VolumeError> {
        Spec::parse(&self.encryption).ok_or_else(|| VolumeError::CannotOpen {
            what: format!("the cipher {:?}", self.encryption),
            why: "it has no mode".to_owned(),
            with: WITH.to_owned(),
        })
    }
}

impl Metadata {
    /// The only segment, if this program can open it.
    pub(super) fn segment(&self) -> Result<&Segment, VolumeError> {
        let format = match self.version {
            Version::Luks1 => "LUKS1",
            Version::Luks2 => "LUKS2",
        };
        let refuse = |what: &str, why: &str, with: &str| {
            Err(VolumeError::CannotOpen {
                what: format!("{format} with {what}"),
                why: why.to_owned(),
                with: with.to_owned(),
            })
        };
        let unknown = "its meaning is not known to this program";
        if let Some(name) = self.requirements.first() {
            let named = format!("the requirement {name}");
            return match name.as_str() {
                name if name.contains("reencrypt") => refuse(
                    &named,
                    "a re-encryption is in progress",
                    "finish it with `cryptsetup reencrypt --resume-only`",
                ),
                "opal" => refuse(&named, "the drive encrypts it itself (OPAL)", WITH),
                "inline-hw-tags" => {
                    refuse(&named, "its tags are stored in the drive's sectors", WITH)
                }
                _ => refuse(&named, unknown, WITH),
            };
        }
        let segment = match self.segments.as_slice() {
            [one] => one,
            [] => return refuse("no segment", "it has no data", "cryptsetup may repair it"),
            many => {
                return refuse(
                    &format!("{} segments", many.len()),
                    "a re-encryption has not finished",
                    "finish it with `cryptsetup reencrypt --resume-only`",
                );
            }
        };
        if let Some(name) = &segment.integrity {
            return refuse(
                &format!("integrity protection ({name})"),
                "it needs dm-integrity in the kernel",
                "cryptsetup opens it",
            );
        }
        if let Some(flag) = segment.flags.first() {
            return refuse(&format!("a segment with the flag {flag:?}"), unknown, WITH);
        }
        let named = format!("a segment of type {:?}", segment.kind);
        match segment.kind.as_str() {
            "crypt" => Ok(segment),
            "linear" => refuse(&named, "it is not encrypted", "cryptsetup opens it"),
            kind if kind.contains("opal") => {
                refuse(&named, "the drive encrypts it itself", "cryptsetup opens it")
            }
            _ => refuse(&named, unknown, WITH),
        }
    }

    /// Why no key can open the volume here, if that is known without a key.
    pub(super) fn check(&self) -> Result<(), VolumeError> {
        let segment = self.segment()?;
        let spec = segment.spec()?;
        let mut checked = Ok(());
        for id in self.keyslots_of(segment.id) {
            checked = match &self.keyslots[&id] {
                Slot::Usable(slot) => {
                    spec.check(slot.key_bytes).and(slot.encryption.check(slot.area_key_bytes))
                }
                Slot::Unusable { reason, .. } => Err(cannot_use(id, reason)),
            };
            if checked.is_ok() {
                break;
            }
        }
        checked
    }

    /// The digest of the key in keyslot `id`, even if the key does not belong to any segment (`unbound`).
    pub(super) fn digest_of(&self, id: u32) -> Option<&Digest> {
        self.digests.iter().find(|digest| digest.keyslots.contains(&id))
    }

    /// Keyslots that contain a key for `segment`, in the order in which they are tried.
    pub(super) fn keyslots_of(&self, segment: u32) -> Vec<u32> {
        let bound = |id: &u32| self.digest_of(*id).is_some_and(|d| d.segments.contains(&segment));
        let mut ids: Vec<u32> = self.keyslots.keys().copied().filter(bound).collect();
        ids.sort_by_key(|id| match &self.keyslots[id] {
            Slot::Usable(slot) => (slot.priority, *id),
            Slot::Unusable { .. } => (Priority::Ignore, *id),
        });
        ids
    }

    /// Checks that no two keyslots share bytes.
    ///
    /// # Errors
    /// A message that lists two keyslots whose areas overlap.
    pub(super) fn check_overlaps(&self) -> Result<(), String> {
        let areas = self.keyslots.iter().filter_map(|(id, slot)| Some((slot.area()?, id)));
        let mut areas: Vec<_> = areas.collect();
        areas.sort_by_key(|(area, _)| area.offset);
        for pair in areas.windows(2) {
            let ((first, a), (second, b)) = (pair[0], pair[1]);
            if first.offset.saturating_add(first.len) > second.offset {
                return Err(format!("the areas of keyslots {a} and {b} overlap"));
            }
        }
        Ok(())
    }
}
