//! Key material in a keyslot's area: the volume key, split and encrypted under the passphrase's key.

use cryptbench_blockdev::{BlockDevice, LockedBytes, read_bytes, write_bytes};

use super::limits::{Budget, Resources};
use super::model::Keyslot;
use super::store::{io, random};
use super::{SECTOR, af};
use crate::VolumeError;

/// The volume key that `passphrase` gives in this keyslot: the right one or another, a digest tells.
///
/// # Errors
/// Costs beyond the budget, a cipher that is not supported, a device that cannot be read.
pub(super) fn read(
    device: &dyn BlockDevice,
    slot: &Keyslot,
    passphrase: &[u8],
    resources: &Resources<'_>,
    budget: &Budget,
) -> Result<LockedBytes, VolumeError> {
    // The area first: a truncated device needs no minute of key derivation.
    let len = Keyslot::material_bytes(slot.key_bytes, slot.stripes);
    let range = slot.area.offset..slot.area.offset + len;
    let stored = read_bytes(device, range).map_err(io("reading key material"))?;
    let cipher = {
        let key = area_key(slot, passphrase, resources, budget)?;
        slot.encryption.with_key(&key, SECTOR as u32, resources.tier)?
    };
    // More than an ordinary user may lock on older systems; it is there for milliseconds.
    let mut material = LockedBytes::brief(stored.len());
    material.copy_from_slice(&stored);
    cipher.decrypt_in_place(0, &mut material);
    let split = slot.key_bytes * slot.stripes as usize;
    Ok(af::merge(&material[..split], slot.key_bytes, slot.hash))
}

/// Puts `volume_key` into the keyslot's area and waits until it is stored.
///
/// # Errors
/// As for [`read`].
pub(super) fn write(
    device: &dyn BlockDevice,
    slot: &Keyslot,
    passphrase: &[u8],
    volume_key: &[u8],
    resources: &Resources<'_>,
) -> Result<(), VolumeError> {
    let cipher = {
        let key = area_key(slot, passphrase, resources, &Budget::new(resources.limits))?;
        slot.encryption.with_key(&key, SECTOR as u32, resources.tier)?
    };
    let len = Keyslot::material_bytes(slot.key_bytes, slot.stripes);
    let mut material = LockedBytes::brief(len as usize);
    random(&mut material)?;
    let split = slot.key_bytes * slot.stripes as usize;
    af::split(volume_key, &mut material[..split], slot.hash);
    cipher.encrypt_in_place(0, &mut material);
    write_bytes(device, slot.area.offset, &material).map_err(io("writing key material"))?;
    device.flush().map_err(io("writing key material"))
}

/// Overwrites the keyslot's whole area with random bytes and waits until they are stored.
///
/// On flash the old bytes may survive in blocks that the drive has put aside: the splitter's stripes are
/// there because of that, and a volume key that must be gone needs a new volume.
///
/// # Errors
/// [`VolumeError::Io`].
pub(super) fn wipe(
    device: &dyn BlockDevice,
    area: cryptbench_blockdev::Extent,
) -> Result<(), VolumeError> {
    let mut noise = vec![0; 1 << 20];
    let mut done = 0;
    while done < area.len {
        let now = (area.len - done).min(noise.len() as u64) as usize;
        random(&mut noise[..now])?;
        write_bytes(device, area.offset + done, &noise[..now]).map_err(io("wiping a keyslot"))?;
        done += now as u64;
    }
    device.flush().map_err(io("wiping a keyslot"))
}

fn area_key(
    slot: &Keyslot,
    passphrase: &[u8],
    resources: &Resources<'_>,
    budget: &Budget,
) -> Result<LockedBytes, VolumeError> {
    // Before the derivation: a length that no cipher takes would multiply its cost.
    slot.encryption.check(slot.area_key_bytes)?;
    budget.spend(&slot.derivation, slot.area_key_bytes)?;
    let mut key = LockedBytes::zeroed(slot.area_key_bytes);
    slot.derivation.derive(passphrase, &slot.salt, &mut key, resources.effort)?;
    Ok(key)
}
