//! A block device in memory, for tests and for headers saved to a file.

use std::io;
use std::sync::{PoisonError, RwLock};

use crate::device::{BlockDevice, check_request};

/// A device with 512-byte sectors in memory.
pub struct MemoryDevice {
    bytes: RwLock<Vec<u8>>,
    size: u64,
}

impl MemoryDevice {
    /// A device that holds `bytes`, zero-filled to a whole number of sectors.
    pub fn new(mut bytes: Vec<u8>) -> Self {
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        Self { size: bytes.len() as u64, bytes: RwLock::new(bytes) }
    }

    /// A copy of the device's contents.
    pub fn contents(&self) -> Vec<u8> {
        self.bytes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl BlockDevice for MemoryDevice {
    fn size(&self) -> u64 {
        self.size
    }

    fn sector(&self) -> usize {
        512
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        check_request(self, offset, buf.len())?;
        let bytes = self.bytes.read().unwrap_or_else(PoisonError::into_inner);
        buf.copy_from_slice(&bytes[offset as usize..][..buf.len()]);
        Ok(())
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        check_request(self, offset, data.len())?;
        let mut bytes = self.bytes.write().unwrap_or_else(PoisonError::into_inner);
        bytes[offset as usize..][..data.len()].copy_from_slice(data);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, offset: u64, len: u64) -> io::Result<()> {
        let len = usize::try_from(len).map_err(io::Error::other)?;
        check_request(self, offset, len)?;
        let mut bytes = self.bytes.write().unwrap_or_else(PoisonError::into_inner);
        bytes[offset as usize..][..len].fill(0);
        Ok(())
    }

    fn discard_zeroes(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{read_bytes, write_bytes};

    #[test]
    fn any_range_is_read_and_written_through_whole_sectors() {
        let device = MemoryDevice::new((0..2048u32).map(|i| i as u8).collect());
        write_bytes(&device, 510, &[7; 600]).unwrap();
        let bytes = device.contents();
        assert_eq!(bytes[509], 509u32 as u8);
        assert_eq!(bytes[510..1110], [7; 600]);
        assert_eq!(bytes[1110], 1110u32 as u8);
        assert_eq!(read_bytes(&device, 509..1111).unwrap(), bytes[509..1111]);
        assert!(write_bytes(&device, 2047, &[0; 2]).is_err());
        assert!(device.read_at(3, &mut [0; 512]).is_err());
        assert!(device.read_at(u64::MAX - 511, &mut [0; 512]).is_err());
    }
}
