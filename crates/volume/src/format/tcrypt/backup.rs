//! Backs up headers in VeraCrypt's file format, and restores them from such a file or from within
//! the volume.

use cryptbench_blockdev::{BlockDevice, Extent, MemoryDevice, read_bytes};
use cryptbench_kdf::Function;

use super::change::{HeaderOptions, function_of, reseal};
use super::create::write_header;
use super::header::HEADER_BYTES;
use super::layout::{self, AREA, Slot};
use super::password::password;
use super::seal::{Filler, Seal};
use super::unlock::{Request, Unlocked, unlock, unlock_sectors};
use crate::detect::{Kind, detect};
use crate::overwrite::{self, FORCE, Overwrite, Proof};
use crate::{Credentials, VolumeError};

/// The source of restored headers.
#[derive(Clone, Copy)]
pub enum HeaderSource<'a> {
    /// The backup headers at the end of the volume.
    Embedded,
    /// The contents of a backup file.
    File(&'a [u8]),
}

/// The contents of a header backup file, in VeraCrypt's format: two areas of 64 KiB, or of 512 bytes before
/// TrueCrypt 6. The first holds the normal header. The second holds the hidden volume's header, or random bytes
/// if there is no hidden volume.
///
/// Both headers get new salts. `options.prf` is tried for both.
///
/// # Errors
/// [`VolumeError::NoKeyFits`] for either header, or any other [`VolumeError`]; the device is unchanged.
pub fn backup_headers(
    device: &dyn BlockDevice,
    credentials: &Credentials,
    hidden: Option<&Credentials>,
    options: &HeaderOptions<'_>,
) -> Result<Vec<u8>, VolumeError> {
    let request = options.request(Slot::for_request(false, false, false)?);
    let normal = unlock(device, credentials, &request)?;
    let area = if normal.header.version >= 4 { AREA as usize } else { HEADER_BYTES };
    let mut file = vec![0; 2 * area];
    Filler::new(normal.scheme, options.tier)?.bytes(0, &mut file);
    file[..HEADER_BYTES].copy_from_slice(&anew(&normal, credentials, options)?);
    if let Some(credentials) = hidden {
        let products = &[normal.header.product];
        let slots = Slot::for_request(true, false, false)?;
        let hidden = unlock(device, credentials, &Request { products, slots, ..request })?;
        file[area..][..HEADER_BYTES].copy_from_slice(&anew(&hidden, credentials, options)?);
    }
    Ok(file)
}

/// Restores the header that the credentials open, under a new salt.
///
/// From a backup file, the function restores the header that opens, normal or hidden. The copy of that header within
/// the volume is written and flushed first, then the header itself. From the backup headers within the volume, it
/// restores the normal header, or the hidden one if `options.hidden` is set. No other header changes.
///
/// Unless `options.force` is set, a header from a file is restored only to its own volume: its keys must
/// decrypt the data there, a header there must contain the same keys, or the header area must contain only
/// zeros and nothing else may be recognised on the device.
///
/// # Errors
/// [`VolumeError::Occupied`]; [`VolumeError::Damaged`] also if the header does not fit the device; any other
/// [`VolumeError`].
pub fn restore_headers(
    device: &dyn BlockDevice,
    source: HeaderSource<'_>,
    credentials: &Credentials,
    options: &HeaderOptions<'_>,
) -> Result<(), VolumeError> {
    let size = device.size();
    let first = match source {
        HeaderSource::File(_) => Slot::Primary,
        HeaderSource::Embedded => Slot::for_request(options.hidden, true, options.system)?[0],
    };
    let sectors = match source {
        HeaderSource::File(file) => Some(sectors(file)?),
        HeaderSource::Embedded => None,
    };
    if !options.force {
        // Only headers from version 4 on have a copy within the volume.
        let version = if sectors.is_some() { 0 } else { 4 };
        overwrite::check_opened(device, &first.parts(size, version), FORCE)?;
    }
    match sectors {
        Some(sectors) => {
            let request = options.request(Slot::for_request(false, false, false)?);
            let unlocked = unlock_sectors(&sectors, credentials, &request)?;
            let data = layout::writable(&unlocked.header, unlocked.slot, size)?;
            let password = password(credentials)?;
            if !options.force {
                refuse_another_volume(device, &unlocked, data, credentials, options)?;
            }
            reseal(device, &unlocked, &password, unlocked.derivation, options)
        }
        None => {
            let request = options.request(Slot::for_request(options.hidden, true, options.system)?);
            let unlocked = unlock(device, credentials, &request)?;
            layout::data(&unlocked.header, unlocked.slot, size)?;
            let primary = unlocked.slot.other_copy().unwrap_or(unlocked.slot);
            write_header(device, primary, &anew(&unlocked, credentials, options)?)
        }
    }
}

