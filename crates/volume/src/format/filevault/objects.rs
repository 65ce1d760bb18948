//! The encrypted metadata: 8 KiB blocks, each with the state of an object after a transaction.

use std::collections::BTreeMap;

use cryptbench_blockdev::{BlockDevice, read_bytes};
use cryptbench_cipher::{Layout, Tier, dm_crypt};

use super::bytes::is_whole;
use super::header::Header;
use super::{CIPHER, damaged};
use crate::VolumeError;
use crate::bytes::{u16_at, u64_at};

/// Size of a metadata block in bytes.
pub(super) const BLOCK: u64 = 8192;
/// Offset of a block's contents, after its header.
const DATA: usize = 64;
/// Number of blocks read per request.
const BATCH: u64 = 64;
/// Maximum size of the encrypted metadata in bytes; a larger value is treated as damage. macOS uses 24 MiB.
const MOST: u64 = 64 << 20;
/// The start of a block whose contents were wiped.
const WIPED: &[u8] = b"LVFwiped";

/// Kinds of objects.
pub(super) mod kind {
    /// A family of logical volumes: names and values, with the keys.
    pub const FAMILY: u16 = 0x19;
    /// A logical volume.
    pub const LOGICAL: u16 = 0x1a;
    /// The continuation of another object.
    pub const MORE: u16 = 0x24;
    /// The families in use.
    pub const FAMILIES: u16 = 0x105;
    /// The location of a logical volume's data.
    pub const SEGMENTS: u16 = 0x305;
    /// The origin to which the addresses of its segments are relative.
    pub const BASE: u16 = 0x505;
}

const KEPT: [u16; 6] =
    [kind::FAMILY, kind::LOGICAL, kind::MORE, kind::FAMILIES, kind::SEGMENTS, kind::BASE];

/// The latest state of an object.
#[derive(Debug)]
pub(super) struct Object {
    pub kind: u16,
    transaction: u64,
    /// The object's contents: [`BLOCK`] bytes without the header. Empty for kinds that are not used.
    pub data: Vec<u8>,
}

impl Object {
    /// `len` bytes at an offset from the start of the block's header.
    pub(super) fn part(&self, from: u32, len: u32) -> Option<&[u8]> {
        let from = (from as usize).checked_sub(DATA)?;
        self.data.get(from..from.checked_add(len as usize)?)
    }
}

/// The objects of a copy of the encrypted metadata, by their identifiers.
#[derive(Debug)]
pub(super) struct Objects {
    all: BTreeMap<u64, Object>,
    /// Number of blocks with a wrong checksum, or beyond the end of a truncated device.
    pub damaged: usize,
}

impl Objects {
    /// Reads `len` bytes at `at`, up to the first block of zeros.
    ///
    /// # Errors
    /// [`VolumeError::Damaged`] if `len` is too large or the bytes are outside the device; [`VolumeError::Io`].
    pub(super) fn read(
        device: &dyn BlockDevice,
        header: &Header,
        at: u64,
        len: u64,
        tier: Tier,
    ) -> Result<Self, VolumeError> {
        if len > MOST || at.checked_add(len).is_none() || at >= device.size() {
            return Err(damaged(format!(
                "the location of the encrypted metadata is invalid: {len} bytes at byte {at}"
            )));
        }
        let key = [header.key, header.id.0].concat();
        let layout = Layout { data_unit: BLOCK as usize, tweak_step: 1 };
        let cipher = dm_crypt(CIPHER.0, CIPHER.1, &key, layout, tier)?;
        let (mut objects, last) = (Self { all: BTreeMap::new(), damaged: 0 }, len / BLOCK);
        for first in (0..last).step_by(BATCH as usize) {
            let count = BATCH.min(last - first);
            let from = at + first * BLOCK;
            // Reads only the existing part of a truncated copy.
            let there = count.min(device.size().saturating_sub(from) / BLOCK);
            let mut bytes = read_bytes(device, from..from + there * BLOCK)
                .map_err(VolumeError::io("reading the encrypted metadata"))?;
            for (number, block) in (first..).zip(bytes.chunks_exact_mut(BLOCK as usize)) {
                if block.iter().all(|byte| *byte == 0) {
                    return Ok(objects);
                }
                cipher.decrypt_in_place(number, block);
                objects.take(block);
            }
            objects.damaged += (count - there) as usize;
        }
        Ok(objects)
    }

    fn take(&mut self, block: &[u8]) {
        if !is_whole(block) {
            self.damaged += usize::from(!block.starts_with(WIPED));
            return;
        }
        let header = (u16_at(block, 10), u64_at(block, 16), u64_at(block, 24));
        let (Some(kind), Some(transaction), Some(id)) = header else { return };
        let newer = self.all.get(&id).is_none_or(|known| known.transaction <= transaction);
        if newer {
            // For other kinds, only the identifier is stored, so that older blocks with the same identifier are
            // ignored.
            let data = if KEPT.contains(&kind) { block[DATA..].to_vec() } else { Vec::new() };
            self.all.insert(id, Object { kind, transaction, data });
        }
    }

    /// The object `id`, if it is of this kind.
    pub(super) fn get(&self, id: u64, kind: u16) -> Option<&Object> {
        self.all.get(&id).filter(|object| object.kind == kind)
    }

    /// All of a kind.
    pub(super) fn of(&self, kind: u16) -> impl Iterator<Item = (u64, &Object)> {
        let all = self.all.iter().filter(move |(_, object)| object.kind == kind);
        all.map(|(id, object)| (*id, object))
    }

    /// The object `id` of this kind, or the only one of its kind.
    pub(super) fn get_or_only(&self, id: u64, kind: u16) -> Option<&Object> {
        let mut all = self.of(kind).map(|(_, object)| object);
        let only = all.next().filter(|_| all.next().is_none());
        self.get(id, kind).or(only)
    }
}
