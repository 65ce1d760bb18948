//! The block device that volumes lie on and that they present: byte ranges of whole sectors.

use std::io;
use std::ops::Range;

use crate::IoTarget;

/// Something that stores sectors: a file, a disk, memory, or the plaintext of an opened volume.
///
/// Offsets and lengths count bytes and are multiples of [`sector`](Self::sector); a request outside the
/// device is an error of kind [`io::ErrorKind::InvalidInput`]. Requests may come from several threads at
/// once; what overlapping writes leave is one or the other for each sector, as on a disk.
pub trait BlockDevice: Send + Sync {
    /// Length in bytes, a multiple of [`sector`](Self::sector).
    fn size(&self) -> u64;

    /// The unit of requests, in bytes: a power of two, at least 512.
    fn sector(&self) -> usize;

    /// Whether every write is refused.
    fn is_read_only(&self) -> bool;

    /// Fills `buf` with what lies at `offset`. On an error, `buf` holds anything.
    ///
    /// # Errors
    /// What the storage below says; [`io::ErrorKind::InvalidInput`] outside the device or off its sectors.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()>;

    /// Stores `data` at `offset`; it lasts only once a later [`flush`](Self::flush) has returned.
    ///
    /// # Errors
    /// As for [`read_at`](Self::read_at); [`io::ErrorKind::PermissionDenied`] if it is read-only.
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// As [`write_at`](Self::write_at), with a buffer that the caller has no more use for: an encrypting
    /// device may encrypt it where it lies. Afterwards `data` holds anything.
    ///
    /// # Errors
    /// As for [`write_at`](Self::write_at).
    fn write_scratch(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        self.write_at(offset, data)
    }

    /// Returns once everything that was written before lies on stable storage.
    ///
    /// # Errors
    /// What the storage below says.
    fn flush(&self) -> io::Result<()>;

    /// Tells the storage below that nobody needs these bytes any more. What they read as afterwards is
    /// not defined.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where the storage cannot, which is what this default says.
    fn discard(&self, offset: u64, len: u64) -> io::Result<()> {
        let _ = (offset, len);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether what was [discarded](Self::discard) reads as zeros from then on. Never so through a cipher.
    fn discard_zeroes(&self) -> bool {
        false
    }

    /// The same bytes as a run of a file under a pure transform, if they are no more than that: then
    /// requests may go to the file directly and several at a time, without a call of this trait.
    ///
    /// A device that checks each request, or that can turn read-only, says `None`, as this default does.
    fn io_target(&self) -> Option<IoTarget> {
        None
    }
}

/// Checks a request against a device: whole sectors, inside it.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`], with the reason.
pub fn check_request(device: &dyn BlockDevice, offset: u64, len: usize) -> io::Result<()> {
    let (size, sector) = (device.size(), device.sector() as u64);
    let len = len as u64;
    if !offset.is_multiple_of(sector) || !len.is_multiple_of(sector) {
        return Err(invalid(format!("{len} bytes at {offset} are no whole {sector}-byte sectors")));
    }
    if offset.checked_add(len).is_none_or(|end| end > size) {
        return Err(invalid(format!("{len} bytes at {offset} reach beyond the end at {size}")));
    }
    Ok(())
}

/// Reads any range of bytes, through whole sectors.
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

/// Writes any range of bytes; sectors that it covers in part are read first. Not atomic: for headers,
/// which one thread writes.
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

/// Start of the first sector of `range`, and where in it the range begins.
fn around(device: &dyn BlockDevice, range: &Range<u64>) -> (u64, usize) {
    let at = range.start % device.sector() as u64;
    (range.start - at, at as usize)
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}
