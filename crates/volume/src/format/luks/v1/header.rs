//! The header of LUKS1, read and written (LUKS1 specification, section 3, figures 2 and 3).

use std::collections::BTreeMap;
use std::ops::Range;

use cryptbench_blockdev::{BlockDevice, Extent, read_bytes, write_bytes};
use cryptbench_kdf::Derivation;

use super::keyslots::{KEYSLOT, KEYSLOTS_AT, SLOTS, area_bytes, parse_keyslot, set_keyslot};
use crate::VolumeError;
use crate::format::luks::hash::Hash;
use crate::format::luks::model::{Digest, Keyslot, MOST_KEY, Metadata, Segment};
use crate::format::luks::spec::Spec;
use crate::format::luks::store::io;
use crate::format::luks::{ALIGNMENT, MAGIC, SECTOR, UUID, Version, set_text, text};

const HEADER_BYTES: usize = 592;

const CIPHER: Range<usize> = 8..40;
const MODE: Range<usize> = 40..72;
const HASH: Range<usize> = 72..104;
const PAYLOAD: usize = 104;
const KEY_BYTES: usize = 108;
const DIGEST: Range<usize> = 112..132;
const DIGEST_SALT: Range<usize> = 132..164;
const DIGEST_ITERATIONS: usize = 164;

/// A LUKS1 header: its raw bytes and their parsed contents.
pub(in crate::format::luks) struct Header {
    raw: [u8; HEADER_BYTES],
    metadata: Metadata,
    device_size: u64,
}

/// The contents of a new header, without keyslots.
pub(in crate::format::luks) struct NewHeader<'a> {
    pub encryption: &'a Spec,
    pub hash: &'static Hash,
    pub key_bytes: usize,
    /// Start of the data in bytes; 0 for a detached header.
    pub payload: u64,
    pub uuid: &'a str,
    pub digest: [u8; 20],
    pub digest_salt: [u8; 32],
    pub digest_iterations: u32,
}

impl Header {
    pub(in crate::format::luks) fn read(device: &dyn BlockDevice) -> Result<Self, VolumeError> {
        if device.size() < HEADER_BYTES as u64 {
            return Err(damaged(format!(
                "the device is too small for a header: {} bytes",
                device.size()
            )));
        }
        let raw = read_bytes(device, 0..HEADER_BYTES as u64).map_err(io("reading the header"))?;
        let raw = raw.try_into().map_err(|_| damaged("truncated".to_owned()))?;
        Self::parse(raw, device.size()).map_err(damaged)
    }

    /// A header without keyslots.
    pub(in crate::format::luks) fn new(
        new: &NewHeader<'_>,
        device_size: u64,
    ) -> Result<Self, VolumeError> {
        let mut raw = [0; HEADER_BYTES];
        raw[..6].copy_from_slice(&MAGIC);
        raw[6..8].copy_from_slice(&1u16.to_be_bytes());
        set_text(&mut raw[CIPHER], "cipher", &new.encryption.cipher)?;
        set_text(&mut raw[MODE], "cipher mode", &new.encryption.mode)?;
        set_text(&mut raw[HASH], "hash", new.hash.name)?;
        set_text(&mut raw[UUID], "UUID", new.uuid)?;
        let payload = u32::try_from(new.payload / SECTOR).map_err(|_| {
            VolumeError::Invalid("LUKS1 data must start within the first 2 TiB".to_owned())
        })?;
        put(&mut raw, PAYLOAD, payload);
        put(&mut raw, KEY_BYTES, new.key_bytes as u32);
        raw[DIGEST].copy_from_slice(&new.digest);
        raw[DIGEST_SALT].copy_from_slice(&new.digest_salt);
        put(&mut raw, DIGEST_ITERATIONS, new.digest_iterations);
        for id in 0..SLOTS {
            let at = KEYSLOTS_AT + id as usize * KEYSLOT;
            super::keyslots::clear(&mut raw[at..at + KEYSLOT], id, new.key_bytes);
        }
        Self::parse(raw, device_size).map_err(VolumeError::Invalid)
    }

    fn parse(raw: [u8; HEADER_BYTES], device_size: u64) -> Result<Self, String> {
        let encryption =
            Spec { cipher: text(&raw[CIPHER], "the cipher")?, mode: text(&raw[MODE], "the mode")? };
        let hash = text(&raw[HASH], "the hash")?;
        let uuid = text(&raw[UUID], "the UUID")?;
        let key_bytes = get(&raw, KEY_BYTES) as usize;
        if key_bytes == 0 || key_bytes > MOST_KEY {
            return Err(format!("the length of the volume key is invalid: {key_bytes} bytes"));
        }
        let iterations = get(&raw, DIGEST_ITERATIONS);
        if iterations == 0 {
            return Err("its digest has 0 iterations".to_owned());
        }
        let payload = u64::from(get(&raw, PAYLOAD)) * SECTOR;
        // A detached header specifies 0; the file of a header backup ends before the data offset in its header.
        let end = if payload == 0 { device_size } else { payload.min(device_size) };
        let prf = Hash::find(&hash).and_then(Hash::prf);
        let mut keyslots = BTreeMap::new();
        let mut areas = Vec::new();
        for id in 0..SLOTS {
            let at = KEYSLOTS_AT + id as usize * KEYSLOT;
            let bytes = &raw[at..at + KEYSLOT];
            let (slot, area) = parse_keyslot(id, bytes, &encryption, &hash, key_bytes)?;
            if area.offset < HEADER_BYTES as u64 || area.offset + area.len > end {
                return Err(format!("the area of keyslot {id} is outside the header"));
            }
            keyslots.extend(slot.map(|slot| (id, slot)));
            areas.push((area, id));
        }
        let used = check_overlaps(areas)?;
        let bound: Vec<u32> = keyslots.keys().copied().collect();
        let digest = Digest {
            keyslots: bound,
            segments: vec![0],
            derivation: prf.map(|prf| Derivation::Pbkdf2 { prf, iterations }),
            salt: raw[DIGEST_SALT].to_vec(),
            value: raw[DIGEST].to_vec(),
        };
        let segment = Segment {
            id: 0,
            kind: "crypt".to_owned(),
            offset: payload,
            size: None,
            iv_tweak: 0,
            encryption: encryption.to_string(),
            sector_size: SECTOR as u32,
            integrity: None,
            flags: Vec::new(),
        };
        let metadata = Metadata {
            version: Version::Luks1,
            uuid,
            label: String::new(),
            subsystem: String::new(),
            keyslots,
            digests: vec![digest],
            segments: vec![segment],
            tokens: Vec::new(),
            requirements: Vec::new(),
            heads_bytes: ALIGNMENT,
            header_bytes: used.next_multiple_of(ALIGNMENT).min(end),
        };
        Ok(Self { raw, metadata, device_size })
    }

