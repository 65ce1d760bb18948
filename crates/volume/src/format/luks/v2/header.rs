//! Both copies of a LUKS2 header. The newest valid copy is read, and the other one is written first.

use base64ct::{Base64, Encoding};
use cryptbench_blockdev::{BlockDevice, Extent, write_bytes};
use cryptbench_kdf::Derivation;
use serde_json::{Map, Value, json};

use super::binary::{self, Binary, Flaw, HDR_SIZES, Role, text_field};
use super::json::{self as metadata_json, MOST_KEYSLOTS};
use crate::VolumeError;
use crate::format::luks::hash::Hash;
use crate::format::luks::info::CopyInfo;
use crate::format::luks::model::{Keyslot, Metadata, Priority, Slot};
use crate::format::luks::store::{Which, io};
use crate::format::luks::{ALIGNMENT, Version};

/// A LUKS2 header: the copy in use, and the state of the other.
pub(in crate::format::luks) struct Header {
    binary: Binary,
    json: Vec<u8>,
    metadata: Metadata,
    taken: Role,
    copies: Vec<CopyInfo>,
}

/// The contents of a new header, without keyslots.
pub(in crate::format::luks) struct NewHeader<'a> {
    pub hdr_size: u64,
    pub keyslots_size: u64,
    pub uuid: &'a str,
    pub label: &'a str,
    pub subsystem: &'a str,
    pub encryption: &'a str,
    pub sector_size: u32,
    /// Start of the data in bytes; 0 for a detached header.
    pub data_offset: u64,
    pub digest_hash: &'static Hash,
    pub digest_iterations: u32,
    pub digest_salt: &'a [u8],
    pub digest: &'a [u8],
}

/// A copy that passed every check.
struct Copy {
    role: Role,
    binary: Binary,
    json: Vec<u8>,
    metadata: Metadata,
}

impl Copy {
    fn read(device: &dyn BlockDevice, role: Role, offset: u64) -> Result<Self, Flaw> {
        let (binary, area) = binary::read(device, role, offset)?;
        let json = metadata_json::text_of(&area)?.to_vec();
        let metadata = metadata_json::parse(&json, &binary)?;
        Ok(Self { role, binary, json, metadata })
    }
}

impl Header {
    /// Reads both copies. The primary copy contains the offset of the secondary one; if the primary is damaged,
    /// all possible offsets are searched.
    pub(in crate::format::luks) fn read(
        device: &dyn BlockDevice,
        which: Which,
    ) -> Result<Self, VolumeError> {
        let primary = Copy::read(device, Role::Primary, 0);
        let secondary = match &primary {
            Ok(copy) => Copy::read(device, Role::Secondary, copy.binary.hdr_size),
            Err(_) => find_secondary(device),
        };
        let copies = [(Role::Primary, &primary), (Role::Secondary, &secondary)]
            .map(|(role, copy)| CopyInfo {
                role: role.as_str(),
                seqid: copy.as_ref().ok().map(|copy| copy.binary.seqid),
                problem: copy.as_ref().err().map(|flaw| flaw.reason().to_owned()),
            })
            .to_vec();
        let taken =
            match (which, primary, secondary) {
                (Which::Secondary, _, Ok(copy)) => copy,
                (Which::Secondary, _, Err(flaw)) => {
                    return Err(damaged(format!("secondary: {}", flaw.reason())));
                }
                (Which::Newest, Ok(first), Ok(second)) => {
                    if second.binary.seqid > first.binary.seqid { second } else { first }
                }
                (Which::Newest, Ok(copy), Err(_)) | (Which::Newest, Err(_), Ok(copy)) => copy,
                (Which::Newest, Err(first), Err(second)) => {
                    return Err(neither(&first, &second));
                }
            };
        let Copy { role, binary, json, metadata } = taken;
        Ok(Self { binary, json, metadata, taken: role, copies })
    }

