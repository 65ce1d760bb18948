//! Addresses and checksums in the metadata.

use crate::bytes::{u32_at, u64_at};
use crate::crc32::crc32c;

/// An address on a physical volume: the block and, in the upper 16 bits, the number of the physical volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub block: u64,
    pub volume: u16,
}

impl Place {
    pub(super) fn at(bytes: &[u8], at: usize) -> Option<Self> {
        let number = u64_at(bytes, at)?;
        Some(Self { block: number & 0xffff_ffff_ffff, volume: (number >> 48) as u16 })
    }
}

/// Whether the checksum and its initial register, both at the start of a block, match the rest of the block.
pub(super) fn is_whole(block: &[u8]) -> bool {
    let register = u32_at(block, 4);
    let rest = block.get(8..).unwrap_or_default();
    register == Some(u32::MAX) && u32_at(block, 0) == Some(crc32c(u32::MAX, rest))
}