    /// Parses the changed bytes, so that this program never writes a header that it cannot read.
    fn change(&mut self, raw: [u8; HEADER_BYTES]) -> Result<(), VolumeError> {
        let metadata = Self::parse(raw, self.device_size).map_err(VolumeError::Invalid)?.metadata;
        (self.raw, self.metadata) = (raw, metadata);
        Ok(())
    }

    fn keyslot_at(id: u32) -> Result<usize, VolumeError> {
        if id >= SLOTS {
            return Err(VolumeError::Invalid(format!("LUKS1 has keyslots 0 to {}", SLOTS - 1)));
        }
        Ok(KEYSLOTS_AT + id as usize * KEYSLOT)
    }
}

impl crate::format::luks::store::Header for Header {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The gap between the header and the first keyslot if the keyslot begins at the next alignment boundary,
    /// and the gap that pads the last keyslot to a boundary. cryptsetup writes zeros there in its backups. It
    /// copies the gaps between keyslots unchanged.
    fn unused(&self) -> Vec<Range<u64>> {
        let area = |id: u32| {
            let at = KEYSLOTS_AT + id as usize * KEYSLOT;
            super::keyslots::offset(&self.raw[at..at + KEYSLOT])
        };
        let len = area_bytes(get(&self.raw, KEY_BYTES) as usize);
        let used = (0..SLOTS).map(area).max().unwrap_or(0) + len;
        let start = if area(0) == ALIGNMENT { ALIGNMENT } else { HEADER_BYTES as u64 };
        vec![HEADER_BYTES as u64..start, used..self.metadata.header_bytes]
    }

    fn room(&self, wanted: Option<u32>, bytes: u64) -> Result<(u32, Extent), VolumeError> {
        let free = |id: &u32| !self.metadata.keyslots.contains_key(id);
        let id = match wanted {
            Some(id) => Some(id).filter(free),
            None => (0..SLOTS).find(free),
        };
        let Some(id) = id else {
            return Err(VolumeError::Invalid(match wanted {
                Some(id) => format!("keyslot {id} is in use"),
                None => format!("all {SLOTS} keyslots are in use; remove one first"),
            }));
        };
        let at = Self::keyslot_at(id)?;
        let offset = super::keyslots::offset(&self.raw[at..at + KEYSLOT]);
        let len = area_bytes(get(&self.raw, KEY_BYTES) as usize);
        debug_assert!(bytes <= len, "all keyslots of LUKS1 have the same size");
        Ok((id, Extent { offset, len }))
    }

    fn insert(&mut self, slot: &Keyslot) -> Result<(), VolumeError> {
        let mut raw = self.raw;
        let at = Self::keyslot_at(slot.id)?;
        let hash = text(&raw[HASH], "the hash").map_err(damaged)?;
        set_keyslot(&mut raw[at..at + KEYSLOT], slot, &hash)?;
        self.change(raw)
    }

    fn remove(&mut self, id: u32) -> Result<(), VolumeError> {
        let mut raw = self.raw;
        let at = Self::keyslot_at(id)?;
        super::keyslots::disable(&mut raw[at..at + KEYSLOT]);
        self.change(raw)
    }

    /// Writes the header in one piece. The write is not atomic on a disk with 512-byte sectors, because a
    /// sector boundary is inside keyslot 6. A change affects only one keyslot, so all others stay valid.
    fn write(&mut self, device: &dyn BlockDevice) -> Result<(), VolumeError> {
        write_bytes(device, 0, &self.raw).map_err(io("writing the header"))?;
        device.flush().map_err(io("writing the header"))
    }
}

/// Checks that areas do not overlap, and returns the end of the last area.
fn check_overlaps(mut areas: Vec<(Extent, u32)>) -> Result<u64, String> {
    areas.sort_by_key(|(area, _)| area.offset);
    match areas.windows(2).find(|pair| pair[0].0.offset + pair[0].0.len > pair[1].0.offset) {
        Some(pair) => Err(format!("the areas of keyslots {} and {} overlap", pair[0].1, pair[1].1)),
        None => Ok(areas.last().map_or(0, |(area, _)| area.offset + area.len)),
    }
}

pub(super) fn get(raw: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]])
}

pub(super) fn put(raw: &mut [u8], at: usize, value: u32) {
    raw[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

fn damaged(reason: String) -> VolumeError {
    VolumeError::Damaged { format: Version::Luks1.as_str(), reason }
}
