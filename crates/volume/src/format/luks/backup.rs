//! Backs up and restores headers, and repairs LUKS2 headers from the other copy.

use std::io::Write;
use std::ops::Range;

use cryptbench_blockdev::{BlockDevice, Extent, read_bytes, write_bytes};

use super::Version;
use super::model::Metadata;
use super::store::{self, Header, Which, io};
use crate::VolumeError;
use crate::overwrite::{self, FORCE, Overwrite, Proof};

/// Bytes copied at a time.
const CHUNK: u64 = 1 << 20;

/// Writes the header and keyslots of `device` to `out` and returns the number of bytes. The result matches that
/// of cryptsetup's `luksHeaderBackup` byte for byte: zeros fill the unused parts of LUKS1.
///
/// Anyone who has the backup, and a passphrase that was valid when it was made, can open the volume, even if
/// the key has been removed since.
///
/// # Errors
/// As for [`info`](super::info); [`VolumeError::Io`] also for `out`.
pub fn backup_header(device: &dyn BlockDevice, out: &mut dyn Write) -> Result<u64, VolumeError> {
    let header = store::read(device, Which::Newest)?;
    let bytes = header.metadata().header_bytes;
    let unused = header.unused();
    let write = |offset: u64, data: &mut [u8]| {
        // A backup must not contain data from before the volume was created.
        for part in &unused {
            let within = |at: u64| at.saturating_sub(offset).min(data.len() as u64) as usize;
            let (start, end) = (within(part.start), within(part.end));
            data[start..end].fill(0);
        }
        out.write_all(data)
    };
    copy(device, 0..bytes, write, "writing the backup")?;
    out.flush().map_err(io("writing the backup"))?;
    Ok(bytes)
}

/// Restores a header from a backup to `device`, if the device contains the volume of this header: it must have
/// a header with the same UUID, or zeros at the locations of both headers and no other known content. `force`
/// overwrites anything, including a header with another data offset or other encryption.
///
/// The headers are written last, and the header that is read first is written at the very end. After an
/// interruption, the old headers therefore describe the new keyslots. Restoring again repairs this. If one copy
/// of a LUKS2 header in the backup is damaged or outdated, both are written from the other.
///
/// # Errors
/// [`VolumeError::NotThisFormat`] or [`VolumeError::Damaged`] if `backup` is not a header backup;
/// [`VolumeError::Invalid`] if it does not fit the device; [`VolumeError::Occupied`]; [`VolumeError::Io`].
pub fn restore_header(
    device: &dyn BlockDevice,
    backup: &dyn BlockDevice,
    force: bool,
) -> Result<(), VolumeError> {
    let invalid = |reason: String| Err(VolumeError::Invalid(reason));
    let mut header = store::read(backup, Which::Newest)?;
    let saved = header.metadata();
    let bytes = saved.header_bytes;
    if backup.size() < bytes {
        return invalid(format!(
            "the backup is {} bytes long, but its header needs {bytes}",
            backup.size()
        ));
    }
    // A detached header specifies a data offset of 0.
    let ends = saved.segments.iter().map(|s| s.offset.saturating_add(s.size.unwrap_or(0)));
    let needed = ends.fold(bytes, u64::max);
    if device.size() < needed {
        return invalid(format!(
            "the device has only {} bytes, but the header needs {needed}",
            device.size()
        ));
    }
    if !force {
        let heads = saved.heads_bytes.min(bytes);
        // The padding after the last area does not belong to any keyslot.
        let padding = header.unused().into_iter().find(|gap| gap.end == bytes);
        let end = padding.map_or(bytes, |gap| gap.start.max(heads));
        let keyslots = Extent { offset: heads, len: end - heads };
        let heads = Extent { offset: 0, len: heads };
        overwrite::check(
            device,
            &Overwrite {
                parts: &[Extent { offset: 0, len: bytes }],
                proof: if saved.uuid.is_empty() {
                    Proof::Nothing
                } else {
                    Proof::Uuid(&saved.uuid)
                },
                blank: &[heads],
                keyslots: Some((keyslots, backup)),
                remedy: FORCE,
            },
        )?;
        refuse_other_outline(device, saved)?;
    }
    let heads = saved.heads_bytes.min(bytes);
    let whole = copies_agree(header.as_ref());
    let write = |offset, data: &mut [u8]| write_bytes(device, offset, data);
    copy(backup, heads..bytes, write, "writing keyslots")?;
    device.flush().map_err(io("writing keyslots"))?;
    if !whole {
        return header.write(device);
    }
    // The secondary header is written before the primary one: in LUKS2, the second half of the header area
    // comes first.
    for part in [heads / 2..heads, 0..heads / 2] {
        let mut data = read_bytes(backup, part.clone()).map_err(io("reading the backup"))?;
        write(part.start, &mut data).map_err(io("writing the header"))?;
        device.flush().map_err(io("writing the header"))?;
    }
    Ok(())
}

