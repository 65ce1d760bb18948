//! The header of a physical volume: its first 512 bytes, and a copy in its last 512 bytes.

use cryptbench_blockdev::{BlockDevice, read_bytes};

use super::bytes::is_whole;
use super::uuid::Uuid;
use super::{FORMAT, KEY, MACOS, SECTOR, cannot_open, damaged};
use crate::VolumeError;
use crate::bytes::{array_at, u16_at, u32_at, u64_at};

/// Bytes of the header.
pub(super) const BYTES: u64 = 512;

/// Maximum sizes of a block and of the metadata, in bytes; macOS uses 4 KiB and 4 MiB.
const MOST_BLOCK: u32 = 1 << 20;
const MOST_METADATA: u32 = 64 << 20;

/// Maximum number of copies of the metadata: the header has room for this many.
const MOST_COPIES: usize = 8;

/// The content of the header.
#[derive(Debug)]
pub(super) struct Header {
    /// Size of the physical volume in bytes; a truncated copy is smaller.
    pub size: u64,
    /// Bytes of a block.
    pub block: u64,
    /// Offset of each copy of the unencrypted metadata.
    pub labels: Vec<u64>,
    /// Size of such a copy in bytes.
    pub label_bytes: u64,
    /// Half of the key of the encrypted metadata; the identifier is the other half.
    pub key: [u8; KEY],
    pub id: Uuid,
    pub group: Uuid,
    /// The defect of the header at the start of the volume, if any.
    pub problem: Option<String>,
}

impl Header {
    /// The size of `blocks` blocks in bytes.
    pub(super) fn bytes_of(&self, blocks: u64) -> Result<u64, VolumeError> {
        let bytes = blocks.checked_mul(self.block);
        bytes.ok_or_else(|| damaged(format!("block number {blocks} is too large")))
    }

    /// Reads the header at the start, or its copy at the end.
    pub(super) fn read(device: &dyn BlockDevice) -> Result<Self, VolumeError> {
        let not_this = |reason: String| VolumeError::NotThisFormat { format: FORMAT, reason };
        let Some(last) = device.size().checked_sub(BYTES) else {
            return Err(not_this("it is shorter than a header".to_owned()));
        };
        let read = |at: u64| {
            let bytes = read_bytes(device, at..at + BYTES);
            bytes.map_err(VolumeError::io("reading the header of the physical volume"))
        };
        let first = read(0)?;
        let Some(problem) = problem(&first) else { return Self::parse(&first) };
        let copy = read(last)?;
        if self::problem(&copy).is_none() {
            let problem = Some(problem.to_owned());
            return Ok(Self { problem, ..Self::parse(&copy)? });
        }
        Err(match signed(&first) {
            true => damaged(format!(
                "{problem} in the physical volume's header, and its copy is not valid either"
            )),
            false => not_this("it has no CoreStorage header".to_owned()),
        })
    }

    fn parse(bytes: &[u8]) -> Result<Self, VolumeError> {
        let cut = || damaged("the header is truncated");
        let sector = u32_at(bytes, 48).ok_or_else(cut)?;
        let block = u32_at(bytes, 96).ok_or_else(cut)?;
        let label_bytes = u32_at(bytes, 100).ok_or_else(cut)?;
        let copies = usize::from(u16_at(bytes, 94).ok_or_else(cut)?).min(MOST_COPIES);
        let (key_bytes, method) = (u32_at(bytes, 168), u32_at(bytes, 172));
        if !block.is_power_of_two() || !(SECTOR as u32..=MOST_BLOCK).contains(&block) {
            return Err(damaged(format!("its block size is invalid: {block} bytes")));
        }
        if !(super::objects::BLOCK as u32..=MOST_METADATA).contains(&label_bytes) {
            return Err(damaged(format!("its metadata has an invalid size: {label_bytes} bytes")));
        }
        let what = "this CoreStorage volume";
        if (key_bytes, method) != (Some(KEY as u32), Some(2)) {
            let why = format!("its encryption method {} is unknown", method.unwrap_or(0));
            return Err(cannot_open(what, why, MACOS));
        }
        if u64::from(sector) != SECTOR {
            let why = format!("its encryption in {sector}-byte sectors is not documented");
            return Err(cannot_open(what, why, MACOS));
        }
        let mut header = Self {
            size: u64_at(bytes, 64).ok_or_else(cut)?,
            block: block.into(),
            labels: Vec::new(),
            label_bytes: label_bytes.into(),
            key: array_at(bytes, 176).ok_or_else(cut)?,
            id: Uuid(array_at(bytes, 304).ok_or_else(cut)?),
            group: Uuid(array_at(bytes, 320).ok_or_else(cut)?),
            problem: None,
        };
        for index in 0..copies {
            match u64_at(bytes, 104 + 8 * index).ok_or_else(cut)? {
                0 => {}
                number => header.labels.push(header.bytes_of(number)?),
            }
        }
        Ok(header)
    }
}

/// Whether the version, the block type and the signature are right.
fn signed(bytes: &[u8]) -> bool {
    bytes.get(8..12) == Some(&[1, 0, 0x10, 0]) && bytes.get(88..90) == Some(b"CS")
}

/// Why these bytes are not a header.
fn problem(bytes: &[u8]) -> Option<&'static str> {
    if !signed(bytes) {
        return Some("the signature is wrong");
    }
    // The type of the checksum: CRC-32C.
    if u32_at(bytes, 90) != Some(1) {
        return Some("the checksum type is unknown");
    }
    (!is_whole(bytes)).then_some("the checksum is wrong")
}
