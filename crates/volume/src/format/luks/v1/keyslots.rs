//! The eight keyslots of a LUKS1 header (LUKS1 specification, section 3, figure 3).

use cryptbench_blockdev::Extent;
use cryptbench_kdf::Derivation;

use super::header::{get, put};
use crate::VolumeError;
use crate::format::luks::hash::Hash;
use crate::format::luks::model::{Keyslot, Priority, Slot};
use crate::format::luks::spec::Spec;
use crate::format::luks::{ALIGNMENT, SECTOR, STRIPES};

/// Number of keyslots in every header.
pub(in crate::format::luks) const SLOTS: u32 = 8;
/// Offset of the first keyslot in the header.
pub(super) const KEYSLOTS_AT: usize = 208;
/// Size of a keyslot in the header, in bytes.
pub(super) const KEYSLOT: usize = 48;

const STATE: usize = 0;
const ITERATIONS: usize = 4;
const SALT: std::ops::Range<usize> = 8..40;
const OFFSET: usize = 40;
const STRIPES_AT: usize = 44;

const ENABLED: u32 = 0x00AC_71F3;
const DISABLED: u32 = 0x0000_DEAD;

/// Size in bytes of a keyslot area in a header that this program creates.
pub(super) fn area_bytes(key_bytes: usize) -> u64 {
    Keyslot::material_bytes(key_bytes, STRIPES)
}

/// Offset of the area of keyslot `id` in a header that this program creates. As in cryptsetup,
/// areas are aligned to 4096 bytes and the first one follows the header.
pub(in crate::format::luks) fn first_area(id: u32, key_bytes: usize) -> u64 {
    ALIGNMENT + u64::from(id) * area_bytes(key_bytes).next_multiple_of(ALIGNMENT)
}

/// Parses a keyslot, if it is in use, and its area.
///
/// # Errors
/// A message that states which field is invalid.
pub(super) fn parse_keyslot(
    id: u32,
    raw: &[u8],
    encryption: &Spec,
    hash: &str,
    key_bytes: usize,
) -> Result<(Option<Slot>, Extent), String> {
    let stripes = get(raw, STRIPES_AT);
    if stripes != STRIPES {
        return Err(format!("keyslot {id} has {stripes} stripes"));
    }
    let area = Extent { offset: offset(raw), len: area_bytes(key_bytes) };
    let unusable = |reason: String| Some(Slot::Unusable { area: Some(area), reason });
    let slot = match (get(raw, STATE), get(raw, ITERATIONS), Hash::find(hash)) {
        (DISABLED, ..) => None,
        (ENABLED, 0, _) => unusable("0 iterations".to_owned()),
        (ENABLED, _, Err(reason)) => unusable(reason),
        (ENABLED, iterations, Ok(hash)) => {
            let derivation = Derivation::Pbkdf2 { prf: hash.prf()?, iterations };
            let slot = Keyslot {
                id,
                key_bytes,
                derivation,
                salt: raw[SALT].to_vec(),
                stripes,
                hash,
                area,
                encryption: encryption.clone(),
                area_key_bytes: key_bytes,
                priority: Priority::Normal,
            };
            slot.check().map_err(|reason| format!("keyslot {id}: {reason}"))?;
            Some(Slot::Usable(slot))
        }
        (state, ..) => unusable(format!("its state is {state:#x}, neither enabled nor disabled")),
    };
    Ok((slot, area))
}

/// Start of the area of a keyslot, in bytes.
pub(super) fn offset(raw: &[u8]) -> u64 {
    u64::from(get(raw, OFFSET)) * SECTOR
}

/// Initialises a keyslot of a new header: disabled, with its area.
pub(super) fn clear(raw: &mut [u8], id: u32, key_bytes: usize) {
    put(raw, OFFSET, (first_area(id, key_bytes) / SECTOR) as u32);
    put(raw, STRIPES_AT, STRIPES);
    disable(raw);
}

/// Marks a keyslot as free; its offset and stripes stay.
pub(super) fn disable(raw: &mut [u8]) {
    put(raw, STATE, DISABLED);
    put(raw, ITERATIONS, 0);
    raw[SALT].fill(0);
}

/// Enables a keyslot.
pub(super) fn set_keyslot(raw: &mut [u8], slot: &Keyslot, hash: &str) -> Result<(), VolumeError> {
    let invalid = |reason: String| VolumeError::Invalid(reason);
    let Derivation::Pbkdf2 { prf, iterations } = slot.derivation else {
        return Err(invalid(format!("LUKS1 has no {}", slot.derivation.name())));
    };
    let named = Hash::find(hash).map_err(invalid)?;
    if Hash::of_prf(prf).is_none_or(|used| used.name != named.name) {
        return Err(invalid(format!(
            "all keyslots of this LUKS1 header use {hash}, so {} cannot be used",
            prf.name
        )));
    }
    let salt = slot.salt.as_slice();
    if salt.len() != SALT.len() {
        return Err(invalid(format!("LUKS1 salts have {} bytes", SALT.len())));
    }
    put(raw, STATE, ENABLED);
    put(raw, ITERATIONS, iterations);
    raw[SALT].copy_from_slice(salt);
    Ok(())
}
