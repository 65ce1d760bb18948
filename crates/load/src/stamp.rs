//! Incompressible data whose every 512-byte sector says where and when it was written.
//!
//! A stamp is the first 32 bytes of a sector, integers little-endian:
//!
//! | bytes | content |
//! |-------|---------|
//! | 0-7   | [`MARKER`] |
//! | 8-15  | offset of the sector from the start of the surface |
//! | 16-23 | generation: the job that wrote it, 0 for the prefill |
//! | 24-27 | low half of the job's seed |
//! | 28-31 | check word over bytes 8-27 |
//!
//! The rest is pseudorandom and differs between slots, not between writes of one slot.

use crate::places::{mix, splitmix};

/// Bytes per stamped sector.
pub const SECTOR: usize = 512;

/// Bytes of a stamp.
pub const STAMP_LEN: usize = 32;

/// First bytes of every sector that the engine writes.
///
/// Storage on which these bytes can be found at sector starts is not encrypted. By chance they
/// appear at a given place with probability 2^-64.
pub const MARKER: [u8; 8] = *b"\x89cBench\n";

/// What a sector that was read back holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectorState {
    /// A stamp for this very place. A lost write shows an older generation than expected.
    Valid {
        /// The job that wrote it.
        generation: u64,
        /// Low half of that job's seed.
        seed: u32,
    },
    /// A sound stamp that belongs elsewhere: a misdirected write or read.
    Misplaced {
        /// The place it was written for, from the start of the surface.
        offset: u64,
        /// The job that wrote it.
        generation: u64,
    },
    /// The marker, but a stamp whose check word fails: a torn or corrupted sector.
    Damaged,
    /// All zeros: never written, or discarded.
    Blank,
    /// No marker: foreign data, or ciphertext that was not opened.
    Unmarked,
}

/// Examines a sector of at least [`STAMP_LEN`] bytes (shorter: [`SectorState::Unmarked`]) read
/// from `offset` bytes after the start of the surface.
pub fn verify_sector(sector: &[u8], offset: u64) -> SectorState {
    let Some(stamp) = sector.first_chunk::<STAMP_LEN>() else {
        return SectorState::Unmarked;
    };
    if stamp[..8] != MARKER {
        let blank = sector.iter().all(|&b| b == 0);
        return if blank { SectorState::Blank } else { SectorState::Unmarked };
    }
    let u64_at = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| stamp[i + k]));
    let u32_at = |i: usize| u32::from_le_bytes(std::array::from_fn(|k| stamp[i + k]));
    let (place, generation, seed) = (u64_at(8), u64_at(16), u32_at(24));
    if u32_at(28) != check(key(generation, seed), place) {
        SectorState::Damaged
    } else if place != offset {
        SectorState::Misplaced { offset: place, generation }
    } else {
        SectorState::Valid { generation, seed }
    }
}

/// Stamps the sectors of one job.
#[derive(Clone, Copy)]
pub(crate) struct Stamper {
    generation: u64,
    seed: u32,
    key: u64,
}

impl Stamper {
    pub(crate) fn new(generation: u64, seed: u64) -> Self {
        let seed = seed as u32;
        Self { generation, seed, key: key(generation, seed) }
    }

    /// Stamps every whole sector of `data`, which goes to `offset`.
    #[inline]
    pub(crate) fn stamp(&self, data: &mut [u8], offset: u64) {
        // Composed in registers and stored at once: a cache line per sector is all this costs.
        let [marker, generation] = [u64::from_le_bytes(MARKER), self.generation];
        let mut place = offset;
        for sector in data.chunks_exact_mut(SECTOR) {
            let last = u64::from(self.seed) | u64::from(check(self.key, place)) << 32;
            let words = [marker, place, generation, last].map(u64::to_le_bytes);
            sector[..STAMP_LEN].copy_from_slice(words.as_flattened());
            place += SECTOR as u64;
        }
    }
}

fn key(generation: u64, seed: u32) -> u64 {
    mix(mix(generation ^ 0x5eed) ^ u64::from(seed))
}

#[inline]
fn check(key: u64, offset: u64) -> u32 {
    mix(key ^ offset) as u32
}

/// Fills `data` with the bytes of SplitMix64 seeded with `seed`: incompressible and repeatable.
pub(crate) fn fill_random(data: &mut [u8], seed: u64) {
    for (n, chunk) in data.chunks_mut(8).enumerate() {
        let word = splitmix(seed, n as u64).to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stamped(offset: u64, generation: u64, seed: u64) -> Vec<u8> {
        let mut data = vec![0; 4 * SECTOR];
        fill_random(&mut data, 7);
        Stamper::new(generation, seed).stamp(&mut data, offset);
        data
    }

    proptest! {
        #[test]
        fn stamps_are_valid_at_their_place_only(
            block in 0u64..1 << 50, generation: u64, seed: u64, other in 1u64..1 << 40,
        ) {
            let data = stamped(block * 512, generation, seed);
            for (i, sector) in data.chunks(SECTOR).enumerate() {
                let offset = block * 512 + i as u64 * 512;
                prop_assert_eq!(
                    verify_sector(sector, offset),
                    SectorState::Valid { generation, seed: seed as u32 }
                );
                prop_assert_eq!(
                    verify_sector(sector, offset + other),
                    SectorState::Misplaced { offset, generation }
                );
            }
        }

        #[test]
        fn any_flipped_stamp_bit_is_noticed(bit in 64usize..256, generation: u64) {
            let mut data = stamped(1 << 20, generation, 3);
            data[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(verify_sector(&data[..SECTOR], 1 << 20), SectorState::Damaged);
        }

        #[test]
        fn verify_never_panics(data: Vec<u8>, offset: u64) {
            let _ = verify_sector(&data, offset);
        }
    }

    #[test]
    fn blank_and_foreign_are_told_apart() {
        assert_eq!(verify_sector(&[0; 512], 0), SectorState::Blank);
        assert_eq!(verify_sector(&[1; 512], 0), SectorState::Unmarked);
        assert_eq!(verify_sector(&[], 0), SectorState::Unmarked);
    }

    /// The byte entropy of one slot's data, stamps included, is that of random data.
    #[test]
    fn data_is_incompressible() {
        let mut data = vec![0; 1 << 20];
        fill_random(&mut data, 1);
        let mut seen = [0f64; 256];
        data.iter().for_each(|&b| seen[b as usize] += 1.0);
        let n = data.len() as f64;
        let bits: f64 = seen.iter().map(|c| -(c / n) * (c / n).log2()).sum();
        assert!(bits > 7.999, "{bits}");
    }
}