/// Refuses a header whose data offset or encryption differs: the volume may have been re-encrypted or moved
/// since the backup.
fn refuse_other_outline(device: &dyn BlockDevice, saved: &Metadata) -> Result<(), VolumeError> {
    // A backup must be usable if the header on the device is unreadable.
    let Ok(there) = store::read(device, Which::Newest) else { return Ok(()) };
    let outline = |metadata: &Metadata| {
        let segments = metadata.segments.iter();
        let parts = segments.map(|s| (s.offset, s.encryption.clone(), s.sector_size));
        (metadata.version, parts.collect::<Vec<_>>())
    };
    if outline(there.metadata()) == outline(saved) {
        return Ok(());
    }
    let holds = "a header of this volume with a different version, data offset or encryption";
    Err(VolumeError::Occupied { holds: holds.to_owned(), remedy: FORCE })
}

/// Rewrites a damaged or outdated copy of a LUKS2 header from the valid one, and returns whether anything was
/// repaired. `force` is required if something else has replaced a copy.
///
/// # Errors
/// As for [`info`](super::info); [`VolumeError::Invalid`] for LUKS1, which has only one header;
/// [`VolumeError::Occupied`] if other contents have replaced the primary header.
pub fn repair(device: &dyn BlockDevice, force: bool) -> Result<bool, VolumeError> {
    let mut header = store::read(device, Which::Newest)?;
    if header.metadata().version == Version::Luks1 {
        return Err(VolumeError::Invalid(
            "LUKS1 has no secondary header to repair from".to_owned(),
        ));
    }
    if copies_agree(header.as_ref()) {
        return Ok(false);
    }
    if !force {
        refuse_other_contents(device, header.metadata(), FORCE)?;
    }
    header.write(device)?;
    Ok(true)
}

/// Whether all copies are valid and equally recent.
fn copies_agree(header: &dyn Header) -> bool {
    let copies = header.copies();
    copies.iter().all(|copy| copy.seqid.is_some() && copy.seqid == copies[0].seqid)
}

/// Fails if something else has replaced a copy of the header that was read from the device.
pub(super) fn refuse_other_contents(
    device: &dyn BlockDevice,
    header: &Metadata,
    remedy: &'static str,
) -> Result<(), VolumeError> {
    let parts = &[Extent { offset: 0, len: header.header_bytes }];
    let proof = Proof::Uuid(&header.uuid);
    overwrite::check(device, &Overwrite { parts, proof, blank: &[], keyslots: None, remedy })
}

fn copy(
    from: &dyn BlockDevice,
    range: Range<u64>,
    mut to: impl FnMut(u64, &mut [u8]) -> std::io::Result<()>,
    doing: &'static str,
) -> Result<(), VolumeError> {
    let mut offset = range.start;
    while offset < range.end {
        let end = (offset + CHUNK).min(range.end);
        let mut data = read_bytes(from, offset..end).map_err(io("reading the header"))?;
        to(offset, &mut data).map_err(io(doing))?;
        offset = end;
    }
    Ok(())
}
