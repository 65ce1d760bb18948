//! A logical volume: its names and values, and the location of its data.

use super::bytes::Place;
use super::header::Header;
use super::objects::{Object, Objects, kind};
use super::plist::Plist;
use super::uuid::Uuid;
use super::{MACOS, SECTOR, cannot_open, damaged};
use crate::VolumeError;
use crate::bytes::{u32_at, u64_at};

/// A run of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Offset in the logical volume.
    pub logical: u64,
    /// Offset on the physical volume.
    pub physical: u64,
    pub len: u64,
    /// Number of the physical volume.
    pub volume: u16,
}

/// The content of the object.
#[derive(Debug)]
pub(super) struct Logical {
    pub id: Option<Uuid>,
    /// Its family's identifier.
    pub family: Uuid,
    /// Its family's object.
    pub family_object: u64,
    pub name: Option<String>,
    /// Bytes.
    pub size: u64,
    /// The volume's content according to the metadata, such as `Apple_HFS`.
    pub contents: Option<String>,
    /// Identifiers of the objects that describe the location of its data: the segments, and the origin of their
    /// addresses.
    segments: u64,
    bases: [u64; 2],
}

impl Logical {
    /// Reads an object of this kind.
    pub(super) fn parse(object: &Object) -> Result<Self, VolumeError> {
        let cut = || damaged("the property list of a logical volume is truncated");
        let number = |at: usize| u64_at(&object.data, at).unwrap_or(0);
        let place = u32_at(&object.data, 64).zip(u32_at(&object.data, 68)).ok_or_else(cut)?;
        let plist =
            Plist::parse(object.part(place.0, place.1).ok_or_else(cut)?).map_err(damaged)?;
        let of = |name: &str| plist.get(&format!("com.apple.corestorage.lv.{name}"));
        let uuid = |name: &str| of(name).and_then(|id| Uuid::parse(id.text()?));
        let text = |name: &str| plist.text_of(&format!("com.apple.corestorage.lv.{name}"));
        let size = of("size").and_then(Plist::number);
        let size = size.ok_or_else(|| damaged("a logical volume has no size"))?;
        if size == 0 || !size.is_multiple_of(SECTOR) {
            return Err(damaged(format!("a logical volume has an invalid size: {size} bytes")));
        }
        Ok(Self {
            id: uuid("uuid"),
            family: uuid("familyUUID").ok_or_else(|| damaged("a logical volume has no family"))?,
            family_object: number(0),
            name: text("name"),
            size,
            contents: text("contenthint"),
            segments: number(8),
            // The format description gives one of these offsets, libfvde the other.
            bases: [number(40), number(48)],
        })
    }

    /// Its name in messages.
    pub(super) fn describe(&self) -> String {
        match &self.name {
            Some(name) => format!("the CoreStorage volume {name:?}"),
            None => "this CoreStorage volume".to_owned(),
        }
    }

    /// The volume's data segments, from the first byte to the last.
    ///
    /// # Errors
    /// [`VolumeError::Damaged`] if segments overlap or a segment has no valid end; [`VolumeError::CannotOpen`]
    /// if they do not cover the volume.
    pub(super) fn data(
        &self,
        header: &Header,
        objects: &Objects,
    ) -> Result<Vec<Segment>, VolumeError> {
        let object = objects.get_or_only(self.segments, kind::SEGMENTS);
        let object = object.ok_or_else(|| damaged("the location of the data is missing"))?;
        let base = self.base(objects)?;
        let mut all = segments(object, header, base)?;
        all.sort_by_key(|segment| segment.logical);
        let mut end = 0;
        for segment in &mut all {
            if segment.logical < end {
                return Err(damaged("two segments overlap"));
            }
            if segment.logical > end {
                break;
            }
            segment.len = segment.len.min(self.size - end);
            end += segment.len;
        }
        if end < self.size {
            let why = format!("its segments cover only {end} of its {} bytes", self.size);
            return Err(cannot_open(self.describe(), why, MACOS));
        }
        all.retain(|segment| segment.len > 0 && segment.logical < self.size);
        Ok(all)
    }

    /// The block to which the addresses of segments are relative.
    fn base(&self, objects: &Objects) -> Result<u64, VolumeError> {
        let named = self.bases.iter().find_map(|id| objects.get(*id, kind::BASE));
        let Some(object) = named.or_else(|| objects.get_or_only(0, kind::BASE)) else {
            // Lost objects must not be mistaken for objects that never existed.
            return match (objects.damaged, objects.of(kind::BASE).next()) {
                (0, None) => Ok(0),
                _ => Err(damaged("the base of its data offsets is missing or damaged")),
            };
        };
        let base = Place::at(&object.data, 16);
        match (u32_at(&object.data, 0), base) {
            (Some(1), Some(Place { block, volume: 0 })) => Ok(block),
            _ => {
                let why = "its data offsets have several bases";
                Err(cannot_open(self.describe(), why, MACOS))
            }
        }
    }
}

/// Refuses data on this physical volume that overlaps other data or one of these runs of metadata.
pub(super) fn check_apart(data: &[Segment], metadata: &[(u64, u64)]) -> Result<(), VolumeError> {
    let mut here: Vec<_> = data.iter().filter(|segment| segment.volume == 0).collect();
    here.sort_by_key(|segment| segment.physical);
    let end = |segment: &Segment| segment.physical.saturating_add(segment.len);
    let on_others = here.windows(2).any(|two| end(two[0]) > two[1].physical);
    let on_metadata = here.iter().any(|segment| {
        let meets = |(at, len): &(u64, u64)| {
            segment.physical < at.saturating_add(*len) && *at < end(segment)
        };
        metadata.iter().any(meets)
    });
    match on_others || on_metadata {
        true => Err(damaged("data overlaps metadata or other data")),
        false => Ok(()),
    }
}

/// Size of an entry in bytes; the entries follow their count.
const ENTRY: usize = 40;

fn segments(object: &Object, header: &Header, base: u64) -> Result<Vec<Segment>, VolumeError> {
    let count = u32_at(&object.data, 0).unwrap_or(0) as usize;
    let entries = count.checked_mul(ENTRY).and_then(|len| object.data.get(8..)?.get(..len));
    let entries = entries.ok_or_else(|| damaged(format!("{count} segments in one object")))?;
    let segment = |entry: &[u8]| {
        let (logical, blocks) = u64_at(entry, 8).zip(u32_at(entry, 16))?;
        let Place { block, volume } = Place::at(entry, 32)?;
        let bytes = |blocks: u64| header.bytes_of(blocks).ok();
        let (logical, len) = bytes(logical).zip(bytes(blocks.into()))?;
        let physical = bytes(block.checked_add(base)?)?;
        physical.checked_add(len).zip(logical.checked_add(len))?;
        Some(Segment { logical, physical, len, volume })
    };
    let all: Option<Vec<_>> = entries.chunks_exact(ENTRY).map(segment).collect();
    all.ok_or_else(|| damaged("the end of a segment is invalid"))
}