/// Fails if there is no evidence that a header from a file belongs to the volume on `device`.
fn refuse_another_volume(
    device: &dyn BlockDevice,
    unlocked: &Unlocked,
    data: Extent,
    credentials: &Credentials,
    options: &HeaderOptions<'_>,
) -> Result<(), VolumeError> {
    let size = device.size();
    let copies = match unlocked.slot.other_copy().filter(|_| unlocked.header.version >= 4) {
        Some(other) => vec![unlocked.slot, other],
        None => vec![unlocked.slot],
    };
    let own = decrypts(device, unlocked, data, options)?
        || opens_here(
            device,
            unlocked,
            &copies,
            credentials,
            function_of(&unlocked.derivation),
            options,
        )?;
    let blank: Vec<Extent> = copies.iter().map(|slot| slot.sector(size)).collect();
    overwrite::check(
        device,
        &Overwrite {
            parts: &unlocked.slot.parts(size, unlocked.header.version),
            proof: if own { Proof::Key } else { Proof::Nothing },
            blank: &blank,
            keyslots: None,
            remedy: FORCE,
        },
    )
}

/// Number of data bytes that are decrypted to check whether they belong to a volume.
const LOOK: u64 = 1 << 20;

/// Whether the header's keys decrypt `device` to something that does not look random. They are then the keys of
/// the existing data, even if the passphrase has changed since the backup.
fn decrypts(
    device: &dyn BlockDevice,
    unlocked: &Unlocked,
    data: Extent,
    options: &HeaderOptions<'_>,
) -> Result<bool, VolumeError> {
    let range = data.offset..data.offset + data.len.min(LOOK);
    let mut plain = read_bytes(device, range).map_err(VolumeError::io("reading data"))?;
    let cipher = unlocked.scheme.keyed(&unlocked.header.keys, options.tier)?;
    cipher.decrypt_in_place(unlocked.scheme.first_tweak(data.offset), &mut plain);
    Ok(!matches!(detect(&MemoryDevice::new(plain))?.kind, Kind::Random { .. } | Kind::Unreadable))
}

/// Whether the credentials open a header in one of the `slots` of `device`, with the same keys as the header of
/// `unlocked`.
pub(super) fn opens_here(
    device: &dyn BlockDevice,
    unlocked: &Unlocked,
    slots: &[Slot],
    credentials: &Credentials,
    function: Function,
    options: &HeaderOptions<'_>,
) -> Result<bool, VolumeError> {
    for &slot in slots {
        let Extent { offset, len } = slot.sector(device.size());
        let sector = read_bytes(device, offset..offset + len)
            .map_err(VolumeError::io("reading a header"))?;
        let request = Request {
            products: &[unlocked.header.product],
            prf: Some(function.name()),
            ..options.request(Slot::for_request(slot.is_hidden(), false, false)?)
        };
        match unlock_sectors(&[(slot, sector)], credentials, &request) {
            Ok(there) if there.header.keys == unlocked.header.keys => return Ok(true),
            Err(VolumeError::Stopped) => return Err(VolumeError::Stopped),
            _ => {}
        }
    }
    Ok(false)
}

/// The header, encrypted under the same credentials and a new salt.
fn anew(
    unlocked: &Unlocked,
    credentials: &Credentials,
    options: &HeaderOptions<'_>,
) -> Result<[u8; HEADER_BYTES], VolumeError> {
    let Unlocked { scheme, derivation, .. } = *unlocked;
    let password = &password(credentials)?;
    let (tier, effort) = (options.tier, options.effort);
    let [header] = Seal { scheme, derivation, password, tier, effort }.copies(&unlocked.plain)?;
    Ok(header)
}

/// The two headers of a backup file, each with its slot in the volume.
fn sectors(file: &[u8]) -> Result<[(Slot, Vec<u8>); 2], VolumeError> {
    let (hidden_at, hidden_slot) = match file.len() as u64 {
        length if length == 2 * AREA => (AREA as usize, Slot::Hidden),
        length if length == 2 * HEADER_BYTES as u64 => (HEADER_BYTES, Slot::HiddenLegacy),
        length => {
            return Err(VolumeError::Invalid(format!(
                "not a header backup: it is {length} bytes long, not {} or {}",
                2 * AREA,
                2 * HEADER_BYTES
            )));
        }
    };
    let sector = |at: usize| file[at..][..HEADER_BYTES].to_vec();
    Ok([(Slot::Primary, sector(0)), (hidden_slot, sector(hidden_at))])
}
