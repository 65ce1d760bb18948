//! The JSON metadata of LUKS2, parsed into the model that both versions share (LUKS2 specification,
//! section 3).

use std::collections::{BTreeMap, BTreeSet};

use cryptbench_blockdev::Extent;
use cryptbench_kdf::{Argon2Kind, Argon2Params, Derivation};

use super::binary::Binary;
use super::raw::{Id, RawDigest, RawKdf, RawKeyslot, RawLuks2, RawSegment, Root, decimal};
use crate::format::luks::hash::{Hash, MOST_DIGEST};
use crate::format::luks::model::{Digest, Keyslot, Metadata, Priority, Segment, Slot};
use crate::format::luks::spec::Spec;
use crate::format::luks::{ALIGNMENT, Version};

/// Maximum number of keyslots in a header, and of any other numbered object (cryptsetup's `LUKS2_KEYSLOTS_MAX`,
/// `LUKS2_TOKENS_MAX`).
pub(super) const MOST_KEYSLOTS: u32 = 32;

/// Largest keyslots area, in bytes (cryptsetup's `LUKS2_MAX_KEYSLOTS_SIZE`).
pub(in crate::format::luks) const MOST_KEYSLOTS_BYTES: u64 = 128 << 20;

/// Maximum accepted length of a salt, in bytes; 32 are usual.
const MOST_SALT: usize = 128;

/// Maximum nesting depth of the metadata. The specification needs 5, and cryptsetup's parser allows 32.
/// serde_json itself stops at 128, which bounds the stack.
const MOST_DEPTH: usize = 32;

/// The text of the JSON area up to the first NUL, after which only zeros may follow.
///
/// # Errors
/// A message that states what is wrong.
pub(super) fn text_of(area: &[u8]) -> Result<&[u8], String> {
    let end =
        area.iter().position(|&byte| byte == 0).ok_or("the metadata has no terminating NUL")?;
    if area[end..].iter().any(|&byte| byte != 0) {
        return Err("the JSON area has non-zero bytes after the metadata".to_owned());
    }
    if !area.starts_with(b"{") {
        return Err("the metadata is not a JSON object".to_owned());
    }
    check_depth(&area[..end])?;
    Ok(&area[..end])
}

/// Checks the nesting depth by counting brackets outside strings, before the text is parsed.
fn check_depth(text: &[u8]) -> Result<(), String> {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for &byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MOST_DEPTH {
            return Err(format!("the metadata is nested deeper than {MOST_DEPTH} levels"));
        }
    }
    Ok(())
}

