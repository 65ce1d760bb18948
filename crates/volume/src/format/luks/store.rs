//! How the metadata lies on a device: the seam between what LUKS1 and LUKS2 share and what differs.

use std::ops::Range;

use cryptbench_blockdev::{BlockDevice, Extent, read_bytes};

use super::model::{Keyslot, Metadata};
use super::{MAGIC, v1, v2};
use crate::VolumeError;

/// A header that was read, or that is about to be written.
pub(super) trait Header {
    /// What it says.
    fn metadata(&self) -> &Metadata;

    /// What is to be told of it beyond that: which copy was read, and what is wrong with the other.
    fn copies(&self) -> Vec<super::CopyInfo> {
        Vec::new()
    }

    /// Parts of the header that hold nothing.
    fn unused(&self) -> Vec<Range<u64>> {
        Vec::new()
    }

    /// A place for one more keyslot with so many bytes of key material: `wanted`, or the first free.
    ///
    /// # Errors
    /// [`VolumeError::Invalid`] if there is none.
    fn room(&self, wanted: Option<u32>, bytes: u64) -> Result<(u32, Extent), VolumeError>;

    /// Adds a keyslot where [`room`](Self::room) found a place, to hold a key of digest 0.
    ///
    /// # Errors
    /// [`VolumeError::Invalid`] if this version cannot express it.
    fn insert(&mut self, slot: &Keyslot) -> Result<(), VolumeError>;

    /// Takes a keyslot out.
    ///
    /// # Errors
    /// [`VolumeError::Invalid`] if there is none.
    fn remove(&mut self, id: u32) -> Result<(), VolumeError>;

    /// Writes the header so that a write which is cut off leaves the volume openable.
    ///
    /// # Errors
    /// [`VolumeError::Io`].
    fn write(&mut self, device: &dyn BlockDevice) -> Result<(), VolumeError>;
}

/// Which copy of a LUKS2 header to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The newest valid one.
    Newest,
    /// The secondary, whatever the primary says.
    Secondary,
}

/// Reads and checks the header of `device`.
///
/// # Errors
/// [`VolumeError::NotThisFormat`], [`VolumeError::Damaged`], [`VolumeError::Io`].
pub(super) fn read(device: &dyn BlockDevice, which: Which) -> Result<Box<dyn Header>, VolumeError> {
    // A primary header that cannot be read at all may still have a secondary.
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
        Some(version) => {
            Err(VolumeError::Unsupported { what: format!("LUKS version {version}"), hint: None })
        }
    }
}

const SNIFF: u64 = 512;

/// An error while doing something with the device.
pub(super) fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> VolumeError {
    move |source| VolumeError::Io { doing, source }
}

/// Random bytes from the system.
///
/// # Errors
/// [`VolumeError::Io`].
pub(super) fn random(out: &mut [u8]) -> Result<(), VolumeError> {
    getrandom::fill(out).map_err(|error| VolumeError::Io {
        doing: "getting random bytes",
        source: std::io::Error::other(error),
    })
}
