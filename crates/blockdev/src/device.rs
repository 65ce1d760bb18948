//! The block device interface, for volumes and for the devices that contain them: byte ranges of whole sectors.

use std::io;
use std::ops::Range;

use crate::IoTarget;

/// Storage consisting of sectors: a file, a disk, memory, or the plaintext of an opened volume.
///
/// Offsets and lengths are in bytes and must be multiples of [`sector`](Self::sector). A request outside the device
/// fails with [`io::ErrorKind::InvalidInput`]. Several threads may send requests concurrently; after overlapping
/// writes, each sector holds the data of one of these writes, as on a disk.
pub trait BlockDevice: Send + Sync {
    /// Length in bytes, a multiple of [`sector`](Self::sector).
    fn size(&self) -> u64;

    /// The granularity of requests in bytes: a power of two, at least 512.
    fn sector(&self) -> usize;

    /// The bytes after the last whole sector. Only files can have such bytes; disk images from some programs end with a
    /// partial sector.
    fn rest(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Whether the device refuses every write.
    fn is_read_only(&self) -> bool;

    /// Reads into `buf` from `offset`. After an error the contents of `buf` are unspecified.
    ///
    /// # Errors
    /// The error of the underlying storage; [`io::ErrorKind::InvalidInput`] if the range is outside the device
    /// or is not aligned to sectors.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()>;

    /// Writes `data` at `offset`. The write is durable only after a later [`flush`](Self::flush)
    /// has returned.
    ///
    /// # Errors
    /// As for [`read_at`](Self::read_at); [`io::ErrorKind::PermissionDenied`] if the device is
    /// read-only.
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// Like [`write_at`](Self::write_at), with a buffer whose contents the caller no longer needs, so that an
    /// encrypting device can encrypt the data in place. Afterwards the contents of `data` are unspecified.
    ///
    /// # Errors
    /// As for [`write_at`](Self::write_at).
    fn write_scratch(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        self.write_at(offset, data)
    }

    /// Returns once all earlier writes are on stable storage.
    ///
    /// # Errors
    /// The error of the underlying storage.
    fn flush(&self) -> io::Result<()>;

    /// Informs the underlying storage that these bytes are no longer needed. Later reads of these bytes return
    /// unspecified data.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if the storage cannot discard; this default implementation always
    /// returns that error.
    fn discard(&self, offset: u64, len: u64) -> io::Result<()> {
        let _ = (offset, len);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether [discarded](Self::discard) ranges read as zeros afterwards. Never true through a cipher.
    fn discard_zeroes(&self) -> bool {
        false
    }

    /// This device's bytes as a range of a file under a pure transform, if the device is nothing more than such a
    /// range. Requests may then access the file directly and concurrently, without this trait.
    ///
    /// A device that checks each request, or that can become read-only, must return `None`, as this default
    /// implementation does.
    fn io_target(&self) -> Option<IoTarget> {
        None
    }
}

/// Checks that a request covers whole sectors inside the device.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] with the reason.
pub fn check_request(device: &dyn BlockDevice, offset: u64, len: usize) -> io::Result<()> {
    let (size, sector) = (device.size(), device.sector() as u64);
    let len = len as u64;
    if !offset.is_multiple_of(sector) || !len.is_multiple_of(sector) {
        return Err(invalid(format!(
            "{len} bytes at {offset} are not whole {sector}-byte sectors"
        )));
    }
    if offset.checked_add(len).is_none_or(|end| end > size) {
        return Err(invalid(format!("{len} bytes at {offset} reach beyond the end at {size}")));
    }
    Ok(())
}

/// Reads any byte range by reading whole sectors.
///
/// # Errors
/// As for [`BlockDevice::read_at`].
pub fn read_bytes(device: &dyn BlockDevice, range: Range<u64>) -> io::Result<Vec<u8>> {
    let (sectors, at) = around(device, &range);
    let mut data =
        vec![0; at + usize::try_from(range.end - range.start).map_err(io::Error::other)?];
    data.resize(data.len().next_multiple_of(device.sector()), 0);
    device.read_at(sectors, &mut data)?;
    data.drain(..at);
    data.truncate((range.end - range.start) as usize);
    Ok(data)
}

/// Writes any byte range; reads partly covered sectors first. Not atomic: intended for headers, which are written by
/// only one thread.
///
/// # Errors
/// As for [`BlockDevice::write_at`].
pub fn write_bytes(device: &dyn BlockDevice, offset: u64, data: &[u8]) -> io::Result<()> {
    let (sectors, at) = around(device, &(offset..offset + data.len() as u64));
    let whole = (at + data.len()).next_multiple_of(device.sector());
    let mut buf = read_bytes(device, sectors..sectors + whole as u64)?;
    buf[at..at + data.len()].copy_from_slice(data);
    device.write_at(sectors, &buf)
}

/// Start of the first sector of `range`, and the offset of the range within it.
fn around(device: &dyn BlockDevice, range: &Range<u64>) -> (u64, usize) {
    let at = range.start % device.sector() as u64;
    (range.start - at, at as usize)
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}
