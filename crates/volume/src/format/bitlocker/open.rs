//! Opens a volume with its boot sector, its metadata and the user's credentials.

use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, Extent, read_bytes};
use cryptbench_cipher::SectorCipher;

use super::boot::{BOOT_BYTES, Boot, Layout};
use super::eow::{self, Maps};
use super::metadata::{self, Integrity, Metadata, State};
use super::method::Method;
use super::plaintext::{Encrypted, Known, pieces};
use super::unlock::{Unlocked, unlock};
use super::{FORMAT, SIGNATURE, damaged, time};
use crate::volume::{WARNING, there};
use crate::{Access, Credentials, Mapping, OpenOptions, Volume, VolumeError, VolumeInfo};

/// Warning for a volume whose boot sector is missing.
const LOST: &str =
    "the boot sector is missing; the volume was found by its metadata and is read-only";

/// Opens the BitLocker volume on `device`. If the format is specified, metadata without a boot sector is
/// sufficient.
///
/// # Errors
/// [`VolumeError::NoKeyFits`]; [`VolumeError::NotThisFormat`] or [`VolumeError::Damaged`] for boot sector and
/// metadata; [`VolumeError::Unsupported`] if the volume's state does not determine which parts are encrypted,
/// or for write access to a volume that is not fully encrypted or was created by Windows Vista;
/// [`VolumeError::Invalid`]; [`VolumeError::Stopped`]; [`VolumeError::Io`].
pub fn open(
    device: Arc<dyn BlockDevice>,
    credentials: &Credentials,
    options: &OpenOptions<'_>,
) -> Result<Volume, VolumeError> {
    options.refuse_choices("BitLocker")?;
    let (boot_sector, boot, lost) = match metadata::boot(&*device) {
        // Only on request, because it can take as long as reading the whole device.
        Err(VolumeError::NotThisFormat { .. }) if options.format == Some(FORMAT) => {
            ([0; BOOT_BYTES], metadata::search(&*device)?, true)
        }
        found => found.map(|(bytes, boot)| (bytes, boot, false))?,
    };
    let access = if lost { Access::ReadOnly } else { options.access };
    let metadata = metadata::read(&*device, &boot)?;
    let sector = sector(&boot, &metadata, &*device)?;
    let size = device.size() - device.size() % sector;
    let maps = maps(&*device, &boot)?;
    let whole = Extent { offset: 0, len: metadata.encrypted };
    let (_, cut) = there(whole, size, sector, access)?;
    let encrypted = Encrypted::new(&metadata, maps.as_ref(), size)?;
    if access == Access::ReadWrite {
        writable(&boot, &metadata, maps.as_ref())?;
    }
    let pieces = pieces(&Known {
        boot: &boot,
        boot_sector: &boot_sector,
        boot_copy: boot_copy(&*device, &boot, sector, size)?,
        metadata: &metadata,
        encrypted: &encrypted,
        maps: maps.as_ref(),
        sector,
        size,
    })?;
    let opened = if encrypted.bytes(size) == 0 && metadata.data_key.is_none() {
        check_clear_digest(&metadata)?;
        Opened::plain(sector as usize)
    } else {
        let unlocked = unlock(&metadata, credentials, options.tier, options.effort)?;
        Opened::new(unlocked, sector as usize, options)?
    };
    let info = VolumeInfo {
        format: FORMAT,
        cipher: opened.name,
        kernel: opened.cipher.tier(),
        key_bytes: opened.key_bytes,
        derivation: opened.opened_with,
        data_unit: sector as usize,
        size,
        data_offset: 0,
        details: opened
            .warning
            .map(|text| (WARNING, text.to_owned()))
            .into_iter()
            .chain(lost.then(|| (WARNING, LOST.to_owned())))
            .chain(cut.map(|text| (WARNING, text)))
            .chain(details(&metadata, &encrypted, size))
            .collect(),
    };
    let mapping = Mapping {
        data: Extent { offset: 0, len: size },
        cipher: opened.cipher,
        first_tweak: 0,
        tweak_step: 1,
        protected: None,
    };
    Volume::new(device, mapping, access, info)?.with_pieces(pieces)
}

/// Sector size in bytes. The boot sector of an exFAT volume does not specify it, and the metadata specifies it
/// only indirectly, by the number of relocated sectors and bytes.
pub(super) fn sector(
    boot: &Boot,
    metadata: &Metadata,
    device: &dyn BlockDevice,
) -> Result<u64, VolumeError> {
    if let Some(sector) = boot.sector {
        return Ok(u64::from(sector));
    }
    match (metadata.moved, u64::from(metadata.first_sectors)) {
        (Some((_, len)), sectors @ 1..) if len.is_multiple_of(sectors) => match len / sectors {
            sector @ (512 | 1024 | 2048 | 4096) => Ok(sector),
            other => Err(damaged(format!("its sector size is invalid: {other} bytes"))),
        },
        _ => Ok(device.sector().min(4096) as u64),
    }
}

