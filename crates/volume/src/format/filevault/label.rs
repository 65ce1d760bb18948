//! The unencrypted metadata, in up to eight copies: the location of the encrypted metadata, and the name of the volume
//! group.

use cryptbench_blockdev::{BlockDevice, read_bytes};

use super::bytes::{Place, is_whole};
use super::header::Header;
use super::objects::BLOCK;
use super::plist::Plist;
use super::{damaged, reason};
use crate::VolumeError;
use crate::bytes::{u16_at, u32_at, u64_at};

/// Kind of the block at the start of a copy.
const KIND: u16 = 0x11;
/// Offset of a block's contents, after its header.
const DATA: usize = 64;
/// Size of the group's descriptor, in bytes.
const DESCRIPTOR: u64 = 48;
/// Maximum size of the group's list of names and values, in bytes.
const MOST_PLIST: u64 = 1 << 20;

/// The content of a valid copy.
#[derive(Debug)]
pub(super) struct Label {
    /// Counts the changes.
    transaction: u64,
    /// Bytes of the encrypted metadata.
    pub encrypted_bytes: u64,
    /// Offsets of both copies of the encrypted metadata that are on this physical volume.
    pub encrypted: Vec<u64>,
    /// Name of the group.
    pub name: Option<String>,
    /// Number of physical volumes in the group.
    pub physical_volumes: usize,
}

/// The offset of each copy, and its defect, if any.
pub(super) type Copies = Vec<(u64, Option<String>)>;

/// Reads the newest valid copy, and examines the others.
///
/// # Errors
/// [`VolumeError::Damaged`] if no copy is valid, with the reason for each copy.
pub(super) fn read(
    device: &dyn BlockDevice,
    header: &Header,
) -> Result<(Label, Copies), VolumeError> {
    let (mut newest, mut copies): (Option<Label>, Copies) = (None, Vec::new());
    for &at in &header.labels {
        let found = copy(device, header, at);
        copies.push((at, found.as_ref().err().map(reason)));
        if let Ok(found) = found
            && newest.as_ref().is_none_or(|label| label.transaction < found.transaction)
        {
            newest = Some(found);
        }
    }
    match newest {
        Some(label) => Ok((label, copies)),
        None => {
            let why: Vec<String> = copies
                .into_iter()
                .filter_map(|(at, why)| Some(format!("at byte {at}: {}", why?)))
                .collect();
            Err(damaged(format!("no copy of the metadata is valid: {}", why.join("; "))))
        }
    }
}

/// Reads a part of a copy: `len` bytes at offset `from` within the copy.
fn part(
    device: &dyn BlockDevice,
    header: &Header,
    at: u64,
    from: u64,
    len: u64,
) -> Result<Vec<u8>, VolumeError> {
    let end = from.checked_add(len).filter(|end| *end <= header.label_bytes);
    let end = end.and_then(|end| at.checked_add(end)).filter(|end| *end <= device.size());
    let end = end.ok_or_else(|| {
        damaged(format!("{len} bytes at {from} are outside the metadata or the device"))
    })?;
    read_bytes(device, at + from..end).map_err(VolumeError::io("reading the metadata"))
}

fn copy(device: &dyn BlockDevice, header: &Header, at: u64) -> Result<Label, VolumeError> {
    let first = part(device, header, at, 0, BLOCK)?;
    if u16_at(&first, 10) != Some(KIND) {
        return Err(damaged("its first block is of the wrong type"));
    }
    if !is_whole(&first) {
        return Err(damaged("the checksum is wrong"));
    }
    let number = |place: usize| u32_at(&first, DATA + place).unwrap_or(0).into();
    let (descriptor, plist, len): (u64, u64, u64) = (number(156), number(160), number(164));
    let descriptor = part(device, header, at, descriptor, DESCRIPTOR)?;
    let blocks = u64_at(&descriptor, 8).unwrap_or(0);
    let mut encrypted = Vec::new();
    for place in [32, 40] {
        match Place::at(&descriptor, place) {
            Some(Place { block, volume: 0 }) if block != 0 => {
                encrypted.push(header.bytes_of(block)?);
            }
            _ => {}
        }
    }
    let mut label = Label {
        transaction: u64_at(&first, 16).unwrap_or(0),
        encrypted_bytes: header.bytes_of(blocks)?,
        encrypted,
        name: None,
        physical_volumes: 1,
    };
    // Without the property list, only the name is lost; some copies do not contain it.
    if (1..=MOST_PLIST).contains(&len)
        && let Ok(bytes) = part(device, header, at, plist, len)
        && let Ok(plist) = Plist::parse(&bytes)
    {
        let of_group = |key: &str| format!("com.apple.corestorage.lvg.{key}");
        label.name = plist.text_of(&of_group("name"));
        let all = plist.get(&of_group("physicalVolumes")).map_or(1, |all| all.items().count());
        label.physical_volumes = all.max(1);
    }
    Ok(label)
}
