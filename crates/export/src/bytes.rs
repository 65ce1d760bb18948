//! Access to arbitrary byte ranges of a block device, for clients that ignore its sectors.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_blockdev::{AlignedBuf, BlockDevice};
use rustix::io::Errno;

use crate::stop::Stop;
use crate::stripes::{Hold, Stripes};

/// A device that accepts requests at any byte offset.
///
/// A partly covered sector is read, changed and written back while no other request writes to it, so that no concurrent
/// write to another part of the sector is lost.
pub(crate) struct Bytes {
    device: Arc<dyn BlockDevice>,
    stripes: Stripes,
    flush_failed: AtomicBool,
}

impl Bytes {
    pub(crate) fn new(device: Arc<dyn BlockDevice>) -> Self {
        Self { device, stripes: Stripes::new(), flush_failed: AtomicBool::new(false) }
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

    /// Whether a request covers whole sectors, so that no sector need be read first.
    pub(crate) fn is_whole(&self, offset: u64, len: usize) -> bool {
        let mask = self.device.sector() as u64 - 1;
        (offset | len as u64) & mask == 0
    }

    /// The length of the part that is on the device, for a request of `len` bytes at `offset`.
    pub(crate) fn clip(&self, offset: u64, len: usize) -> usize {
        let left = self.size().saturating_sub(offset);
        usize::try_from(left).map_or(len, |left| left.min(len))
    }

    /// Fills `buf` from `offset`; the range must be on the device.
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

    /// Writes `data` at `offset`; the range must be on the device. Afterwards the contents of `data` are
    /// unspecified.
    pub(crate) fn write(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        if self.is_whole(offset, data.len()) {
            let range = offset..offset + data.len() as u64;
            let _held = self.stripes.hold(&range, Hold::Shared);
            return self.device.write_scratch(offset, data);
        }
        let range = self.around(offset, data.len());
        let _held = self.stripes.hold(&range, Hold::Exclusive);
        self.replace(&range, offset, data)
    }

    /// Flushes earlier writes to stable storage. After one failure all later flushes fail as well, because the
    /// operating system reports lost writes only once (`errseq_t` in the kernel's lib/errseq.c), and the lost data
    /// may belong to any client.
    pub(crate) fn flush(&self) -> io::Result<()> {
        if self.flush_failed() {
            return Err(io::Error::other("an earlier flush has failed"));
        }
        self.device.flush().inspect_err(|_| self.note_failed_flush())
    }

    /// Whether a flush has failed before.
    pub(crate) fn flush_failed(&self) -> bool {
        self.flush_failed.load(Ordering::Acquire)
    }

    /// Makes all later flushes fail. This is for callers that flush the device themselves.
    pub(crate) fn note_failed_flush(&self) {
        self.flush_failed.store(true, Ordering::Release);
    }

    /// Writes zeros to any byte range. Uses [`BlockDevice::discard`] if discarded ranges read as zeros. Fails soon
    /// after `stop` is raised, because the range can be the whole device.
    pub(crate) fn zero(
        &self,
        offset: u64,
        len: u64,
        may_discard: bool,
        stop: &Stop,
    ) -> io::Result<()> {
        let sector = self.device.sector() as u64;
        let end = offset + len;
        let whole = offset.next_multiple_of(sector)..end - end % sector;
        if may_discard && self.device.discard_zeroes() && whole.start < whole.end {
            match self.discard(whole.clone()) {
                Ok(()) => {
                    self.write_zeros(offset..whole.start, stop)?;
                    return self.write_zeros(whole.end..end, stop);
                }
                Err(e) if e.kind() == io::ErrorKind::Unsupported => {}
                Err(e) => return Err(e),
            }
        }
        self.write_zeros(offset..end, stop)
    }

    /// Discards the whole sectors of `range`.
    pub(crate) fn discard(&self, range: Range<u64>) -> io::Result<()> {
        let sector = self.device.sector() as u64;
        let whole = range.start.next_multiple_of(sector)..range.end - range.end % sector;
        if whole.start >= whole.end {
            return Ok(());
        }
        let _held = self.stripes.hold(&whole, Hold::Shared);
        self.device.discard(whole.start, whole.end - whole.start)
    }

    fn write_zeros(&self, range: Range<u64>, stop: &Stop) -> io::Result<()> {
        const PIECE: u64 = 1 << 20;
        if range.is_empty() {
            return Ok(());
        }
        let mut buf = AlignedBuf::zeroed((range.end - range.start).min(PIECE) as usize);
        let mut at = range.start;
        while at < range.end {
            if stop.is_raised() {
                return Err(Errno::SHUTDOWN.into());
            }
            // Pieces end at multiples of their size, so only the first and the last piece are partial.
            let end = ((at / PIECE + 1) * PIECE).min(range.end);
            let piece = &mut buf[..(end - at) as usize];
            piece.fill(0);
            self.write(at, piece)?;
            at = end;
        }
        Ok(())
    }

    /// Reads the sectors at both ends of `range`, inserts `data` and writes the whole range.
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

    /// The byte range of the whole sectors that contain a range.
    fn around(&self, offset: u64, len: usize) -> Range<u64> {
        let sector = self.device.sector() as u64;
        offset - offset % sector..(offset + len as u64).next_multiple_of(sector)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use cryptbench_blockdev::MemoryDevice;

    use super::*;

    #[test]
    fn parts_of_sectors_are_zeroed_and_the_rest_stays() {
        let device = Arc::new(MemoryDevice::new(vec![7; 4096]));
        let bytes = Bytes::new(Arc::clone(&device) as Arc<dyn BlockDevice>);
        let stop = Stop::new().unwrap();
        for (range, may_discard) in [(100..200, true), (500..2000, true), (2100..2600, false)] {
            bytes.zero(range.start, range.end - range.start, may_discard, &stop).unwrap();
        }
        let is_zero = |i: &usize| {
            (100..200).contains(i) || (500..2000).contains(i) || (2100..2600).contains(i)
        };
        for (i, &byte) in device.contents().iter().enumerate() {
            assert_eq!(byte, if is_zero(&i) { 0 } else { 7 }, "byte {i}");
        }
    }

    /// Memory that counts its writes, raises a stop in the second one, and panics when told to.
    struct Watched {
        memory: MemoryDevice,
        stop: Arc<Stop>,
        writes: AtomicU64,
        panics_at: u64,
    }

    impl BlockDevice for Watched {
        fn size(&self) -> u64 {
            self.memory.size()
        }

        fn sector(&self) -> usize {
            512
        }

        fn is_read_only(&self) -> bool {
            false
        }

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
            self.memory.read_at(offset, buf)
        }

        fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            assert!(offset != self.panics_at, "as the test wants it");
            if self.writes.fetch_add(1, Ordering::Relaxed) == 1 {
                self.stop.raise();
            }
            self.memory.write_at(offset, data)
        }

        fn flush(&self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    fn watched(panics_at: u64) -> (Arc<Watched>, Bytes) {
        let device = Arc::new(Watched {
            memory: MemoryDevice::new(vec![7; 8 << 20]),
            stop: Arc::new(Stop::new().unwrap()),
            writes: AtomicU64::new(0),
            panics_at,
        });
        let bytes = Bytes::new(Arc::clone(&device) as Arc<dyn BlockDevice>);
        (device, bytes)
    }

    #[test]
    fn a_stop_ends_the_zeroing_of_a_long_range() {
        let (device, bytes) = watched(u64::MAX);
        let ended = bytes.zero(100, 7 << 20, false, &device.stop).unwrap_err();
        assert_eq!(ended.raw_os_error(), Some(Errno::SHUTDOWN.raw_os_error()));
        assert_eq!(device.writes.load(Ordering::Relaxed), 2, "the piece in hand was its last");
    }

    #[test]
    fn a_panic_gives_back_what_it_held() {
        let (device, bytes) = watched(512);
        for data in [512..1024, 600..700] {
            let write =
                || bytes.write(data.start, &mut vec![1; data.end as usize - data.start as usize]);
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(write)).is_err());
        }
        // Both would wait for ever.
        bytes.write(0, &mut [2; 512]).unwrap();
        bytes.write(10, &mut [3; 5]).unwrap();
        assert_eq!(
            device.memory.contents()[..17],
            *b"\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x03\x03\x03\x03\x03\x02\x02"
        );
    }

    #[test]
    fn a_flush_that_failed_fails_for_good() {
        let (_, bytes) = watched(u64::MAX);
        assert_eq!(bytes.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        // Later callers have also written before: reported as an error of the storage.
        assert_eq!(crate::errno::errno(&bytes.flush().unwrap_err()), Errno::IO);
        assert!(bytes.flush_failed());
    }
}
