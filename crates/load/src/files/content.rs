//! The contents of the files: incompressible data with verify headers, checked when read.

use crate::SECTOR;
use crate::offsets::splitmix;
use crate::verify_header::{HeaderWriter, fill_bodies};

/// Size in bytes of the pool of random bytes from which contents are taken, starting at whole sectors.
const POOL: usize = 1 << 20;

/// Size in bytes of each file's range of verify header offsets; larger than the largest file.
const FILE_SPAN: u64 = 1 << 25;

/// The contents of all files of a set.
///
/// The bytes of a file are determined by the seed, the file's number and the generation. The generation is incremented
/// each time the set is created again, so that old files can be distinguished from new ones.
pub(super) struct Contents {
    seed: u64,
    generation: u64,
    pool: Vec<u8>,
    wanted: Vec<u8>,
}

impl Contents {
    /// Contents for files of at most `largest` bytes.
    pub(super) fn new(seed: u64, largest: u64) -> Self {
        let mut pool = vec![0; POOL];
        fill_bodies(&mut pool, seed ^ 0xf11e5, 0);
        Self { seed, generation: 0, pool, wanted: vec![0; largest as usize] }
    }

    /// Changes the contents of all files from now on.
    pub(super) fn renew(&mut self) {
        self.generation += 1;
    }

    /// The contents of file `index` of `size` bytes.
    pub(super) fn of(&mut self, index: u32, size: u64) -> &[u8] {
        let wanted = &mut self.wanted[..size as usize];
        let sector =
            splitmix(self.seed ^ self.generation, u64::from(index)) as usize % (POOL / SECTOR);
        let from = sector * SECTOR;
        let mut rest = &mut wanted[..];
        let mut source = &self.pool[from..];
        while !rest.is_empty() {
            let n = rest.len().min(source.len());
            let (now, later) = rest.split_at_mut(n);
            now.copy_from_slice(&source[..n]);
            rest = later;
            source = &self.pool;
        }
        let headers = HeaderWriter::new(self.generation, self.seed);
        headers.write_headers(wanted, u64::from(index) * FILE_SPAN);
        wanted
    }

    /// Offset of the first byte of `found` that differs from the contents of file `index` of `size`
    /// bytes.
    pub(super) fn first_difference(&mut self, index: u32, size: u64, found: &[u8]) -> Option<u64> {
        let wanted = self.of(index, size);
        if wanted == found {
            return None;
        }
        let differs = wanted.iter().zip(found).position(|(a, b)| a != b);
        Some(differs.unwrap_or(wanted.len().min(found.len())) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_differ_between_files_and_generations_and_repeat() {
        let mut c = Contents::new(3, 3 << 20);
        let a = c.of(0, 4096).to_vec();
        assert_eq!(a, c.of(0, 4096));
        assert_ne!(a, c.of(1, 4096));
        assert_eq!(c.of(0, 3 << 20).len(), 3 << 20);
        c.renew();
        assert_ne!(a, c.of(0, 4096));
        assert_eq!(c.of(5, 0), [0u8; 0]);
    }

    #[test]
    fn the_first_difference_is_found() {
        let mut c = Contents::new(3, 10_000);
        let mut found = c.of(2, 10_000).to_vec();
        assert_eq!(c.first_difference(2, 10_000, &found), None);
        assert_eq!(c.first_difference(2, 10_000, &found[..9_000]), Some(9_000));
        found[7_777] ^= 1;
        assert_eq!(c.first_difference(2, 10_000, &found), Some(7_777));
        assert_eq!(c.first_difference(3, 0, &found), Some(0));
    }
}
