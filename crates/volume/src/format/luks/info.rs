//! The information that a header reveals without a key.

use cryptbench_blockdev::BlockDevice;
use cryptbench_kdf::Derivation;
use cryptbench_text::chain;
use serde::Serialize;

use super::Version;
use super::limits::describe;
use super::model::{Priority, Slot};
use super::store::{self, Which};
use crate::VolumeError;

/// The contents of a header. Contains no secret and no key material.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Info {
    /// Version of the format.
    pub version: Version,
    /// UUID as written in the header.
    pub uuid: String,
    /// Label; empty in LUKS1.
    pub label: String,
    /// Subsystem; empty in LUKS1.
    pub subsystem: String,
    /// Size in bytes of the header and the keyslots, from the start of the device; a backup contains exactly
    /// these bytes.
    pub header_bytes: u64,
    /// State of both copies; empty in LUKS1.
    pub copies: Vec<CopyInfo>,
    /// Keyslots in use.
    pub keyslots: Vec<KeyslotInfo>,
    /// Digests of keys.
    pub digests: Vec<DigestInfo>,
    /// Parts of the data area.
    pub segments: Vec<SegmentInfo>,
    /// Types of tokens.
    pub tokens: Vec<String>,
    /// Mandatory requirements.
    pub requirements: Vec<String>,
    /// Why this program cannot open the volume with any key; `None` if it can.
    pub obstacle: Option<String>,
}

/// One of the two copies of a LUKS2 header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopyInfo {
    /// `primary` or `secondary`.
    pub role: &'static str,
    /// The copy's sequence number, if the copy is valid.
    pub seqid: Option<u64>,
    /// The copy's defect, if it is not valid.
    pub problem: Option<String>,
}

/// A keyslot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyslotInfo {
    /// Its number.
    pub id: u32,
    /// KDF and cost, or why the keyslot cannot be used.
    pub derivation: Result<String, String>,
    /// Encryption of the keyslot's area, such as `aes-xts-plain64`.
    pub encryption: Option<String>,
    /// Bytes of the volume key.
    pub key_bytes: Option<usize>,
    /// Offset and length of its area in bytes; the offset is relative to the start of the device.
    pub area: Option<(u64, u64)>,
    /// Hash and stripes of the anti-forensic splitter.
    pub splitter: Option<(&'static str, u32)>,
    /// `prefer`, `normal` or `ignore`.
    pub priority: Option<&'static str>,
}

/// A digest of a volume key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DigestInfo {
    /// Function and cost, or why the digest cannot be computed.
    pub derivation: Result<String, String>,
    /// Keyslots that hold this key.
    pub keyslots: Vec<u32>,
    /// Segments that this key encrypts.
    pub segments: Vec<u32>,
}

/// A part of the data area.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SegmentInfo {
    /// Its number.
    pub id: u32,
    /// Type, such as `crypt`.
    pub kind: String,
    /// First byte on the data device.
    pub offset: u64,
    /// Length in bytes; `None` extends to the end of the device.
    pub size: Option<u64>,
    /// Cipher, such as `aes-xts-plain64`.
    pub encryption: String,
    /// Bytes of a sector.
    pub sector_size: u32,
    /// Tweak number of the first sector.
    pub iv_tweak: u64,
    /// Name of the underlying dm-integrity algorithm, if any.
    pub integrity: Option<String>,
    /// Flags.
    pub flags: Vec<String>,
}

/// Reads the header of `device`, attached or detached. Needs no key.
///
/// # Errors
/// [`VolumeError::NotThisFormat`], [`VolumeError::Damaged`], [`VolumeError::Io`].
pub fn info(device: &dyn BlockDevice) -> Result<Info, VolumeError> {
    let header = store::read(device, Which::Newest)?;
    let metadata = header.metadata();
    let digests = metadata.digests.iter().map(|digest| DigestInfo {
        derivation: digest.derivation.as_ref().map(describe).map_err(Clone::clone),
        keyslots: digest.keyslots.clone(),
        segments: digest.segments.clone(),
    });
    let segments = metadata.segments.iter().map(|segment| SegmentInfo {
        id: segment.id,
        kind: segment.kind.clone(),
        offset: segment.offset,
        size: segment.size,
        encryption: segment.encryption.clone(),
        sector_size: segment.sector_size,
        iv_tweak: segment.iv_tweak,
        integrity: segment.integrity.clone(),
        flags: segment.flags.clone(),
    });
    Ok(Info {
        version: metadata.version,
        uuid: metadata.uuid.clone(),
        label: metadata.label.clone(),
        subsystem: metadata.subsystem.clone(),
        header_bytes: metadata.header_bytes,
        copies: header.copies(),
        keyslots: metadata.keyslots.iter().map(|(id, slot)| keyslot(*id, slot)).collect(),
        digests: digests.collect(),
        segments: segments.collect(),
        tokens: metadata.tokens.clone(),
        requirements: metadata.requirements.clone(),
        obstacle: metadata.check().err().map(|error| chain(&error)),
    })
}

/// Number, KDF and cost of each usable keyslot. Needs no key.
///
/// # Errors
/// As for [`info`].
pub fn keyslot_costs(device: &dyn BlockDevice) -> Result<Vec<(u32, Derivation)>, VolumeError> {
    let header = store::read(device, Which::Newest)?;
    let slots = header.metadata().keyslots.iter();
    let usable = slots.filter_map(|(id, slot)| match slot {
        Slot::Usable(slot) => Some((*id, slot.derivation)),
        Slot::Unusable { .. } => None,
    });
    Ok(usable.collect())
}

fn keyslot(id: u32, slot: &Slot) -> KeyslotInfo {
    let area = slot.area().map(|area| (area.offset, area.len));
    match slot {
        Slot::Usable(slot) => KeyslotInfo {
            id,
            derivation: Ok(describe(&slot.derivation)),
            encryption: Some(slot.encryption.to_string()),
            key_bytes: Some(slot.key_bytes),
            area,
            splitter: Some((slot.hash.name, slot.stripes)),
            priority: Some(match slot.priority {
                Priority::Prefer => "prefer",
                Priority::Normal => "normal",
                Priority::Ignore => "ignore",
            }),
        },
        Slot::Unusable { reason, .. } => KeyslotInfo {
            id,
            derivation: Err(reason.clone()),
            encryption: None,
            key_bytes: None,
            area,
            splitter: None,
            priority: None,
        },
    }
}