/// The maps of encrypted chunks, if the boot sector refers to any.
pub(super) fn maps(device: &dyn BlockDevice, boot: &Boot) -> Result<Option<Maps>, VolumeError> {
    match boot.layout {
        Layout::Seven { on_write: Some(places), .. } => eow::read(device, places).map(Some),
        _ => Ok(None),
    }
}

/// Whether the last sector of a Windows Vista volume is a copy of its boot sector, which NTFS stores there.
fn boot_copy(
    device: &dyn BlockDevice,
    boot: &Boot,
    sector: u64,
    size: u64,
) -> Result<Option<u64>, VolumeError> {
    let Layout::Vista { last_sector, .. } = boot.layout else { return Ok(None) };
    let end = last_sector.saturating_add(sector);
    if last_sector == 0 || end > size || !last_sector.is_multiple_of(sector) {
        return Ok(None);
    }
    let bytes = read_bytes(device, last_sector..end)
        .map_err(VolumeError::io("reading the copy of the boot sector"))?;
    // Ciphertext would not contain the signature.
    Ok((bytes.get(3..11) == Some(&SIGNATURE)).then_some(last_sector))
}

/// Refuses write access to volumes that only Windows can write to safely.
fn writable(boot: &Boot, metadata: &Metadata, maps: Option<&Maps>) -> Result<(), VolumeError> {
    let state = metadata.state;
    let what = if boot.is_vista() {
        "writing to a Windows Vista volume"
    } else if maps.is_some() || state.now != State::ENCRYPTED || state.next != State::ENCRYPTED {
        "writing to a BitLocker volume that is not fully encrypted"
    } else {
        return Ok(());
    };
    Err(VolumeError::Unsupported {
        what: what.to_owned(),
        hint: Some("open it read-only".to_owned()),
    })
}

/// Checks the metadata of a volume with no encrypted part. Its digest is not sealed, because there is no key.
fn check_clear_digest(metadata: &Metadata) -> Result<(), VolumeError> {
    match metadata.integrity {
        Integrity::Clear(digest) if digest != metadata.digest => {
            Err(damaged("the digest of the metadata is wrong"))
        }
        _ => Ok(()),
    }
}

/// The cipher of an opened volume, and its details for the user.
struct Opened {
    cipher: Box<dyn SectorCipher>,
    name: String,
    key_bytes: usize,
    opened_with: String,
    warning: Option<&'static str>,
}

impl Opened {
    fn new(
        unlocked: Unlocked,
        sector: usize,
        options: &OpenOptions<'_>,
    ) -> Result<Self, VolumeError> {
        let Unlocked { method, key, opened_with, warning } = unlocked;
        let cipher = method.keyed(&key, sector, options.tier)?;
        let name = method.dm_crypt().to_owned();
        Ok(Self { cipher, name, key_bytes: key.len(), opened_with, warning })
    }

    /// For a volume that is not encrypted at all, and has no key.
    fn plain(sector: usize) -> Self {
        Self {
            cipher: Box::new(NoCipher(sector)),
            name: "none".to_owned(),
            key_bytes: 0,
            opened_with: "no key (not encrypted)".to_owned(),
            warning: None,
        }
    }
}

fn details(metadata: &Metadata, encrypted: &Encrypted, size: u64) -> Vec<(&'static str, String)> {
    let mut details = vec![
        ("identifier", metadata.id.to_string()),
        ("created", time::display(metadata.created)),
        ("state", metadata.state.describe()),
    ];
    if encrypted.bytes(size) < size {
        let bytes = encrypted.bytes(size);
        details.push(("encrypted", format!("{bytes} of {size} bytes")));
    }
    if let Some(method) = Method::of_number(metadata.method) {
        details.push(("method", method.to_string()));
    }
    for why in metadata.copies.iter().filter_map(|copy| copy.as_ref().err()) {
        details.push(("damaged copy", format!("metadata {why}")));
    }
    details
}

/// The cipher of a volume with no encrypted part: it is never called.
struct NoCipher(usize);

impl SectorCipher for NoCipher {
    fn data_unit(&self) -> usize {
        self.0
    }

    fn encrypt(&self, _: u64, src: &[u8], dst: &mut [u8]) {
        dst.copy_from_slice(src);
    }

    fn encrypt_in_place(&self, _: u64, _: &mut [u8]) {}

    fn decrypt(&self, _: u64, src: &[u8], dst: &mut [u8]) {
        dst.copy_from_slice(src);
    }

    fn decrypt_in_place(&self, _: u64, _: &mut [u8]) {}

    fn tier(&self) -> &'static str {
        "none"
    }

    fn visit_keys(&self, _: &mut dyn FnMut(*const u8, usize)) {}
}
