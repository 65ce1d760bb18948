//! Any range of bytes of a block device, for clients that do not keep to its sectors.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use cryptbench_blockdev::{AlignedBuf, BlockDevice};

use crate::stripes::{Hold, Stripes};

/// A device that takes requests at any byte.
///
/// What covers a sector only in part is read, changed and written back while nobody else writes there,
/// so that concurrent writes to parts of one sector all last.
pub(crate) struct Bytes {
    device: Arc<dyn BlockDevice>,
    stripes: Stripes,
}

impl Bytes {
    pub(crate) fn new(device: Arc<dyn BlockDevice>) -> Self {
        Self { device, stripes: Stripes::new() }
    }

    pub(crate) fn device(&self) -> &dyn BlockDevice {
        &*self.device
    }

    pub(crate) fn stripes(&self) -> &Stripes {
        &self.stripes
    }

    pub(crate) fn size(&self) -> u64 {
        self.device.size()
    }

    /// Whether a request needs no read before it.
    pub(crate) fn is_whole(&self, offset: u64, len: usize) -> bool {
        let mask = self.device.sector() as u64 - 1;
        (offset | len as u64) & mask == 0
    }

    /// How much of a request of `len` bytes at `offset` lies on the device.
    pub(crate) fn clip(&self, offset: u64, len: usize) -> usize {
        let left = self.size().saturating_sub(offset);
        usize::try_from(left).map_or(len, |left| left.min(len))
    }

    /// Fills `buf` from `offset`; the range lies on the device.
    pub(crate) fn read(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        if self.is_whole(offset, buf.len()) {
            return self.device.read_at(offset, buf);
        }
        let range = self.around(offset, buf.len());
        let mut whole = AlignedBuf::zeroed((range.end - range.start) as usize);
        self.device.read_at(range.start, &mut whole)?;
        let at = (offset - range.start) as usize;
        buf.copy_from_slice(&whole[at..at + buf.len()]);
        Ok(())
    }

    /// Stores `data` at `offset`; the range lies on the device. Afterwards `data` holds anything.
    pub(crate) fn write(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        if self.is_whole(offset, data.len()) {
            let range = offset..offset + data.len() as u64;
            self.stripes.acquire(&range, Hold::Shared);
            let done = self.device.write_scratch(offset, data);
            self.stripes.release(&range, Hold::Shared);
            return done;
        }
        let range = self.around(offset, data.len());
        self.stripes.acquire(&range, Hold::Exclusive);
        let done = self.replace(&range, offset, data);
        self.stripes.release(&range, Hold::Exclusive);
        done
    }

    /// Writes zeros over any range of bytes, through [`BlockDevice::discard`] where that leaves zeros.
    pub(crate) fn zero(&self, offset: u64, len: u64, may_discard: bool) -> io::Result<()> {
        let sector = self.device.sector() as u64;
        let end = offset + len;
        let whole = offset.next_multiple_of(sector)..end - end % sector;
        if may_discard && self.device.discard_zeroes() && whole.start < whole.end {
            match self.discard(whole.clone()) {
                Ok(()) => {
                    self.write_zeros(offset..whole.start)?;
                    return self.write_zeros(whole.end..end);
                }
                Err(e) if e.kind() == io::ErrorKind::Unsupported => {}
                Err(e) => return Err(e),
            }
        }
        self.write_zeros(offset..end)
    }

    /// Discards the whole sectors of `range`.
    pub(crate) fn discard(&self, range: Range<u64>) -> io::Result<()> {
        let sector = self.device.sector() as u64;
        let whole = range.start.next_multiple_of(sector)..range.end - range.end % sector;
        if whole.start >= whole.end {
            return Ok(());
        }
        self.stripes.acquire(&whole, Hold::Shared);
        let done = self.device.discard(whole.start, whole.end - whole.start);
        self.stripes.release(&whole, Hold::Shared);
        done
    }

    fn write_zeros(&self, range: Range<u64>) -> io::Result<()> {
        const PIECE: u64 = 1 << 20;
        if range.is_empty() {
            return Ok(());
        }
        let mut buf = AlignedBuf::zeroed((range.end - range.start).min(PIECE) as usize);
        let mut at = range.start;
        while at < range.end {
            // Pieces end at multiples of their size, so that only the first and the last are partial.
            let end = ((at / PIECE + 1) * PIECE).min(range.end);
            let piece = &mut buf[..(end - at) as usize];
            piece.fill(0);
            self.write(at, piece)?;
            at = end;
        }
        Ok(())
    }

    /// Reads the sectors at both ends of `range`, puts `data` over them and writes all of it.
    fn replace(&self, range: &Range<u64>, offset: u64, data: &[u8]) -> io::Result<()> {
        let sector = self.device.sector();
        let mut whole = AlignedBuf::zeroed((range.end - range.start) as usize);
        let last = whole.len() - sector;
        self.device.read_at(range.start, &mut whole[..sector])?;
        if last > 0 {
            self.device.read_at(range.start + last as u64, &mut whole[last..])?;
        }
        let at = (offset - range.start) as usize;
        whole[at..at + data.len()].copy_from_slice(data);
        self.device.write_scratch(range.start, &mut whole)
    }

    /// The whole sectors around a range.
    fn around(&self, offset: u64, len: usize) -> Range<u64> {
        let sector = self.device.sector() as u64;
        offset - offset % sector..(offset + len as u64).next_multiple_of(sector)
    }
}

#[cfg(test)]
mod tests {
    use cryptbench_blockdev::MemoryDevice;

    use super::*;

    #[test]
    fn parts_of_sectors_are_zeroed_and_the_rest_stays() {
        let device = Arc::new(MemoryDevice::new(vec![7; 4096]));
        let bytes = Bytes::new(Arc::clone(&device) as Arc<dyn BlockDevice>);
        for (range, may_discard) in [(100..200, true), (500..2000, true), (2100..2600, false)] {
            bytes.zero(range.start, range.end - range.start, may_discard).unwrap();
        }
        let is_zero = |i: &usize| {
            (100..200).contains(i) || (500..2000).contains(i) || (2100..2600).contains(i)
        };
        for (i, &byte) in device.contents().iter().enumerate() {
            assert_eq!(byte, if is_zero(&i) { 0 } else { 7 }, "byte {i}");
        }
    }
}
