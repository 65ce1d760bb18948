//! Backs up headers in VeraCrypt's file format, and restores them from such a file or from within
//! the volume.

use cryptbench_blockdev::BlockDevice;

use super::change::{HeaderOptions, reseal};
use super::create::write_header;
use super::header::HEADER_BYTES;
use super::layout::{self, AREA, Slot};
use super::password::password;
use super::seal::{Filler, Seal};
use super::unlock::{Request, Unlocked, unlock, unlock_sectors};
use crate::{Credentials, VolumeError};

/// The source of restored headers.
#[derive(Clone, Copy)]
pub enum HeaderSource<'a> {
    /// The backup headers at the end of the volume.
    Embedded,
    /// The contents of a backup file.
    File(&'a [u8]),
}

/// The contents of a header backup file, in VeraCrypt's format: two areas of 64 KiB (before
/// TrueCrypt 6: of 512 bytes). The first holds the normal header. The second holds the hidden
/// volume's header, or random bytes if there is no hidden volume.
///
/// Both headers get new salts. `options.prf` is tried for both.
///
/// # Errors
/// [`VolumeError::NoKeyFits`] for either header, and any other; the device is unchanged.
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
/// A backup file restores whichever header opens, normal or hidden: its backup within the volume is
/// written and flushed first, then the header itself. From within the volume, the function restores
/// the normal header, or the hidden one if `options.hidden` is set. No other header changes.
///
/// # Errors
/// Any [`VolumeError`]; [`VolumeError::Damaged`] also if the header does not fit the device.
pub fn restore_headers(
    device: &dyn BlockDevice,
    source: HeaderSource<'_>,
    credentials: &Credentials,
    options: &HeaderOptions<'_>,
) -> Result<(), VolumeError> {
    match source {
        HeaderSource::File(file) => {
            let sectors = sectors(file)?;
            let request = options.request(Slot::for_request(false, false, false)?);
            let unlocked = unlock_sectors(&sectors, credentials, &request)?;
            let data = layout::data(&unlocked.header, unlocked.slot, device.size())?;
            let password = password(credentials)?;
            reseal(device, &unlocked, data, &password, unlocked.derivation, options)
        }
        HeaderSource::Embedded => {
            let request = options.request(Slot::for_request(options.hidden, true, options.system)?);
            let unlocked = unlock(device, credentials, &request)?;
            layout::data(&unlocked.header, unlocked.slot, device.size())?;
            let primary = unlocked.slot.other_copy().unwrap_or(unlocked.slot);
            write_header(device, primary, &anew(&unlocked, credentials, options)?)
        }
    }
}

/// The header under the same credentials and a new salt.
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
                "not a header backup: it has {length} bytes, not {} or {}",
                2 * AREA,
                2 * HEADER_BYTES
            )));
        }
    };
    let sector = |at: usize| file[at..][..HEADER_BYTES].to_vec();
    Ok([(Slot::Primary, sector(0)), (hidden_slot, sector(hidden_at))])
}
