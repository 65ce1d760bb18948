//! A part of a device as a separate device: a partition, or the part after an offset.

use std::io;
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, Extent, IoTarget, check_request};

use crate::VolumeError;

/// A part of a device.
pub struct Part {
    device: Arc<dyn BlockDevice>,
    extent: Extent,
    /// Whether the part includes everything after its offset.
    to_end: bool,
}

impl Part {
    /// The bytes of `extent`, or all bytes from its offset on if its length is `None`.
    ///
    /// # Errors
    /// [`VolumeError::Invalid`] if it is empty, does not begin on a sector boundary, or extends beyond the end.
    pub fn new(
        device: Arc<dyn BlockDevice>,
        offset: u64,
        len: Option<u64>,
    ) -> Result<Self, VolumeError> {
        let (size, sector) = (device.size(), device.sector() as u64);
        let left = size.saturating_sub(offset);
        let (to_end, len) = (len.is_none(), len.unwrap_or(left));
        let whole = len - len % sector;
        let invalid = |reason: String| Err(VolumeError::Invalid(reason));
        if !offset.is_multiple_of(sector) {
            return invalid(format!("the offset {offset} is not a multiple of {sector} bytes"));
        }
        if whole == 0 || len > left {
            return invalid(format!(
                "{len} bytes from byte {offset} on do not fit into {size} bytes"
            ));
        }
        Ok(Self { device, extent: Extent { offset, len: whole }, to_end })
    }
}

impl BlockDevice for Part {
    fn size(&self) -> u64 {
        self.extent.len
    }

    fn sector(&self) -> usize {
        self.device.sector()
    }

    fn rest(&self) -> Vec<u8> {
        if self.to_end { self.device.rest() } else { Vec::new() }
    }

    fn is_read_only(&self) -> bool {
        self.device.is_read_only()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        check_request(self, offset, buf.len())?;
        self.device.read_at(self.extent.offset + offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        check_request(self, offset, data.len())?;
        self.device.write_at(self.extent.offset + offset, data)
    }

    fn write_scratch(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        check_request(self, offset, data.len())?;
        self.device.write_scratch(self.extent.offset + offset, data)
    }

    fn flush(&self) -> io::Result<()> {
        self.device.flush()
    }

    fn discard(&self, offset: u64, len: u64) -> io::Result<()> {
        check_request(self, offset, usize::try_from(len).map_err(io::Error::other)?)?;
        self.device.discard(self.extent.offset + offset, len)
    }

    fn discard_zeroes(&self) -> bool {
        self.device.discard_zeroes()
    }

    fn io_target(&self) -> Option<IoTarget> {
        let below = self.device.io_target()?;
        let offset = below.extent.offset + self.extent.offset;
        Some(IoTarget { extent: Extent { offset, len: self.extent.len }, ..below })
    }
}

#[cfg(test)]
mod tests {
    use cryptbench_blockdev::MemoryDevice;

    use super::*;

    #[test]
    fn a_part_has_whole_sectors_and_at_least_one() {
        let device: Arc<dyn BlockDevice> = Arc::new(MemoryDevice::new(vec![0; 4 * 512]));
        let size =
            |offset, len| Part::new(Arc::clone(&device), offset, len).map(|part| part.size());
        assert_eq!(size(512, None).unwrap(), 3 * 512);
        assert_eq!(size(512, Some(1100)).unwrap(), 2 * 512);
        for (offset, len) in [(100, None), (2048, None), (512, Some(511)), (512, Some(3 * 512 + 1))]
        {
            assert!(size(offset, len).is_err(), "{offset} {len:?}");
        }
    }
}
