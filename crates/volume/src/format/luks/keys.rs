//! Adds, removes and changes keyslots.

use cryptbench_blockdev::{BlockDevice, Extent};
use cryptbench_kdf::Derivation;

use super::backup::refuse_other_contents;
use super::hash::{Hash, refuse_short};
use super::limits::{Budget, Resources};
use super::material;
use super::model::{Keyslot, Metadata, Priority, Slot};
use super::spec::Spec;
use super::store::{self, Header, Which, random};
use super::unlock::{Unlocked, cannot_use, matches, new_passphrase, passphrase, unlock};
use super::{STRIPES, Version};
use crate::overwrite::MEND;
use crate::{Credentials, VolumeError};

/// How to store a new key.
#[derive(Clone, Debug)]
pub struct KeyOptions<'a> {
    /// The keyslot to use; `None` uses the first free one, or the replaced key's keyslot.
    pub keyslot: Option<u32>,
    /// Tries only this keyslot with the existing credentials; `None` tries all keyslots.
    pub existing: Option<u32>,
    /// [`change_key`] overwrites the old key if there is no space for both. An interruption can then destroy both keys.
    pub in_place: bool,
    /// KDF and cost of the passphrase. LUKS1 accepts only PBKDF2 with the hash in its header.
    pub derivation: Derivation,
    /// The machine's resources that may be used.
    pub resources: Resources<'a>,
}

/// The key to remove.
#[derive(Clone, Copy, Debug)]
pub enum Removal<'a> {
    /// The key in this keyslot; its passphrase need not be known.
    Keyslot(u32),
    /// The key that these credentials unlock, in this keyslot; `None` tries all keyslots.
    Credentials(&'a Credentials, Option<u32>),
}

/// Adds a key and returns its keyslot. `existing` must open the volume; afterwards `new` opens it as well.
///
/// The key material is stored before the header refers to it, so the volume still opens as before after an
/// interruption at any point.
///
/// # Errors
/// As for [`open_with`](super::open_with); [`VolumeError::Invalid`] if no keyslot is free or this version does
/// not support the derivation; [`VolumeError::Occupied`] if other contents have replaced the primary header.
pub fn add_key(
    device: &dyn BlockDevice,
    existing: &Credentials,
    new: &Credentials,
    options: &KeyOptions<'_>,
) -> Result<u32, VolumeError> {
    let new = new_passphrase(new)?;
    let mut header = read(device)?;
    let key =
        unlock_any(device, header.metadata(), existing, options.existing, &options.resources)?;
    add(device, header.as_mut(), &key, new, options)
}

/// Replaces a key and returns its keyslot. Afterwards `new` opens the volume, and `old` no longer does.
///
/// In LUKS2 the keyslot keeps its number, priority and tokens. The old key is wiped only after the new one is
/// stored. This needs free space, or in LUKS1 a free keyslot. After an interruption at any point, one of the
/// two keys opens the volume.
///
/// # Errors
/// As for [`add_key`].
pub fn change_key(
    device: &dyn BlockDevice,
    old: &Credentials,
    new: &Credentials,
    options: &KeyOptions<'_>,
) -> Result<u32, VolumeError> {
    let new = new_passphrase(new)?;
    let mut header = read(device)?;
    let key = unlock_any(device, header.metadata(), old, options.existing, &options.resources)?;
    let old = key.keyslot;
    let area = header.metadata().keyslots.get(&old).and_then(Slot::area);
    let bytes = Keyslot::material_bytes(key.key.len(), STRIPES);
    // Only a key that keeps its keyslot can use the area of the old key.
    let same = options.keyslot.is_none_or(|wanted| wanted == old);
    let full = |error| match error {
        VolumeError::Invalid(reason) if same => VolumeError::Invalid(format!(
            "{reason}; or use --in-place to overwrite the old key, but back up the header first: an interruption can \
             destroy both keys"
        )),
        other => other,
    };
    if let Some(other) = header.other_area(bytes).filter(|_| same) {
        let place = match (other, area) {
            (Err(VolumeError::Invalid(_)), Some(own)) if options.in_place => own,
            (place, _) => place.map_err(full)?,
        };
        store(device, header.as_mut(), &key, new, (old, place), options)?;
        if let Some(area) = area.filter(|area| *area != place) {
            material::wipe(device, area)?;
        }
        return Ok(old);
    }
    let place = match (header.room(options.keyslot, bytes), area) {
        (Err(VolumeError::Invalid(_)), Some(own)) if options.in_place && same => {
            return store(device, header.as_mut(), &key, new, (old, own), options);
        }
        (place, _) => place.map_err(full)?,
    };
    let id = store(device, header.as_mut(), &key, new, place, options)?;
    header.move_tokens(old, id)?;
    remove(device, header.as_mut(), old)?;
    Ok(id)
}