/// Parses and checks the metadata of a header.
///
/// # Errors
/// A message that states what is wrong. A keyslot that merely uses an unknown feature is not an error.
pub(super) fn parse(text: &[u8], binary: &Binary) -> Result<Metadata, String> {
    let root: Root = serde_json::from_slice(text).map_err(|error| format!("metadata: {error}"))?;
    let keyslots_size = root.config.keyslots_size.0;
    if root.config.json_size.0 != binary.json_size() {
        let (said, is) = (root.config.json_size.0, binary.json_size());
        return Err(format!("json_size is {said}, but the area is {is} bytes long"));
    }
    if keyslots_size > MOST_KEYSLOTS_BYTES || !keyslots_size.is_multiple_of(ALIGNMENT) {
        return Err(format!("the size of the keyslots area is invalid: {keyslots_size} bytes"));
    }
    let start = 2 * binary.hdr_size;
    let space = start..start + keyslots_size;
    let mut keyslots = BTreeMap::new();
    for (Id(id), raw) in root.keyslots {
        let slot = keyslot(id, raw).map_err(|reason| format!("keyslot {id}: {reason}"))?;
        if let Some(area) = slot.area() {
            let end = area.offset.checked_add(area.len);
            if area.offset < space.start || end.is_none_or(|end| end > space.end) || area.len == 0 {
                return Err(format!("the area of keyslot {id} is outside the keyslots area"));
            }
        }
        keyslots.insert(id, slot);
    }
    let segments = root.segments.into_iter().map(|(Id(id), raw)| {
        segment(id, raw, space.end).map_err(|reason| format!("segment {id}: {reason}"))
    });
    let segments: Vec<Segment> = segments.collect::<Result<_, _>>()?;
    let ids: BTreeSet<u32> = segments.iter().map(|segment| segment.id).collect();
    let mut digests = Vec::new();
    for (Id(id), raw) in root.digests {
        let digest = digest(raw).map_err(|reason| format!("digest {id}: {reason}"))?;
        let unknown = digest.keyslots.iter().find(|id| !keyslots.contains_key(id));
        if let Some(keyslot) = unknown {
            return Err(format!("digest {id} refers to keyslot {keyslot}, which does not exist"));
        }
        if let Some(segment) = digest.segments.iter().find(|id| !ids.contains(id)) {
            return Err(format!("digest {id} refers to segment {segment}, which does not exist"));
        }
        digests.push(digest);
    }
    let metadata = Metadata {
        version: Version::Luks2,
        uuid: binary.uuid.clone(),
        label: binary.label(),
        subsystem: binary.subsystem(),
        keyslots,
        digests,
        segments,
        tokens: root.tokens.into_values().map(|token| token.kind).collect(),
        requirements: root.config.requirements.map_or_else(Vec::new, |r| r.mandatory),
        heads_bytes: space.start,
        header_bytes: space.end,
    };
    metadata.check_overlaps()?;
    Ok(metadata)
}

fn keyslot(id: u32, raw: RawKeyslot) -> Result<Slot, String> {
    let RawLuks2 { key_size, af, area, kdf, priority } = match raw {
        RawKeyslot::Luks2(luks2) => *luks2,
        RawKeyslot::Reencrypt { area } => {
            let area = Extent { offset: area.offset.0, len: area.size.0 };
            let reason = "it belongs to a re-encryption".to_owned();
            return Ok(Slot::Unusable { area: Some(area), reason });
        }
        RawKeyslot::Other => {
            return Ok(Slot::Unusable { area: None, reason: "its type is unknown".to_owned() });
        }
    };
    let extent = Extent { offset: area.extent.offset.0, len: area.extent.size.0 };
    if af.kind == "luks1" && af.hash.is_empty() {
        return Err("its splitter specifies no hash".to_owned());
    }
    if kdf.kind == "pbkdf2" && kdf.hash.is_none() {
        return Err("its KDF specifies no hash".to_owned());
    }
    let usable = || -> Result<_, String> {
        if af.kind != "luks1" {
            return Err(format!("the splitter {:?} is unknown", af.kind));
        }
        if area.kind != "raw" {
            return Err(format!("the area type {:?} is unknown", area.kind));
        }
        let encryption = Spec::parse(&area.encryption)
            .ok_or_else(|| format!("the encryption {:?} is unknown", area.encryption))?;
        Ok((derivation(&kdf)?, Hash::find(&af.hash)?, encryption))
    };
    let (derivation, hash, encryption) = match usable() {
        Ok(parts) => parts,
        Err(reason) => return Ok(Slot::Unusable { area: Some(extent), reason }),
    };
    if kdf.salt.0.len() > MOST_SALT {
        return Err(format!("the length of its salt is invalid: {} bytes", kdf.salt.0.len()));
    }
    let slot = Keyslot {
        id,
        key_bytes: key_size as usize,
        derivation,
        salt: kdf.salt.0,
        stripes: af.stripes,
        hash,
        area: extent,
        encryption,
        area_key_bytes: area.key_size as usize,
        priority: match priority {
            None | Some(1) => Priority::Normal,
            Some(0) => Priority::Ignore,
            Some(2) => Priority::Prefer,
            Some(other) => return Err(format!("priority {other}")),
        },
    };
    slot.check()?;
    Ok(Slot::Usable(slot))
}

