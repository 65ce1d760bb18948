//! Reads a device in pieces, each at most once, and records which ones could not be read.

use std::collections::BTreeMap;
use std::ops::Range;

use cryptbench_blockdev::{BlockDevice, read_bytes};
use cryptbench_text::chain;

/// Bytes per read. One bad sector makes at most this much unreadable.
pub(super) const PIECE: u64 = 4096;

/// A device, and the pieces of it that were read.
pub(super) struct Reader<'a> {
    device: &'a dyn BlockDevice,
    rest: Vec<u8>,
    /// The bytes of each piece, or why they could not be read, by offset.
    pieces: BTreeMap<u64, Result<Vec<u8>, String>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(device: &'a dyn BlockDevice) -> Self {
        Self { device, rest: device.rest(), pieces: BTreeMap::new() }
    }

    /// Size of the device in bytes, including a partial sector at its end.
    pub(super) fn size(&self) -> u64 {
        self.device.size() + self.rest.len() as u64
    }

    /// The piece that begins at `offset`, a multiple of [`PIECE`]; `None` if it cannot be read.
    pub(super) fn piece(&mut self, offset: u64) -> Option<&[u8]> {
        let (device, rest) = (self.device, &self.rest);
        let range = offset..(offset + PIECE).min(device.size());
        let is_last = (offset..offset + PIECE).contains(&device.size());
        if range.is_empty() && (rest.is_empty() || !is_last) {
            return None;
        }
        let read = || {
            let mut bytes = match range.is_empty() {
                true => Vec::new(),
                false => read_bytes(device, range).map_err(|error| chain(&error))?,
            };
            bytes.extend(rest.iter().filter(|_| is_last));
            Ok(bytes)
        };
        self.pieces.entry(offset).or_insert_with(read).as_deref().ok()
    }

    /// The bytes at `offset`; `None` beyond the end, or if they cannot be read.
    pub(super) fn bytes<const N: usize>(&mut self, offset: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.read(offset, &mut bytes).then_some(bytes)
    }

    /// Whether these bytes are at `offset`.
    pub(super) fn has(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let mut there = [0; 32];
        let there = &mut there[..bytes.len()];
        self.read(offset, there) && *there == *bytes
    }

    fn read(&mut self, offset: u64, out: &mut [u8]) -> bool {
        let (mut at, mut done) = (offset, 0);
        while done < out.len() {
            let within = (at % PIECE) as usize;
            let Some(rest) = self.piece(at - at % PIECE).and_then(|piece| piece.get(within..))
            else {
                return false;
            };
            let len = rest.len().min(out.len() - done);
            if len == 0 {
                return false;
            }
            out[done..done + len].copy_from_slice(&rest[..len]);
            (at, done) = (at + len as u64, done + len);
        }
        true
    }

    /// The ranges that could not be read, each with the system's error message.
    pub(super) fn unreadable(&self) -> Vec<(Range<u64>, String)> {
        let mut all: Vec<(Range<u64>, String)> = Vec::new();
        for (offset, piece) in &self.pieces {
            let Err(error) = piece else { continue };
            let range = *offset..(offset + PIECE).min(self.device.size());
            match all.last_mut() {
                Some((last, same)) if last.end == range.start && same == error => {
                    last.end = range.end;
                }
                _ => all.push((range, error.clone())),
            }
        }
        all
    }
}