    /// A header without keyslots.
    pub(in crate::format::luks) fn new(new: &NewHeader<'_>) -> Result<Self, VolumeError> {
        let binary = Binary {
            hdr_size: new.hdr_size,
            // The first write increments this to 1.
            seqid: 0,
            label: text_field("label", new.label)?,
            checksum: Hash::find("sha256").map_err(VolumeError::Invalid)?,
            uuid: new.uuid.to_owned(),
            subsystem: text_field("subsystem", new.subsystem)?,
        };
        let root = json!({
            "keyslots": {},
            "tokens": {},
            "segments": { "0": {
                "type": "crypt",
                "offset": new.data_offset.to_string(),
                "size": "dynamic",
                "iv_tweak": "0",
                "encryption": new.encryption,
                "sector_size": new.sector_size,
            }},
            "digests": { "0": {
                "type": "pbkdf2",
                "keyslots": [],
                "segments": ["0"],
                "hash": new.digest_hash.name,
                "iterations": new.digest_iterations,
                "salt": Base64::encode_string(new.digest_salt),
                "digest": Base64::encode_string(new.digest),
            }},
            "config": {
                "json_size": binary.json_size().to_string(),
                "keyslots_size": new.keyslots_size.to_string(),
            },
        });
        let json = root.to_string().into_bytes();
        let metadata = metadata_json::parse(&json, &binary).map_err(VolumeError::Invalid)?;
        // Fails before anything is written if a text does not fit.
        binary.seal(Role::Primary, &json)?;
        Ok(Self { binary, json, metadata, taken: Role::Secondary, copies: Vec::new() })
    }

    /// Applies a change to the metadata and parses the result, so that this program never writes a header that
    /// it cannot read.
    fn change(&mut self, change: impl FnOnce(&mut Value) -> Option<()>) -> Result<(), VolumeError> {
        let mut root: Value =
            serde_json::from_slice(&self.json).map_err(|e| damaged(e.to_string()))?;
        change(&mut root)
            .ok_or_else(|| damaged("the metadata has an unexpected structure".to_owned()))?;
        let json = root.to_string().into_bytes();
        self.binary.seal(Role::Primary, &json)?;
        self.metadata = metadata_json::parse(&json, &self.binary).map_err(VolumeError::Invalid)?;
        self.json = json;
        Ok(())
    }

    /// Free space for `bytes` of key material.
    fn free_area(&self, bytes: u64) -> Result<Extent, VolumeError> {
        let used = self.metadata.keyslots.values();
        let mut areas: Vec<_> = used.filter_map(Slot::area).collect();
        areas.sort_by_key(|area| area.offset);
        let len = bytes.next_multiple_of(ALIGNMENT);
        let mut offset = 2 * self.binary.hdr_size;
        for area in areas {
            if offset + len <= area.offset {
                break;
            }
            offset = offset.max((area.offset + area.len).next_multiple_of(ALIGNMENT));
        }
        if offset + len > self.metadata.header_bytes {
            let reason = "the keyslots area is full; remove a keyslot first".to_owned();
            return Err(VolumeError::Invalid(reason));
        }
        Ok(Extent { offset, len })
    }
}

impl crate::format::luks::store::Header for Header {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn copies(&self) -> Vec<CopyInfo> {
        self.copies.clone()
    }

    fn room(&self, wanted: Option<u32>, bytes: u64) -> Result<(u32, Extent), VolumeError> {
        let used = &self.metadata.keyslots;
        let id = match wanted {
            Some(id) if id >= MOST_KEYSLOTS => {
                let reason = format!("LUKS2 has keyslots 0 to {}", MOST_KEYSLOTS - 1);
                return Err(VolumeError::Invalid(reason));
            }
            Some(id) if used.contains_key(&id) => {
                return Err(VolumeError::Invalid(format!("keyslot {id} is in use")));
            }
            Some(id) => id,
            None => (0..MOST_KEYSLOTS).find(|id| !used.contains_key(id)).ok_or_else(|| {
                VolumeError::Invalid("all keyslots are in use; remove one first".to_owned())
            })?,
        };
        Ok((id, self.free_area(bytes)?))
    }

    fn other_area(&self, bytes: u64) -> Option<Result<Extent, VolumeError>> {
        Some(self.free_area(bytes))
    }

    fn move_tokens(&mut self, from: u32, to: u32) -> Result<(), VolumeError> {
        let (from, to) = (json!(from.to_string()), json!(to.to_string()));
        self.change(|root| {
            for token in root.get_mut("tokens")?.as_object_mut()?.values_mut() {
                if let Some(all) = token.get_mut("keyslots").and_then(Value::as_array_mut)
                    && all.contains(&from)
                {
                    all.push(to.clone());
                }
            }
            Some(())
        })
    }