/// The KDF of a keyslot, or why it is unusable.
fn derivation(kdf: &RawKdf) -> Result<Derivation, String> {
    let need = |value: Option<u32>, name: &str| match value {
        Some(0) | None => Err(format!("{} with no {name}", kdf.kind)),
        Some(value) => Ok(value),
    };
    let kind = match kdf.kind.as_str() {
        "pbkdf2" => {
            let prf = Hash::find(kdf.hash.as_deref().unwrap_or_default())?.prf()?;
            return Ok(Derivation::Pbkdf2 { prf, iterations: need(kdf.iterations, "iterations")? });
        }
        "argon2i" => Argon2Kind::I,
        "argon2id" => Argon2Kind::Id,
        other => return Err(format!("the KDF {other:?} is unknown")),
    };
    let params = Argon2Params {
        memory_kib: need(kdf.memory, "memory")?,
        passes: need(kdf.time, "time")?,
        lanes: need(kdf.cpus, "cpus")?,
    };
    Ok(Derivation::Argon2 { kind, params })
}

fn segment(id: u32, raw: RawSegment, header_end: u64) -> Result<Segment, String> {
    let size = match raw.size.as_str() {
        "dynamic" => None,
        text => Some(decimal(text).ok_or_else(|| format!("{text:?} is not a size"))?),
    };
    let offset = raw.offset.0;
    // An offset of 0 means that the data is on another device.
    if offset != 0 && offset < header_end {
        return Err(format!(
            "its data at {offset} overlaps the header, which ends at {header_end}"
        ));
    }
    if raw.kind == "crypt" && (raw.sector_size.is_none() || raw.iv_tweak.is_none()) {
        let field = if raw.iv_tweak.is_none() { "iv_tweak" } else { "sector_size" };
        return Err(format!("it lacks {field}, without which its data cannot be decrypted"));
    }
    let sector_size = raw.sector_size.unwrap_or(512);
    if !(512..=4096).contains(&sector_size) || !sector_size.is_power_of_two() {
        return Err(format!("its sector size is invalid: {sector_size} bytes"));
    }
    if !offset.is_multiple_of(512) || size.is_some_and(|s| s % u64::from(sector_size) != 0) {
        return Err("its offset or size is not a whole number of sectors".to_owned());
    }
    if raw.kind == "crypt" && raw.encryption.is_none() {
        return Err("it specifies no encryption".to_owned());
    }
    Ok(Segment {
        id,
        kind: raw.kind,
        offset,
        size,
        iv_tweak: raw.iv_tweak.map_or(0, |tweak| tweak.0),
        encryption: raw.encryption.unwrap_or_default(),
        sector_size,
        integrity: raw.integrity.map(|integrity| integrity.kind),
        flags: raw.flags,
    })
}

fn digest(raw: RawDigest) -> Result<Digest, String> {
    if raw.kind == "pbkdf2" && raw.hash.is_none() {
        return Err("it names no hash".to_owned());
    }
    let derivation = || -> Result<Derivation, String> {
        if raw.kind != "pbkdf2" {
            return Err(format!("the type {:?} is unknown", raw.kind));
        }
        let prf = Hash::find(raw.hash.as_deref().unwrap_or_default())?.prf()?;
        match raw.iterations {
            Some(0) | None => Err("it has no iterations".to_owned()),
            Some(iterations) => Ok(Derivation::Pbkdf2 { prf, iterations }),
        }
    };
    let derivation = derivation();
    // An empty digest would match every key.
    if !(16..=MOST_DIGEST).contains(&raw.digest.0.len()) || raw.salt.0.len() > MOST_SALT {
        let (value, salt) = (raw.digest.0.len(), raw.salt.0.len());
        return Err(format!(
            "its value ({value} bytes) or its salt ({salt} bytes) has an unsupported length"
        ));
    }
    Ok(Digest {
        keyslots: raw.keyslots.iter().map(|id| id.0).collect(),
        segments: raw.segments.iter().map(|id| id.0).collect(),
        derivation,
        salt: raw.salt.0,
        value: raw.digest.0,
    })
}
