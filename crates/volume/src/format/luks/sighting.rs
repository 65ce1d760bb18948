//! Finds headers only by their magic and UUID, which identify the volume even if nothing else in the header is
//! understood.

use cryptbench_blockdev::{BlockDevice, read_bytes};

use super::v2::HDR_SIZES;
use super::{MAGIC, SECONDARY_MAGIC, UUID, text};

/// A possible header, recognised by its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sighting {
    /// 0, or the offset of a secondary header.
    pub(crate) offset: u64,
    /// The version according to the header, which may be unknown.
    pub(crate) version: u16,
    /// `None` if the field is not text.
    pub(crate) uuid: Option<String>,
}

/// The headers on `device`, the primary one first.
pub(crate) fn sightings(device: &dyn BlockDevice) -> Vec<Sighting> {
    let places = [(0, MAGIC)].into_iter().chain(HDR_SIZES.map(|offset| (offset, SECONDARY_MAGIC)));
    places.filter_map(|(offset, magic)| sighting(device, offset, magic)).collect()
}

fn sighting(device: &dyn BlockDevice, offset: u64, magic: [u8; 6]) -> Option<Sighting> {
    let end = offset + UUID.end as u64;
    if end > device.size() {
        return None;
    }
    let start = read_bytes(device, offset..end).ok()?;
    if !start.starts_with(&magic) {
        return None;
    }
    let uuid = text(&start[UUID], "the UUID").ok().filter(|uuid| !uuid.is_empty());
    Some(Sighting { offset, version: u16::from_be_bytes([start[6], start[7]]), uuid })
}