    fn insert(&mut self, slot: &Keyslot) -> Result<(), VolumeError> {
        let id = slot.id.to_string();
        let mut keyslot = json!({
            "type": "luks2",
            "key_size": slot.key_bytes,
            "af": { "type": "luks1", "stripes": slot.stripes, "hash": slot.hash.name },
            "area": {
                "type": "raw",
                "offset": slot.area.offset.to_string(),
                "size": slot.area.len.to_string(),
                "encryption": slot.encryption.to_string(),
                "key_size": slot.area_key_bytes,
            },
            "kdf": kdf(slot)?,
        });
        match slot.priority {
            Priority::Normal => {}
            Priority::Ignore => keyslot["priority"] = json!(0),
            Priority::Prefer => keyslot["priority"] = json!(2),
        }
        let segment = self.metadata.segment()?.id.to_string();
        self.change(|root| {
            root["keyslots"].as_object_mut()?.insert(id.clone(), keyslot);
            let digests = root["digests"].as_object_mut()?;
            let ours = |digest: &&mut Value| {
                digest["segments"].as_array().is_some_and(|all| all.contains(&json!(segment)))
            };
            let keyslots = digests.values_mut().find(ours)?["keyslots"].as_array_mut()?;
            if !keyslots.contains(&json!(id)) {
                keyslots.push(json!(id));
            }
            Some(())
        })
    }

    fn remove(&mut self, id: u32) -> Result<(), VolumeError> {
        let id = json!(id.to_string());
        let drop_from = |objects: &mut Value| {
            for object in objects.as_object_mut().into_iter().flat_map(Map::values_mut) {
                if let Some(keyslots) = object.get_mut("keyslots").and_then(Value::as_array_mut) {
                    keyslots.retain(|keyslot| *keyslot != id);
                }
            }
        };
        self.change(|root| {
            root["keyslots"].as_object_mut()?.remove(id.as_str()?);
            drop_from(&mut root["digests"]);
            if let Some(tokens) = root.get_mut("tokens") {
                drop_from(tokens);
            }
            Some(())
        })
    }

    /// Writes first the copy that is not in use, and the other one only after that copy is on stable storage.
    /// At least one copy is therefore intact after an interruption at any point.
    fn write(&mut self, device: &dyn BlockDevice) -> Result<(), VolumeError> {
        let newest = self.copies.iter().filter_map(|copy| copy.seqid).max().unwrap_or(0);
        let seqid = self.binary.seqid.max(newest).checked_add(1);
        self.binary.seqid =
            seqid.ok_or_else(|| damaged("its seqid has reached the maximum".to_owned()))?;
        let order = match self.taken {
            Role::Primary => [Role::Secondary, Role::Primary],
            Role::Secondary => [Role::Primary, Role::Secondary],
        };
        let doing = "writing the header";
        for role in order {
            let copy = self.binary.seal(role, &self.json)?;
            write_bytes(device, self.binary.offset(role), &copy).map_err(io(doing))?;
            device.flush().map_err(io(doing))?;
        }
        Ok(())
    }
}

/// The valid secondary header with the lowest offset. Any remains of an older volume with larger headers are at
/// higher offsets.
fn find_secondary(device: &dyn BlockDevice) -> Result<Copy, Flaw> {
    let mut flaw = Flaw::Absent("not found at any of its possible offsets".to_owned());
    for offset in HDR_SIZES {
        match Copy::read(device, Role::Secondary, offset) {
            Ok(copy) => return Ok(copy),
            Err(Flaw::Absent(_)) => {}
            Err(Flaw::Bad(reason)) => flaw = Flaw::Bad(format!("at {offset}: {reason}")),
        }
    }
    Err(flaw)
}

fn kdf(slot: &Keyslot) -> Result<Value, VolumeError> {
    let salt = Base64::encode_string(&slot.salt);
    Ok(match slot.derivation {
        Derivation::Pbkdf2 { prf, iterations } => {
            let hash = Hash::of_prf(prf).ok_or_else(|| {
                VolumeError::Invalid(format!("LUKS has no name for the PRF {}", prf.name))
            })?;
            json!({ "type": "pbkdf2", "hash": hash.name, "iterations": iterations, "salt": salt })
        }
        Derivation::Argon2 { kind, params } => json!({
            "type": kind.as_str(),
            "time": params.passes,
            "memory": params.memory_kib,
            "cpus": params.lanes,
            "salt": salt,
        }),
    })
}

fn neither(primary: &Flaw, secondary: &Flaw) -> VolumeError {
    if let (Flaw::Absent(_), Flaw::Absent(_)) = (primary, secondary) {
        return VolumeError::NotThisFormat { format: "LUKS", reason: "no LUKS magic".to_owned() };
    }
    damaged(format!("primary: {}; secondary: {}", primary.reason(), secondary.reason()))
}

fn damaged(reason: String) -> VolumeError {
    VolumeError::Damaged { format: Version::Luks2.as_str(), reason }
}
