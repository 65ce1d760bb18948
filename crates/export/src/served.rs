//! The device that a server serves, independently of the transport.

use rustix::io::Errno;

use crate::bytes::Bytes;
use crate::errno::errno;
use crate::stats::Counters;
use crate::stop::Stop;

/// A device and the operations permitted to its clients.
pub(crate) struct Served {
    pub(crate) bytes: Bytes,
    pub(crate) counters: Counters,
    pub(crate) read_only: bool,
}

impl Served {
    pub(crate) fn new(bytes: Bytes, read_only: bool) -> Self {
        let read_only = read_only || bytes.device().is_read_only();
        Self { bytes, counters: Counters::default(), read_only }
    }

    /// Reads into `buf`, up to the end of the device.
    pub(crate) fn read(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Errno> {
        let len = self.bytes.clip(offset, buf.len());
        self.counters.read(len);
        self.bytes.read(offset, &mut buf[..len]).map_err(|e| self.failed(&e))?;
        Ok(len)
    }

    /// Number of bytes of a write that will be stored: the bytes within the device.
    pub(crate) fn admit_write(&self, offset: u64, len: usize) -> Result<usize, Errno> {
        if self.read_only {
            return Err(Errno::ROFS);
        }
        let fits = self.bytes.clip(offset, len);
        if fits == 0 && len > 0 {
            return Err(Errno::NOSPC);
        }
        Ok(fits)
    }

    /// Writes the part of `data` that is within the device. Afterwards the contents of `data` are unspecified.
    pub(crate) fn write(&self, offset: u64, data: &mut [u8], sync: bool) -> Result<usize, Errno> {
        let len = self.admit_write(offset, data.len())?;
        self.counters.write(len);
        self.bytes.write(offset, &mut data[..len]).map_err(|e| self.failed(&e))?;
        if sync {
            self.flush()?;
        }
        Ok(len)
    }

    pub(crate) fn flush(&self) -> Result<usize, Errno> {
        self.counters.flush();
        self.bytes.flush().map_err(|e| self.failed(&e))?;
        Ok(0)
    }

    /// Makes a range read as zeros, by discarding it if `may_discard` is set and discarded ranges read as zeros.
    /// Returns soon after `stop` is raised.
    pub(crate) fn zero(
        &self,
        offset: u64,
        len: u64,
        may_discard: bool,
        stop: &Stop,
    ) -> Result<usize, Errno> {
        if self.read_only {
            return Err(Errno::ROFS);
        }
        if offset.checked_add(len).is_none_or(|end| end > self.bytes.size()) {
            return Err(Errno::NOSPC);
        }
        self.bytes.zero(offset, len, may_discard, stop).map_err(|e| self.failed(&e))?;
        Ok(0)
    }

    /// Counts an error of the device, and returns the error number for the client.
    pub(crate) fn failed(&self, error: &std::io::Error) -> Errno {
        self.counters.error();
        errno(error)
    }
}
