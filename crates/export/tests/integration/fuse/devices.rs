//! Devices to serve: ordinary, enciphering, and failing ones.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cryptbench_blockdev::{
    BlockDevice, FileDevice, IoMode, IoTarget, MemoryDevice, SectorTransform, check_request,
};

/// A file of `size` bytes, with direct I/O where there is any.
pub fn file_device(directory: &Path, size: u64) -> Arc<FileDevice> {
    let path = directory.join("backing");
    std::fs::File::create(&path).unwrap().set_len(size).unwrap();
    let direct = FileDevice::open(&path, IoMode::Direct, false);
    Arc::new(direct.or_else(|_| FileDevice::open(&path, IoMode::Buffered, false)).unwrap())
}

/// Adds to each byte a number that depends on its place, so that data that was taken for another
/// place's, or that missed the cipher, shows.
pub struct Shift {
    pub unit: usize,
}

impl Shift {
    fn key(offset: u64, i: usize) -> u8 {
        let at = offset + i as u64;
        (at / 512).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(8) as u8 ^ at as u8 | 1
    }
}

impl SectorTransform for Shift {
    fn unit(&self) -> usize {
        self.unit
    }

    fn seal(&self, offset: u64, plain: &[u8], stored: &mut [u8]) {
        stored.copy_from_slice(plain);
        self.seal_in_place(offset, stored);
    }

    fn seal_in_place(&self, offset: u64, data: &mut [u8]) {
        for (i, byte) in data.iter_mut().enumerate() {
            *byte = byte.wrapping_add(Self::key(offset, i));
        }
    }

    fn open(&self, offset: u64, data: &mut [u8]) {
        for (i, byte) in data.iter_mut().enumerate() {
            *byte = byte.wrapping_sub(Self::key(offset, i));
        }
    }
}

/// Part of a file under [`Shift`], as an opened volume is.
pub struct Shifted {
    pub below: Arc<FileDevice>,
    pub shift: Arc<Shift>,
    pub start: u64,
    pub len: u64,
}

impl BlockDevice for Shifted {
    fn size(&self) -> u64 {
        self.len
    }

    fn sector(&self) -> usize {
        self.shift.unit
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        check_request(self, offset, buf.len())?;
        self.below.read_at(self.start + offset, buf)?;
        self.shift.open(offset, buf);
        Ok(())
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        check_request(self, offset, data.len())?;
        let mut stored = data.to_vec();
        self.shift.seal_in_place(offset, &mut stored);
        self.below.write_at(self.start + offset, &stored)
    }

    fn flush(&self) -> io::Result<()> {
        self.below.flush()
    }

    fn io_target(&self) -> Option<IoTarget> {
        let mut io_target = self.below.io_target()?;
        io_target.extent.offset += self.start;
        io_target.extent.len = self.len;
        io_target.transform = Some(Arc::clone(&self.shift) as Arc<dyn SectorTransform>);
        Some(io_target)
    }
}

/// Memory whose sectors from `bad_from` on fail, and which counts its flushes.
pub struct Failing {
    pub memory: MemoryDevice,
    pub bad_from: u64,
    pub error: i32,
    pub flushes: AtomicU64,
    /// Flushes from this one on fail.
    pub bad_flush: u64,
}

impl Failing {
    pub fn new(size: usize, bad_from: u64, error: i32) -> Self {
        let memory = MemoryDevice::new(vec![0; size]);
        Self { memory, bad_from, error, flushes: AtomicU64::new(0), bad_flush: u64::MAX }
    }

    fn check(&self, offset: u64, len: usize) -> io::Result<()> {
        if offset + len as u64 > self.bad_from {
            return Err(io::Error::from_raw_os_error(self.error));
        }
        Ok(())
    }
}

impl BlockDevice for Failing {
    fn size(&self) -> u64 {
        self.memory.size()
    }

    fn sector(&self) -> usize {
        self.memory.sector()
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.check(offset, buf.len())?;
        self.memory.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check(offset, data.len())?;
        self.memory.write_at(offset, data)
    }

    fn flush(&self) -> io::Result<()> {
        if self.flushes.fetch_add(1, Ordering::SeqCst) >= self.bad_flush {
            return Err(io::Error::from_raw_os_error(self.error));
        }
        Ok(())
    }
}

/// Memory that takes its time for each request, and counts those under way.
pub struct Slow {
    pub memory: MemoryDevice,
    pub time: Duration,
    pub under_way: AtomicU64,
}

impl Slow {
    fn wait(&self) {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(self.time);
        self.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

impl BlockDevice for Slow {
    fn size(&self) -> u64 {
        self.memory.size()
    }

    fn sector(&self) -> usize {
        self.memory.sector()
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.wait();
        self.memory.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.wait();
        self.memory.write_at(offset, data)
    }

    fn flush(&self) -> io::Result<()> {
        self.wait();
        Ok(())
    }
}

/// A [`Shifted`] whose code is broken: calls for its sectors from `bad_from` on panic, and so does the
/// transform of its I/O target where `in_transform` is set.
pub struct Broken {
    pub inner: Shifted,
    pub bad_from: u64,
    pub in_transform: bool,
}

/// The transform of a [`Broken`] device.
struct BrokenShift(Arc<Shift>, u64);

impl SectorTransform for BrokenShift {
    fn unit(&self) -> usize {
        self.0.unit
    }

    fn seal(&self, offset: u64, plain: &[u8], stored: &mut [u8]) {
        stored.copy_from_slice(plain);
        self.seal_in_place(offset, stored);
    }

    fn seal_in_place(&self, offset: u64, data: &mut [u8]) {
        assert!(offset < self.1, "broken, as the test wants it");
        self.0.seal_in_place(offset, data);
    }

    fn open(&self, offset: u64, data: &mut [u8]) {
        assert!(offset < self.1, "broken, as the test wants it");
        self.0.open(offset, data);
    }
}

impl BlockDevice for Broken {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn sector(&self) -> usize {
        self.inner.sector()
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        assert!(offset < self.bad_from, "broken, as the test wants it");
        self.inner.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        assert!(offset < self.bad_from, "broken, as the test wants it");
        self.inner.write_at(offset, data)
    }

    fn flush(&self) -> io::Result<()> {
        self.inner.flush()
    }

    fn io_target(&self) -> Option<IoTarget> {
        let mut io_target = self.inner.io_target()?;
        if self.in_transform {
            let broken = BrokenShift(Arc::clone(&self.inner.shift), self.bad_from);
            io_target.transform = Some(Arc::new(broken));
        }
        Some(io_target)
    }
}
