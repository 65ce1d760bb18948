//! The location of headers and data on the host device.

use cryptbench_blockdev::Extent;

use super::header::{DATA_UNIT, HEADER_BYTES, Header};
use super::whole;
use crate::volume::there;
use crate::{Access, VolumeError};

/// Number of bytes reserved for a header, which uses the first 512; the rest is random.
pub(super) const AREA: u64 = 64 * 1024;
/// Size of a header group in bytes: one area for the normal header and one for the hidden volume's header. The host
/// begins with one group and ends with another, the backup.
pub(super) const GROUP: u64 = 2 * AREA;
/// Distance in bytes of the hidden volume's header from the end, in versions before TrueCrypt 6.
const HIDDEN_LEGACY: u64 = 3 * 512;
/// Offset of the system-encryption header: the last sector but one of the first track.
const SYSTEM: u64 = 62 * 512;

/// Size of the boot loader's track in bytes. If the whole disk is encrypted, the encrypted area starts after
/// this track.
pub(super) const FIRST_TRACK: u64 = 63 * 512;

/// A location of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// At the start of the host.
    Primary,
    /// The backup of that header, 128 KiB before the end.
    Backup,
    /// The hidden volume's header, at offset 64 KiB.
    Hidden,
    /// The backup of that header, 64 KiB before the end.
    HiddenBackup,
    /// The hidden volume's header in TrueCrypt versions before 6, three sectors before the end.
    HiddenLegacy,
    /// The system-encryption header, in sector 62 of the disk.
    System,
    /// The system-encryption header, in a separate file or on the disk from which a partition was copied.
    Elsewhere,
}

impl Slot {
    /// The slots to try.
    pub(super) fn for_request(
        hidden: bool,
        backup: bool,
        system: bool,
    ) -> Result<&'static [Self], VolumeError> {
        match (hidden, backup, system) {
            (false, false, false) => Ok(&[Self::Primary]),
            (false, true, false) => Ok(&[Self::Backup]),
            (true, false, false) => Ok(&[Self::Hidden, Self::HiddenLegacy]),
            (true, true, false) => Ok(&[Self::HiddenBackup]),
            (false, false, true) => Ok(&[Self::System]),
            (true, _, true) => Err(VolumeError::Unsupported {
                what: "a hidden operating system".to_owned(),
                hint: Some("open its partition as a hidden volume, without --system".to_owned()),
            }),
            (false, true, true) => Err(VolumeError::Invalid(
                "with system encryption, the backup header is on the rescue disk, not on the encrypted disk"
                    .to_owned(),
            )),
        }
    }

    /// Offset of the header on a host of `size` bytes; `None` if the host is too small to have it.
    pub(super) fn offset(self, size: u64) -> Option<u64> {
        let offset = match self {
            Self::Primary => 0,
            Self::Hidden => AREA,
            Self::Backup => size.checked_sub(GROUP)?,
            Self::HiddenBackup => size.checked_sub(AREA)?,
            Self::HiddenLegacy => size.checked_sub(HIDDEN_LEGACY)?,
            Self::System => SYSTEM,
            // A header backup is a single sector.
            Self::Elsewhere => SYSTEM * u64::from(size > SYSTEM),
        };
        (offset + HEADER_BYTES as u64 <= size).then_some(offset)
    }

    /// The slot that holds the other copy of the same header.
    pub(super) fn other_copy(self) -> Option<Self> {
        match self {
            Self::Primary => Some(Self::Backup),
            Self::Backup => Some(Self::Primary),
            Self::Hidden => Some(Self::HiddenBackup),
            Self::HiddenBackup => Some(Self::Hidden),
            Self::HiddenLegacy | Self::System | Self::Elsewhere => None,
        }
    }

    /// Whether the slot holds a hidden volume's header.
    pub(super) fn is_hidden(self) -> bool {
        matches!(self, Self::Hidden | Self::HiddenBackup | Self::HiddenLegacy)
    }

    /// The bytes of the header itself, on a host of `size` bytes; empty if the host is too small.
    pub(super) fn sector(self, size: u64) -> Extent {
        let offset = self.offset(size);
        Extent { offset: offset.unwrap_or(0), len: offset.map_or(0, |_| HEADER_BYTES as u64) }
    }

    /// The parts of a host that belong to headers: the group with this slot and, from header version 4, the
    /// other group as well. System encryption leaves the first track to boot loaders.
    pub(super) fn parts(self, size: u64, version: u16) -> Vec<Extent> {
        if matches!(self, Self::System | Self::Elsewhere) {
            return vec![self.sector(size)];
        }
        let first = Extent { offset: 0, len: GROUP.min(size) };
        let last = Extent { offset: size.saturating_sub(GROUP), len: GROUP.min(size) };
        if version >= 4 { vec![first, last] } else { vec![first] }
    }

    /// Name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Backup => "backup",
            Self::Hidden => "hidden",
            Self::HiddenBackup => "hidden, backup",
            Self::HiddenLegacy => "hidden, at the end",
            Self::System => "system",
            Self::Elsewhere => "system, elsewhere",
        }
    }
}

