//! Unlocks the volume key with credentials: tries the keyslots in turn until a digest matches.

use cryptbench_blockdev::{BlockDevice, LockedBytes};
use cryptbench_kdf::Derivation;
use cryptbench_text::chain;
use zeroize::Zeroizing;

use super::limits::{Budget, Limits, Resources};
use super::material;
use super::model::{Digest, Keyslot, Metadata, Priority, Slot};
use super::spec::WITH;
use super::store::{self, Which};
use crate::{Credentials, VolumeError};

/// A volume key and the keyslot that contained it.
pub(super) struct Unlocked {
    pub keyslot: u32,
    pub key: LockedBytes,
}

/// The bytes from which LUKS derives keys: the passphrase, or the contents of the only key file.
pub(super) fn passphrase(credentials: &Credentials) -> Result<&[u8], VolumeError> {
    let invalid = |reason: &str| Err(VolumeError::Invalid(reason.to_owned()));
    if credentials.pim.is_some_and(|pim| pim != 0) {
        return invalid("LUKS has no PIM");
    }
    match (credentials.passphrase.bytes(), credentials.keyfiles.as_slice()) {
        (passphrase, []) => Ok(passphrase),
        ([], [keyfile]) => Ok(keyfile.bytes()),
        (_, [_]) => invalid("LUKS accepts a passphrase or a key file, not both"),
        _ => invalid("LUKS accepts only one key file"),
    }
}

/// Like [`passphrase`], for a new key. An empty passphrase would not protect anything.
pub(super) fn new_passphrase(credentials: &Credentials) -> Result<&[u8], VolumeError> {
    match passphrase(credentials)? {
        [] => {
            Err(VolumeError::Invalid("an empty passphrase or key file protects nothing".to_owned()))
        }
        bytes => Ok(bytes),
    }
}

/// The key of the volume's first segment: from keyslot `only`, or from any keyslot whose priority is not
/// `ignore`.
///
/// # Errors
/// [`VolumeError::NoKeyFits`]; [`VolumeError::CannotOpen`] if no keyslot could be tried;
/// [`VolumeError::Stopped`].
pub(super) fn unlock(
    device: &dyn BlockDevice,
    metadata: &Metadata,
    passphrase: &[u8],
    only: Option<u32>,
    resources: &Resources<'_>,
) -> Result<Unlocked, VolumeError> {
    let budget = Budget::new(resources.limits);
    let mut obstacle = None;
    let mut tried = 0;
    for id in to_try(metadata, only)? {
        let attempt = usable(metadata, id, only.is_some())
            .and_then(|slot| attempt(device, slot, passphrase, resources, &budget));
        match attempt {
            Ok(Some(key)) => return Ok(Unlocked { keyslot: id, key }),
            Ok(None) => tried += 1,
            Err(error @ VolumeError::Stopped) => return Err(error),
            Err(error) => obstacle = obstacle.or(Some((id, error))),
        }
    }
    let format = metadata.version.as_str();
    match obstacle {
        None if tried == 0 => Err(VolumeError::NoKeyFits(format!(
            "this {format} volume has no active keyslot: it was erased"
        ))),
        None => Err(VolumeError::NoKeyFits(
            "no keyslot can be unlocked with this passphrase or key file".into(),
        )),
        Some((_, error)) if tried == 0 => Err(error),
        Some((id, error)) => Err(VolumeError::NoKeyFits(format!(
            "{tried} keyslots cannot be unlocked with this passphrase or key file, and keyslot {id} could not be \
             tried: {}",
            chain(&error)
        ))),
    }
}

/// The derivations needed to unlock the last keyslot, or keyslot `only`: the function, its cost and the length
/// of the derived key in bytes. Needs no key.
///
/// # Errors
/// As for [`info`](super::info()).
pub fn derivations(
    device: &dyn BlockDevice,
    only: Option<u32>,
) -> Result<Vec<(Derivation, usize)>, VolumeError> {
    let header = store::read(device, Which::Newest)?;
    let metadata = header.metadata();
    let budget = Budget::new(Limits::default());
    let mut derived = Vec::new();
    for id in to_try(metadata, only).unwrap_or_default() {
        if let Ok((slot, _)) = usable(metadata, id, only.is_some())
            && budget.spend(&slot.derivation, slot.area_key_bytes).is_ok()
        {
            derived.push((slot.derivation, slot.area_key_bytes));
        }
    }
    Ok(derived)
}

fn to_try(metadata: &Metadata, only: Option<u32>) -> Result<Vec<u32>, VolumeError> {
    match only {
        Some(id) if !metadata.keyslots.contains_key(&id) => {
            Err(VolumeError::Invalid(format!("there is no keyslot {id}")))
        }
        Some(id) => Ok(vec![id]),
        None => {
            let segment = metadata.segments.first().map_or(0, |segment| segment.id);
            Ok(metadata.keyslots_of(segment))
        }
    }
}

/// The error for a keyslot that this program cannot use.
pub(super) fn cannot_use(id: u32, why: &str) -> VolumeError {
    let what = format!("keyslot {id}");
    VolumeError::CannotOpen { what, why: why.to_owned(), with: WITH.to_owned() }
}

/// Keyslot `id` with the digest of its key, if it may be tried.
fn usable(metadata: &Metadata, id: u32, named: bool) -> Result<(&Keyslot, &Digest), VolumeError> {
    let slot = match &metadata.keyslots[&id] {
        Slot::Usable(slot) => slot,
        Slot::Unusable { reason, .. } => return Err(cannot_use(id, reason)),
    };
    if slot.priority == Priority::Ignore && !named {
        return Err(VolumeError::CannotOpen {
            what: format!("keyslot {id}"),
            why: "its priority is `ignore`".to_owned(),
            with: format!("--key-slot {id} uses it nevertheless"),
        });
    }
    let digest = metadata.digest_of(id).ok_or_else(|| cannot_use(id, "it has no digest"))?;
    if digest.segments.is_empty() {
        return Err(cannot_use(id, "its key does not belong to any segment"));
    }
    Ok((slot, digest))
}

fn attempt(
    device: &dyn BlockDevice,
    (slot, digest): (&Keyslot, &Digest),
    passphrase: &[u8],
    resources: &Resources<'_>,
    budget: &Budget,
) -> Result<Option<LockedBytes>, VolumeError> {
    let key = material::read(device, slot, passphrase, resources, budget)?;
    Ok(matches(digest, &key, resources, budget)?.then_some(key))
}

/// Whether `digest` was computed from `key`.
pub(super) fn matches(
    digest: &Digest,
    key: &[u8],
    resources: &Resources<'_>,
    budget: &Budget,
) -> Result<bool, VolumeError> {
    let derivation = digest.derivation.as_ref().map_err(|why| VolumeError::CannotOpen {
        what: "the volume key".to_owned(),
        why: format!("its digest cannot be computed: {why}"),
        with: WITH.to_owned(),
    })?;
    budget.spend(derivation, digest.value.len())?;
    let mut value = Zeroizing::new(vec![0; digest.value.len()]);
    derivation.derive(key, &digest.salt, &mut value, resources.effort)?;
    // The digest is not secret, but a constant-time comparison costs nothing.
    Ok(value.iter().zip(&digest.value).fold(0, |all, (a, b)| all | (a ^ b)) == 0)
}
