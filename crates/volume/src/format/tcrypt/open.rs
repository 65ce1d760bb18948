//! Opens a volume: finds a header that can be decrypted, and builds the volume from it.

use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, Extent};
use cryptbench_kdf::Derivation;

use super::header::{DATA_UNIT, Product};
use super::layout::{self, Slot};
use super::unlock::{Request, Unlocked, unlock};
use super::whole;
use crate::pieces::{Pieces, Source};
use crate::volume::{WARNING, there};
use crate::{Credentials, Mapping, OpenOptions, Volume, VolumeError, VolumeInfo};

/// Opens the VeraCrypt or TrueCrypt volume on `device`; `options.format` may specify one of the two.
///
/// # Errors
/// Any [`VolumeError`]; the device is unchanged.
pub fn open(
    device: Arc<dyn BlockDevice>,
    credentials: &Credentials,
    options: &OpenOptions<'_>,
) -> Result<Volume, VolumeError> {
    let products: &[Product] = match options.format {
        Some(name) if name == Product::TrueCrypt.format() => &[Product::TrueCrypt],
        Some(name) if name == Product::VeraCrypt.format() => &[Product::VeraCrypt],
        _ => &[Product::TrueCrypt, Product::VeraCrypt],
    };
    let (hidden, backup) = (options.hidden, options.backup_header);
    if options.protect_hidden.is_some() && (hidden || options.system) {
        let reason = "only an outer volume can protect the hidden volume within it";
        return Err(VolumeError::Invalid(reason.to_owned()));
    }
    let request = Request {
        products,
        slots: Slot::for_request(hidden, backup, options.system)?,
        prf: options.prf,
        tier: options.tier,
        effort: options.effort,
    };
    let unlocked = unlock(&*device, credentials, &request)?;
    let whole::Whole { device, lost, warning: elsewhere } =
        whole::find(device, &unlocked, options.tier, options.access)?;
    let data = layout::extent(&unlocked.header, unlocked.slot, device.size())?;
    let (data, warning) =
        there(data, device.size(), unlocked.header.sector() as u64, options.access)?;
    let protected = match options.protect_hidden {
        None => None,
        Some(hidden) => {
            let slots = Slot::for_request(true, backup, false)?;
            let products = &[unlocked.header.product];
            // The hidden volume's PRF may differ from the outer volume's.
            let request = Request { products, slots, prf: None, ..request };
            Some(protected(&*device, hidden, &request, data)?)
        }
    };
    let mapping = Mapping {
        data,
        cipher: unlocked.scheme.keyed(&unlocked.header.keys, options.tier)?,
        first_tweak: unlocked.scheme.first_tweak(data.offset),
        tweak_step: 1,
        protected,
    };
    let mut info = info(&unlocked, &mapping)?;
    info.details.extend(elsewhere.into_iter().chain(warning).map(|text| (WARNING, text)));
    let sector = unlocked.header.sector();
    let volume = Volume::new(device, mapping, options.access, info)?.with_sector(sector)?;
    without(lost.saturating_sub(data.offset), volume)
}

/// `volume`, whose first `lost` bytes are missing. They read as zeros, up to the next sector boundary.
fn without(lost: u64, volume: Volume) -> Result<Volume, VolumeError> {
    let lost = lost.next_multiple_of(volume.sector() as u64);
    if lost == 0 {
        return Ok(volume);
    }
    if lost >= volume.size() {
        return Err(VolumeError::CannotOpen {
            what: "this volume, a header without data,".to_owned(),
            why: "all of its data is missing".to_owned(),
            with: "only a complete copy can be opened".to_owned(),
        });
    }
    let mut pieces = Pieces::default();
    pieces.push(0, Source::Zeros);
    pieces.push(lost, Source::Encrypted(lost));
    volume.with_pieces(pieces)
}

