//! Key material in a keyslot's area: the volume key, split and encrypted with a key derived from
//! the passphrase.

use cryptbench_blockdev::{BlockDevice, LockedBytes, read_bytes, write_bytes};

use super::af;
use super::limits::{Budget, Resources};
use super::model::Keyslot;
use super::store::{io, random};
use crate::VolumeError;

/// The volume key that `passphrase` yields in this keyslot. A wrong passphrase yields a wrong key; only the
/// digest reveals that.
pub(super) fn read(
    device: &dyn BlockDevice,
    slot: &Keyslot,
    passphrase: &[u8],
    resources: &Resources<'_>,
    budget: &Budget,
) -> Result<LockedBytes, VolumeError> {
    // Read the area first: a truncated device then fails before a possibly long key derivation.
    let len = Keyslot::material_bytes(slot.key_bytes, slot.stripes);
    let range = slot.area.offset..slot.area.offset + len;
    let stored = read_bytes(device, range).map_err(io("reading key material"))?;
    let cipher = {
        let key = area_key(slot, passphrase, resources, budget)?;
        slot.encryption.for_keyslot(&key, resources.tier)?
    };
    // A failure to lock this memory is not reported: on older systems an ordinary user may not lock this much, and the
    // bytes exist only for milliseconds.
    let mut material = LockedBytes::brief(stored.len());
    material.copy_from_slice(&stored);
    cipher.decrypt_in_place(0, &mut material);
    let split = slot.key_bytes * slot.stripes as usize;
    Ok(af::merge(&material[..split], slot.key_bytes, slot.hash))
}

/// Writes `volume_key` into the keyslot's area and flushes the device.
pub(super) fn write(
    device: &dyn BlockDevice,
    slot: &Keyslot,
    passphrase: &[u8],
    volume_key: &[u8],
    resources: &Resources<'_>,
) -> Result<(), VolumeError> {
    let cipher = {
        let key = area_key(slot, passphrase, resources, &Budget::new(resources.limits))?;
        slot.encryption.for_keyslot(&key, resources.tier)?
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

/// Overwrites the keyslot's whole area with random bytes and flushes the device.
///
/// On flash memory the old bytes may survive in blocks that the drive has retired. The splitter
/// reduces this risk, but only a new volume is certain to make a volume key useless.
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
    if slot.encryption.is_null() && !passphrase.is_empty() {
        // Otherwise a volume that an attacker substituted for the user's would open with the user's passphrase.
        return Err(VolumeError::CannotOpen {
            what: format!("keyslot {}", slot.id),
            why: "it is not encrypted (cipher_null): any passphrase would open it".to_owned(),
            with: "as in cryptsetup, only an empty passphrase opens it".to_owned(),
        });
    }
    // Check before the derivation: a length that no cipher accepts would multiply its cost.
    slot.encryption.check(slot.area_key_bytes)?;
    budget.spend(&slot.derivation, slot.area_key_bytes)?;
    let mut key = LockedBytes::zeroed(slot.area_key_bytes);
    slot.derivation.derive(passphrase, &slot.salt, &mut key, resources.effort)?;
    Ok(key)
}
