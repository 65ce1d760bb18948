//! The storage of metadata on a device. Separates what LUKS1 and LUKS2 have in common from their differences.

use std::ops::Range;

use cryptbench_blockdev::{BlockDevice, Extent, read_bytes};

use super::model::{Keyslot, Metadata};
use super::{MAGIC, v1, v2};
use crate::VolumeError;

/// A header that was read or is about to be written.
pub(super) trait Header {
    /// The header's contents.
    fn metadata(&self) -> &Metadata;

    /// The state of both copies: the one that was read, and the defect of the other.
    fn copies(&self) -> Vec<super::CopyInfo> {
        Vec::new()
    }

    /// Byte ranges of the header that are unused.
    fn unused(&self) -> Vec<Range<u64>> {
        Vec::new()
    }

    /// Finds space for `bytes` of key material: in keyslot `wanted`, or in the first free one.
    ///
    /// # Errors
    /// [`VolumeError::Invalid`] if there is no space.
    fn room(&self, wanted: Option<u32>, bytes: u64) -> Result<(u32, Extent), VolumeError>;

    /// Free space for `bytes` of key material, so that a changed key keeps the number of its keyslot. `None` if
    /// keyslots have fixed areas.
    ///
    /// # Errors
    /// [`VolumeError::Invalid`] if there is not enough space.
    fn other_area(&self, _bytes: u64) -> Option<Result<Extent, VolumeError>> {
        None
    }

    /// Assigns the tokens of one keyslot to another one as well.
    fn move_tokens(&mut self, _from: u32, _to: u32) -> Result<(), VolumeError> {
        Ok(())
    }

    /// Adds a keyslot in the space that [`room`](Self::room) found, or replaces it. The keyslot will contain a key that
    /// matches the segment's digest.
    ///
    /// # Errors
    /// [`VolumeError::Invalid`] if this LUKS version cannot represent the keyslot.
    fn insert(&mut self, slot: &Keyslot) -> Result<(), VolumeError>;

    /// Removes a keyslot.
    ///
    /// # Errors
    /// [`VolumeError::Invalid`] if it does not exist.
    fn remove(&mut self, id: u32) -> Result<(), VolumeError>;

    /// Writes the header. If the write is interrupted, the volume can still be opened.
    fn write(&mut self, device: &dyn BlockDevice) -> Result<(), VolumeError>;
}

/// Which copy of a LUKS2 header to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The newest valid copy.
    Newest,
    /// The secondary copy, even if the primary one is valid.
    Secondary,
}

/// Reads and checks the header of `device`.
pub(super) fn read(device: &dyn BlockDevice, which: Which) -> Result<Box<dyn Header>, VolumeError> {
    // An unreadable primary header may still have a readable secondary one.
    let start = read_bytes(device, 0..SNIFF.min(device.size()));
    let version = match &start {
        Ok(start) if start.len() >= 8 && start[..6] == MAGIC => {
            Some(u16::from_be_bytes([start[6], start[7]]))
        }
        _ => None,
    };
    match version {
        Some(1) => Ok(Box::new(v1::Header::read(device)?)),
        Some(2) | None => Ok(Box::new(v2::Header::read(device, which)?)),
        Some(version) => Err(VolumeError::CannotOpen {
            what: format!("LUKS version {version}"),
            why: "this program supports versions 1 and 2".to_owned(),
            with: "a newer cryptsetup may open it".to_owned(),
        }),
    }
}

const SNIFF: u64 = 512;

/// Wraps an I/O error together with the operation that failed.
pub(super) fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> VolumeError {
    move |source| VolumeError::Io { doing, source }
}

/// Fills `out` with random bytes from the operating system.
pub(super) fn random(out: &mut [u8]) -> Result<(), VolumeError> {
    getrandom::fill(out).map_err(|error| VolumeError::Io {
        doing: "getting random bytes",
        source: std::io::Error::other(error),
    })
}