/// Opens a partition with system encryption that was copied without its disk. `header` is the disk, or a file
/// that contains sector 62 of the disk.
///
/// # Errors
/// As for [`open`].
pub fn open_partition(
    header: &dyn BlockDevice,
    device: Arc<dyn BlockDevice>,
    credentials: &Credentials,
    options: &OpenOptions<'_>,
) -> Result<Volume, VolumeError> {
    let request = Request {
        products: &[Product::TrueCrypt, Product::VeraCrypt],
        slots: &[Slot::Elsewhere],
        prf: options.prf,
        tier: options.tier,
        effort: options.effort,
    };
    let unlocked = unlock(header, credentials, &request)?;
    let on_disk = layout::extent(&unlocked.header, unlocked.slot, header.size())?;
    // The encrypted area then spans all partitions, and the offset of this partition is unknown.
    if on_disk.offset == layout::FIRST_TRACK && on_disk.len > device.size() {
        return Err(VolumeError::CannotOpen {
            what: "this partition".to_owned(),
            why: "its whole disk is encrypted, and its offset on that disk is unknown".to_owned(),
            with: "copy the whole disk, and open the copy with --system".to_owned(),
        });
    }
    let whole = Extent { offset: 0, len: on_disk.len };
    let (data, warning) = there(whole, device.size(), DATA_UNIT, options.access)?;
    let mapping = Mapping {
        data,
        cipher: unlocked.scheme.keyed(&unlocked.header.keys, options.tier)?,
        // Numbered from the start of the disk.
        first_tweak: unlocked.scheme.first_tweak(on_disk.offset),
        tweak_step: 1,
        protected: None,
    };
    let mut info = info(&unlocked, &mapping)?;
    info.details.push(("partition", format!("from byte {} of its disk", on_disk.offset)));
    info.details.extend(warning.map(|text| (WARNING, text)));
    let sector = unlocked.header.sector();
    Volume::new(device, mapping, options.access, info)?.with_sector(sector)
}

/// The hidden volume's extent within the plaintext of `outer`.
fn protected(
    device: &dyn BlockDevice,
    credentials: &Credentials,
    request: &Request<'_>,
    outer: Extent,
) -> Result<Extent, VolumeError> {
    let hidden = unlock(device, credentials, request).map_err(|error| match error {
        VolumeError::NoKeyFits(reason) => {
            VolumeError::NoKeyFits(format!("for the hidden volume to protect: {reason}"))
        }
        other => other,
    })?;
    let data = layout::data(&hidden.header, hidden.slot, device.size())?;
    let inside = data.offset.checked_sub(outer.offset);
    let inside = inside.filter(|&offset| offset + data.len <= outer.len);
    let offset = inside.ok_or_else(|| VolumeError::Damaged {
        format: hidden.header.product.format(),
        reason: format!(
            "the hidden volume ({} bytes at {}) is not within the outer one ({} bytes at {})",
            data.len, data.offset, outer.len, outer.offset
        ),
    })?;
    Ok(Extent { offset, len: data.len })
}

fn info(unlocked: &Unlocked, mapping: &Mapping) -> Result<VolumeInfo, VolumeError> {
    let Unlocked { header, scheme, derivation, slot, .. } = unlocked;
    let required = header.required_version;
    let mut details = vec![
        ("mode", scheme.mode()),
        ("header", slot.name().to_owned()),
        ("header version", header.version.to_string()),
        ("required program version", format!("{:x}.{:x}", required >> 8, required & 0xff)),
        ("sector size", header.sector().to_string()),
    ];
    if let Some(hidden) = mapping.protected {
        details.push(("protected hidden volume", format!("{} bytes", hidden.len)));
    }
    Ok(VolumeInfo {
        format: header.product.format(),
        cipher: scheme.label().to_owned(),
        kernel: mapping.cipher.tier(),
        key_bytes: scheme.key_bytes()?,
        derivation: describe(derivation),
        data_unit: DATA_UNIT as usize,
        size: mapping.data.len,
        data_offset: mapping.data.offset,
        details,
    })
}

fn describe(derivation: &Derivation) -> String {
    match derivation {
        Derivation::Pbkdf2 { prf, iterations } => format!("{}, {iterations} iterations", prf.name),
        Derivation::Argon2 { kind, params } => {
            format!("{kind}, {} MiB, {} passes", params.memory_kib / 1024, params.passes)
        }
    }
}
