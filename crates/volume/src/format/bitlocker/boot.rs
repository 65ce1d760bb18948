//! The boot sector: the volume's layout and the location of its metadata.

use super::guid::Guid;
use super::{COPIES, FORMAT, SIGNATURE};
use crate::VolumeError;
use crate::bytes::{array_at, u16_at, u64_at};

/// Size of a boot sector in bytes, regardless of the sector size.
pub(super) const BOOT_BYTES: usize = 512;

/// The possible layouts at the start of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Windows Vista: NTFS's boot sector with another signature and one other changed field.
    Vista {
        /// Offset of the first copy of the metadata.
        metadata: u64,
        /// Bytes of a cluster.
        cluster: u64,
        /// Offset of the last sector, in which NTFS stores a copy of the boot sector.
        last_sector: u64,
    },
    /// Windows 7 and later: a separate boot sector.
    Seven {
        /// Offsets of the copies of the metadata.
        metadata: [u64; COPIES],
        /// Offsets of the two descriptions of the encrypted regions, if only a part is encrypted.
        on_write: Option<[u64; 2]>,
        /// A FAT volume with files for systems without BitLocker.
        to_go: bool,
    },
}

/// The contents of the boot sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Boot {
    pub layout: Layout,
    /// Sector size in bytes; `None` if the boot sector does not specify it, as on an exFAT volume.
    pub sector: Option<u32>,
}

/// The location of the identifier; the offsets of the metadata follow it.
const IDENTIFIER: usize = 160;
/// The location of the identifier in BitLocker To Go.
const IDENTIFIER_TO_GO: usize = 424;

impl Boot {
    /// Reads a boot sector.
    ///
    /// # Errors
    /// [`VolumeError::NotThisFormat`] if the sector has no BitLocker signature;
    /// [`VolumeError::Damaged`](crate::VolumeError::Damaged) if its contents are impossible.
    pub(super) fn parse(bytes: &[u8; BOOT_BYTES]) -> Result<Self, VolumeError> {
        let signed = bytes[3..11] == SIGNATURE;
        let sector = match u16_at(bytes, 11).unwrap_or_default() {
            0 => None,
            size @ (512 | 1024 | 2048 | 4096) => Some(u32::from(size)),
            other => {
                let reason = format!("its sector size is invalid: {other} bytes");
                return Err(if signed { super::damaged(reason) } else { not_this(reason) });
            }
        };
        for (at, to_go) in [(IDENTIFIER, false), (IDENTIFIER_TO_GO, true)] {
            let guid = array_at(bytes, at).map(Guid);
            let on_write = guid == Some(Guid::ON_WRITE);
            // Without a signature, the identifier is a remnant: the volume no longer belongs to BitLocker.
            if on_write || guid == Some(Guid::WHOLE) {
                if !signed && !to_go {
                    continue;
                }
                let offset = |index: usize| u64_at(bytes, at + 16 + 8 * index).unwrap_or_default();
                let metadata = std::array::from_fn(offset);
                let on_write = on_write.then(|| std::array::from_fn(|i| offset(COPIES + i)));
                return Ok(Self { layout: Layout::Seven { metadata, on_write, to_go }, sector });
            }
        }
        if !signed {
            return Err(not_this("its boot sector has no BitLocker signature".to_owned()));
        }
        Self::vista(bytes, sector)
    }

    fn vista(bytes: &[u8; BOOT_BYTES], sector: Option<u32>) -> Result<Self, VolumeError> {
        let unknown = || super::damaged("the boot sector does not refer to any metadata");
        let bytes_per_sector = u64::from(sector.ok_or_else(unknown)?);
        // A value above 128 is a negative exponent of two, as in NTFS.
        let sectors_per_cluster = match bytes[13] {
            0 => return Err(super::damaged("its clusters have 0 sectors")),
            count @ 1..=128 => u64::from(count),
            power => 1_u64.checked_shl(u32::from(power.wrapping_neg())).unwrap_or_default(),
        };
        let cluster = bytes_per_sector.saturating_mul(sectors_per_cluster);
        if !cluster.is_power_of_two() || cluster > 2 << 20 {
            return Err(super::damaged(format!("its cluster size is invalid: {cluster} bytes")));
        }
        let number = u64_at(bytes, 56).filter(|number| *number != 0).ok_or_else(unknown)?;
        let metadata = number.checked_mul(cluster).ok_or_else(unknown)?;
        let sectors = u64_at(bytes, 40).unwrap_or_default();
        let last_sector = sectors.saturating_mul(bytes_per_sector);
        Ok(Self { layout: Layout::Vista { metadata, cluster, last_sector }, sector })
    }

    /// Offsets of the copies of the metadata, as stored in the boot sector.
    pub(super) fn metadata(&self) -> Vec<u64> {
        match self.layout {
            Layout::Vista { metadata, .. } => vec![metadata],
            Layout::Seven { metadata, .. } => metadata.to_vec(),
        }
    }

    pub(super) fn is_vista(&self) -> bool {
        matches!(self.layout, Layout::Vista { .. })
    }
}

fn not_this(reason: String) -> VolumeError {
    VolumeError::NotThisFormat { format: FORMAT, reason }
}
