//! Opens a volume with its header and the user's credentials.

use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, Extent};

use super::SECTOR;
use super::limits::{Resources, describe};
use super::model::{Keyslot, Metadata, Slot};
use super::spec::Spec;
use super::store::{self, Which};
use super::unlock::{passphrase, unlock};
use crate::volume::{WARNING, there};
use crate::{Access, Credentials, Mapping, OpenOptions, Volume, VolumeError, VolumeInfo};

/// How to open a LUKS volume.
#[derive(Clone, Debug)]
pub struct LuksOptions<'a> {
    /// Read-only, or read and write.
    pub access: Access,
    /// Tries only this keyslot; `None` tries all keyslots.
    pub keyslot: Option<u32>,
    /// LUKS2: uses the secondary header, even if the primary one is valid.
    pub secondary: bool,
    /// The machine's resources that may be used.
    pub resources: Resources<'a>,
}

/// Opens the LUKS volume on `device` as [`crate::open`] does for any format.
///
/// # Errors
/// As for [`open_with`].
pub fn open(
    device: Arc<dyn BlockDevice>,
    credentials: &Credentials,
    options: &OpenOptions<'_>,
) -> Result<Volume, VolumeError> {
    if options.hidden || options.protect_hidden.is_some() {
        return Err(VolumeError::Invalid("LUKS has no hidden volumes".to_owned()));
    }
    if options.system || options.prf.is_some() {
        let reason = "LUKS has no system encryption, and its headers specify the PRF";
        return Err(VolumeError::Invalid(reason.to_owned()));
    }
    if let Some(name @ ("luks1" | "luks2")) = options.format {
        let header = store::read(&*device, Which::Newest)?;
        let found = header.metadata().version;
        if found.as_str() != name {
            let format = if name == "luks1" { "luks1" } else { "luks2" };
            return Err(VolumeError::NotThisFormat { format, reason: format!("it is {found}") });
        }
    }
    let options = LuksOptions {
        access: options.access,
        keyslot: options.keyslot,
        secondary: options.backup_header,
        resources: Resources::new(options.tier, options.effort),
    };
    open_with(device, credentials, &options)
}

/// Opens the LUKS volume on `device`. This writes nothing, not even to repair a damaged copy.
///
/// # Errors
/// [`VolumeError::NoKeyFits`]; [`VolumeError::NotThisFormat`] or [`VolumeError::Damaged`] for the
/// header; [`VolumeError::Unsupported`] for a recognised volume that cannot be opened, and for
/// costs beyond the limits; [`VolumeError::Invalid`] for credentials that LUKS does not support;
/// [`VolumeError::Stopped`]; [`VolumeError::Io`].
pub fn open_with(
    device: Arc<dyn BlockDevice>,
    credentials: &Credentials,
    options: &LuksOptions<'_>,
) -> Result<Volume, VolumeError> {
    open_volume(None, device, credentials, options)
}

/// Opens a volume with a detached header: on a separate device or in a backup file.
///
/// # Errors
/// As for [`open_with`].
pub fn open_detached(
    header: &dyn BlockDevice,
    data: Arc<dyn BlockDevice>,
    credentials: &Credentials,
    options: &LuksOptions<'_>,
) -> Result<Volume, VolumeError> {
    open_volume(Some(header), data, credentials, options)
}

fn open_volume(
    detached: Option<&dyn BlockDevice>,
    data: Arc<dyn BlockDevice>,
    credentials: &Credentials,
    options: &LuksOptions<'_>,
) -> Result<Volume, VolumeError> {
    let passphrase = passphrase(credentials)?;
    let which = if options.secondary { Which::Secondary } else { Which::Newest };
    let device = detached.unwrap_or(&*data);
    let header = store::read(device, which)?;
    let metadata = header.metadata();
    let format = metadata.version.as_str();
    let segment = metadata.segment()?;
    let usable = metadata.keyslots.values().filter_map(|slot| match slot {
        Slot::Usable(slot) => Some(slot),
        Slot::Unusable { .. } => None,
    });
    let end = |slot: &Keyslot| {
        slot.area.offset.saturating_add(Keyslot::material_bytes(slot.key_bytes, slot.stripes))
    };
    if let Some(first) = usable.map(end).min().filter(|end| device.size() < *end) {
        return Err(VolumeError::CannotOpen {
            what: format!("this {format} volume"),
            why: format!(
                "it is truncated: a keyslot ends at byte {first}, but the file or device has only {} bytes",
                device.size()
            ),
            with: "only a complete copy can be opened".to_owned(),
        });
    }
    // The device contains a detached header or a header backup, which ends before the data offset in its
    // header.
    if detached.is_none() && (segment.offset == 0 || data.size() <= segment.offset) {
        return Err(VolumeError::CannotOpen {
            what: format!("this {format} volume, a header without data,"),
            why: "its data is elsewhere".to_owned(),
            with: "specify the data as the volume, and this file with --header".to_owned(),
        });
    }
    let sector = u64::from(segment.sector_size);
    let len = match segment.size {
        Some(len) => len,
        None => {
            let rest = data.size().saturating_sub(segment.offset);
            rest - rest % sector
        }
    };
    let spec = segment.spec()?;
    // Check before the key derivation, which can take seconds.
    let tried = match options.keyslot {
        Some(id) => vec![id],
        None => metadata.keyslots_of(segment.id),
    };
    check_keys(&spec, metadata, &tried)?;
    let resources = &options.resources;
    let unlocked = unlock(device, metadata, passphrase, options.keyslot, resources)?;
    let cipher = spec.with_key(&unlocked.key, segment.sector_size, resources.tier)?;
    let derivation = match &metadata.keyslots[&unlocked.keyslot] {
        Slot::Usable(slot) => describe(&slot.derivation),
        Slot::Unusable { reason, .. } => reason.clone(),
    };
    let mut details = vec![("uuid", metadata.uuid.clone())];
    if !metadata.label.is_empty() {
        details.push(("label", metadata.label.clone()));
    }
    details.push(("keyslot", unlocked.keyslot.to_string()));
    for copy in header.copies() {
        if let Some(problem) = copy.problem {
            details.push(("damaged copy", format!("{} header: {problem}", copy.role)));
        }
    }
    if spec.is_null() {
        details.push((WARNING, "its data is not encrypted (cipher_null)".to_owned()));
    }
    let whole = Extent { offset: segment.offset, len };
    let (extent, warning) = there(whole, data.size(), sector, options.access)?;
    details.extend(warning.map(|text| (WARNING, text)));
    let info = VolumeInfo {
        format,
        cipher: spec.to_string(),
        kernel: cipher.tier(),
        key_bytes: unlocked.key.len(),
        derivation,
        data_unit: segment.sector_size as usize,
        size: extent.len,
        data_offset: segment.offset,
        details,
    };
    let mapping = Mapping {
        data: extent,
        cipher,
        // Tweaks are 512-byte sector numbers for every sector size: LUKS2 has no large-sector IVs.
        first_tweak: segment.iv_tweak,
        tweak_step: sector / SECTOR,
        protected: None,
    };
    Volume::new(data, mapping, options.access, info)
}

/// Checks that the cipher accepts at least one of the keys.
fn check_keys(spec: &Spec, metadata: &Metadata, keyslots: &[u32]) -> Result<(), VolumeError> {
    let mut checked = Ok(());
    for id in keyslots {
        if let Some(Slot::Usable(slot)) = metadata.keyslots.get(id) {
            checked = spec.check(slot.key_bytes);
            if checked.is_ok() {
                break;
            }
        }
    }
    checked
}