/// Removes a key and returns its keyslot: overwrites its area with random bytes, then removes it from the
/// header. `force` is required for the last key, because nobody can open the volume without it.
///
/// A header backup still contains the key.
///
/// # Errors
/// [`VolumeError::Invalid`] if the keyslot does not exist, or is the last one and `force` is not set;
/// [`VolumeError::Occupied`] if other contents have replaced the primary header; as for
/// [`open_with`](super::open_with) if credentials are given.
pub fn remove_key(
    device: &dyn BlockDevice,
    removal: Removal<'_>,
    force: bool,
    resources: &Resources<'_>,
) -> Result<u32, VolumeError> {
    let mut header = read(device)?;
    let metadata = header.metadata();
    let id = match removal {
        Removal::Keyslot(id) => id,
        Removal::Credentials(known, only) => {
            unlock_any(device, metadata, known, only, resources)?.keyslot
        }
    };
    if !metadata.keyslots.contains_key(&id) {
        return Err(VolumeError::Invalid(format!("there is no keyslot {id}")));
    }
    // A change during a re-encryption would break the volume.
    let segment = metadata.segment()?.id;
    let usable = |id: &u32| matches!(metadata.keyslots[id], Slot::Usable(_));
    let others = metadata.keyslots_of(segment).into_iter().filter(|other| *other != id);
    if others.filter(usable).count() == 0 && !force {
        let reason =
            format!("keyslot {id} is the last one: without it, the data would be lost forever");
        return Err(VolumeError::Invalid(reason));
    }
    remove(device, header.as_mut(), id)?;
    Ok(id)
}

/// Reads the header in order to change it.
///
/// # Errors
/// As for [`store::read`]; [`VolumeError::Occupied`] if other contents have replaced a copy or keyslots, which
/// the change would overwrite.
fn read(device: &dyn BlockDevice) -> Result<Box<dyn Header>, VolumeError> {
    let header = store::read(device, Which::Newest)?;
    refuse_other_contents(device, header.metadata(), MEND)?;
    Ok(header)
}

fn unlock_any(
    device: &dyn BlockDevice,
    metadata: &Metadata,
    credentials: &Credentials,
    only: Option<u32>,
    resources: &Resources<'_>,
) -> Result<Unlocked, VolumeError> {
    metadata.segment()?;
    unlock(device, metadata, passphrase(credentials)?, only, resources)
}

fn add(
    device: &dyn BlockDevice,
    header: &mut dyn Header,
    key: &Unlocked,
    passphrase: &[u8],
    options: &KeyOptions<'_>,
) -> Result<u32, VolumeError> {
    let material = Keyslot::material_bytes(key.key.len(), STRIPES);
    let place = header.room(options.keyslot, material)?;
    store(device, header, key, passphrase, place, options)
}

/// Stores the key in a free keyslot and a free area.
fn store(
    device: &dyn BlockDevice,
    header: &mut dyn Header,
    key: &Unlocked,
    passphrase: &[u8],
    (id, area): (u32, Extent),
    options: &KeyOptions<'_>,
) -> Result<u32, VolumeError> {
    let slot = new_slot(header.metadata(), key, id, area, options.derivation)?;
    // Fails before anything is written if this LUKS version cannot represent the keyslot.
    header.insert(&slot)?;
    material::write(device, &slot, passphrase, &key.key, &options.resources)?;
    // Read the material back before the header refers to it: this detects a device that loses
    // writes, and a limit below the new cost.
    let budget = Budget::new(options.resources.limits);
    let digest = header.metadata().digest_of(id);
    let stored = material::read(device, &slot, passphrase, &options.resources, &budget)?;
    if !digest.map_or(Ok(false), |d| matches(d, &stored, &options.resources, &budget))? {
        let source =
            std::io::Error::other("the device did not return the key material that was written");
        return Err(VolumeError::Io { doing: "checking the new keyslot", source });
    }
    header.write(device)?;
    Ok(id)
}

fn new_slot(
    metadata: &Metadata,
    key: &Unlocked,
    id: u32,
    area: Extent,
    derivation: Derivation,
) -> Result<Keyslot, VolumeError> {
    if let Derivation::Pbkdf2 { prf, .. } = derivation {
        refuse_short(prf.name, prf.output_bytes)?;
    }
    let mut encryption = metadata.segment()?.spec()?;
    let mut area_key_bytes = key.key.len();
    if !encryption.suits_keyslots() && metadata.version == Version::Luks2 {
        (encryption, area_key_bytes) = Spec::of_keyslots();
    }
    if encryption.is_null() {
        // LUKS1 has one cipher for data and keyslots.
        let reason = "the keyslots of this volume are not encrypted (cipher_null), so a key protects nothing";
        return Err(VolumeError::Invalid(reason.to_owned()));
    }
    let hash: &'static Hash = match &metadata.keyslots[&key.keyslot] {
        Slot::Usable(slot) => slot.hash,
        Slot::Unusable { reason, .. } => return Err(cannot_use(key.keyslot, reason)),
    };
    let mut salt = vec![0; 32];
    random(&mut salt)?;
    Ok(Keyslot {
        id,
        key_bytes: key.key.len(),
        derivation,
        salt,
        stripes: STRIPES,
        hash,
        area,
        encryption,
        area_key_bytes,
        // From the keyslot that is replaced, if any.
        priority: match metadata.keyslots.get(&id) {
            Some(Slot::Usable(slot)) => slot.priority,
            _ => Priority::Normal,
        },
    })
}

/// Wipes the area first: after the header no longer refers to it, an interruption would leave the key material
/// there.
fn remove(device: &dyn BlockDevice, header: &mut dyn Header, id: u32) -> Result<(), VolumeError> {
    if let Some(area) = header.metadata().keyslots.get(&id).and_then(Slot::area) {
        material::wipe(device, area)?;
    }
    header.remove(id)?;
    header.write(device)
}
