//! Reads an extent and verifies it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cryptbench_blockdev::{AlignedBuf, IoMode, IoTarget};
use cryptbench_os::files;

use super::judge::Judge;
use super::{Acknowledged, Verification};
use crate::job::check_range;
use crate::{LoadError, MAX_BLOCK_SIZE, Operation};

/// Number of bytes per read; at least one unit.
const READ: u64 = 1 << 20;

impl Acknowledged {
    /// Reads every unit through the I/O target's inline layer and compares it with the acknowledged writes.
    ///
    /// On a buffered I/O target, the kernel is first advised to drop the page cache, but it may ignore this advice.
    /// With direct I/O, the data is certain to come from the device. Calls `progress` with the number of bytes read so
    /// far.
    ///
    /// # Errors
    /// [`LoadError::Io`] and [`LoadError::Short`] if reading fails; [`LoadError::Interrupted`] if `stop` is set;
    /// [`LoadError::BlockNotUnits`] if [`unit`](Self::unit) is not a multiple of the inline layer's data unit.
    pub fn verify(
        &self,
        io_target: &IoTarget,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Verification, LoadError> {
        check_range(io_target)?;
        let unit = self.unit();
        if let Some(transform) = &io_target.transform
            && !unit.is_multiple_of(transform.unit() as u64)
        {
            return Err(LoadError::BlockNotUnits {
                block_size: unit,
                unit: transform.unit() as u64,
            });
        }
        if unit > MAX_BLOCK_SIZE {
            return Err(LoadError::BlockSize { block_size: unit });
        }
        let len = self.len().min(io_target.extent.len / unit * unit);
        let chunk = (READ / unit).max(1) * unit;
        let mut buffer = AlignedBuf::zeroed(chunk as usize);
        let mut second = AlignedBuf::zeroed(unit as usize);
        let judge = Judge { writers: self.writers() };
        let mut found = Verification::default();
        let mut at = 0;
        while at < len {
            if stop.load(Relaxed) {
                return Err(LoadError::Interrupted);
            }
            let data = &mut buffer[..chunk.min(len - at) as usize];
            read(io_target, at, data)?;
            for (i, data) in data.chunks(unit as usize).enumerate() {
                let offset = at + i as u64 * unit;
                let Some(history) = self.history(offset / unit) else {
                    judge.unwritten(data, offset, &mut found);
                    continue;
                };
                let again = if judge.is_outdated(data, offset, history) {
                    read(io_target, offset, &mut second)?;
                    Some(&*second)
                } else {
                    None
                };
                judge.written(data, again, offset, history, &mut found);
            }
            at += data.len() as u64;
            progress(at);
        }
        Ok(found)
    }
}

/// Reads from the device and decrypts the data.
fn read(io_target: &IoTarget, offset: u64, data: &mut [u8]) -> Result<(), LoadError> {
    let (operation, len) = (Operation::Read, data.len() as u32);
    let at = io_target.extent.offset + offset;
    if io_target.mode == IoMode::Buffered {
        // This is only advice: if the kernel ignores it, the contents of the cache are verified.
        files::forget_range(&io_target.file, at, len.into());
    }
    let mut done = 0;
    while done < data.len() {
        match files::read_at(&io_target.file, &mut data[done..], at + done as u64) {
            Ok(0) => {
                return Err(LoadError::Short { operation, offset, wanted: len, got: done as u32 });
            }
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(LoadError::Io { operation, offset, len, source }),
        }
    }
    if let Some(transform) = &io_target.transform {
        transform.open(offset, data);
    }
    Ok(())
}
