//! What a header tells without a key, for people and for records.

use cryptbench_blockdev::BlockDevice;
use cryptbench_text::chain;
use serde::Serialize;

use super::Version;
use super::limits::describe;
use super::model::{Priority, Slot};
use super::store::{self, Which};
use crate::VolumeError;

/// The contents of a header. Holds no secret, and nothing that a key is derived from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Info {
    /// Version of the format.
    pub version: Version,
    /// UUID as it stands there.
    pub uuid: String,
    /// Label; empty in LUKS1.
    pub label: String,
    /// Subsystem; empty in LUKS1.
    pub subsystem: String,
    /// Bytes of header and keyslots from the start of the device: what a backup holds.
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
    /// Why this program cannot open the volume whatever the key; `None` if nothing stands against it.
    pub obstacle: Option<String>,
}

/// One of the two copies of a LUKS2 header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopyInfo {
    /// `primary` or `secondary`.
    pub role: &'static str,
    /// Its sequence number, if it is valid.
    pub seqid: Option<u64>,
    /// What is wrong with it, if it is not.
    pub problem: Option<String>,
}

/// A keyslot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyslotInfo {
    /// Its number.
    pub id: u32,
    /// KDF and cost; or why the keyslot cannot be used.
    pub derivation: Result<String, String>,
    /// How its area is encrypted, such as `aes-xts-plain64`.
    pub encryption: Option<String>,
    /// Bytes of the volume key.
    pub key_bytes: Option<usize>,
    /// First byte of its area, from the start of the device, and bytes.
    pub area: Option<(u64, u64)>,
    /// Hash and stripes of the anti-forensic splitter.
    pub splitter: Option<(&'static str, u32)>,
    /// `prefer`, `normal` or `ignore`.
    pub priority: Option<&'static str>,
}

/// A digest of a volume key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DigestInfo {
    /// Function and cost; or why it cannot be computed.
    pub derivation: Result<String, String>,
    /// Keyslots that hold such a key.
    pub keyslots: Vec<u32>,
    /// Segments that the key is for.
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
    /// Bytes; `None` to the end of the device.
    pub size: Option<u64>,
    /// Cipher, such as `aes-xts-plain64`.
    pub encryption: String,
    /// Bytes of a sector.
    pub sector_size: u32,
    /// Tweak number of the first sector.
    pub iv_tweak: u64,
    /// dm-integrity below, by name.
    pub integrity: Option<String>,
    /// Flags.
    pub flags: Vec<String>,
}

/// Reads the header of `device`, attached or detached, which needs no key.
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
        obstacle: metadata.segment().err().map(|error| chain(&error)),
    })
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