/// Like [`extent`], for a complete host.
///
/// # Errors
/// As for [`extent`]; [`VolumeError::CannotOpen`] if the host is truncated, or if other bytes precede the container.
pub(super) fn data(header: &Header, slot: Slot, size: u64) -> Result<Extent, VolumeError> {
    whole::check(header, slot, size)?;
    let data = extent(header, slot, size)?;
    there(data, size, DATA_UNIT, Access::ReadWrite).map(|(data, _)| data)
}

/// Like [`data`], for a host to which this header and its backup will be written.
///
/// # Errors
/// As for [`data`]; [`VolumeError::CannotOpen`] if the end, the location of the backup, is missing.
pub(super) fn writable(header: &Header, slot: Slot, size: u64) -> Result<Extent, VolumeError> {
    whole::check_end(header, slot, size)?;
    data(header, slot, size)
}

/// The encrypted area that a header in `slot` describes, on a host of `size` bytes.
///
/// # Errors
/// [`VolumeError::Damaged`] if the area is empty or is not aligned to 512-byte units, but not if it extends
/// beyond the end of a truncated host; [`VolumeError::Unsupported`] if an in-place encryption is unfinished.
pub(super) fn extent(header: &Header, slot: Slot, size: u64) -> Result<Extent, VolumeError> {
    let damaged = |reason: String| VolumeError::Damaged { format: header.product.format(), reason };
    let Extent { offset, len } = match (slot, header.version) {
        // TrueCrypt 1 to 5 derive the sizes from the size of the host.
        (Slot::HiddenLegacy, _) => {
            let len = header.hidden_size;
            let offset = size.checked_sub(HIDDEN_LEGACY).and_then(|end| end.checked_sub(len));
            let fits = offset.filter(|&offset| offset >= HEADER_BYTES as u64);
            let offset = fits.ok_or_else(|| {
                damaged(format!("a hidden volume of {len} bytes does not fit into {size} bytes"))
            })?;
            Extent { offset, len }
        }
        (Slot::Primary | Slot::Backup, 0..=3) => {
            let offset = HEADER_BYTES as u64;
            // A copy may be truncated; only headers of version 3 reveal this.
            let told = if header.version == 3 { header.volume_size } else { 0 };
            Extent { offset, len: size.saturating_sub(offset).max(told) }
        }
        _ => Extent { offset: header.data_offset, len: header.volume_size },
    };
    if len == 0 || !len.is_multiple_of(DATA_UNIT) || !offset.is_multiple_of(DATA_UNIT) {
        return Err(damaged(format!(
            "the offset or the size of the data ({len} bytes at {offset}) is not a multiple of 512 bytes"
        )));
    }
    if offset.checked_add(len).is_none() {
        return Err(damaged(format!("{len} bytes of data at {offset}")));
    }
    // The system-encryption header precedes its data, but the data offset is relative to a point before the
    // header.
    if offset < HEADER_BYTES as u64 {
        return Err(damaged(format!("data at {offset} would overlap the header")));
    }
    // A larger value is valid: in the header of an encrypted system partition, it can be the size of the whole
    // disk.
    if header.version >= 4 && header.data_size < header.volume_size {
        return Err(VolumeError::Unsupported {
            what: format!(
                "a volume of which only {} of {} bytes are encrypted",
                header.data_size, header.volume_size
            ),
            hint: Some(format!("let {} finish the encryption first", header.product.name())),
        });
    }
    Ok(Extent { offset, len })
}
