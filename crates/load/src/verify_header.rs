//! Incompressible data in which every 512-byte sector records its offset and generation.
//!
//! A verify header occupies the first 32 bytes of a sector, with little-endian integers:
//!
//! | bytes | content |
//! |-------|---------|
//! | 0-7   | [`MARKER`] |
//! | 8-15  | offset of the sector from the start of the I/O target |
//! | 16-23 | generation: the job that wrote it, 0 for the prefill |
//! | 24-27 | low half of the job's seed |
//! | 28-31 | check word over bytes 8-27 |
//!
//! The rest is pseudorandom, or partly zero if a job writes compressible data. This data depends on the job's seed and
//! generation, and is the same in every block of the job. Two concurrent writes of one job to the same block therefore
//! write the same bytes, so that a mixture of their ciphertexts is valid even in modes that spread each bit over the
//! whole data unit. The first 8 bytes of the rest are a check word for the bytes after it, so that any changed bit of a
//! sector is detected.

use crate::offsets::{mix, splitmix};

/// Size in bytes of a sector with a verify header.
pub const SECTOR: usize = 512;

/// Bytes of a verify header.
pub const HEADER_LEN: usize = 32;

/// The first bytes of every sector that the engine writes.
///
/// If storage contains these bytes at the start of a sector, that sector is not encrypted. The probability that these
/// bytes appear at a given offset by chance is 2^-64.
pub const MARKER: [u8; 8] = *b"\x89cBench\n";

/// Number of data bytes to which the compressible share applies.
const COMPRESSIBLE_UNIT: usize = 4096;

/// Maximum number of flipped bits with which a marker counts as damaged. Random bytes are this similar to the marker
/// with a probability of 2^-48.
const MARKER_FLIPS: u32 = 3;

/// The state of a sector that was read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectorState {
    /// The verify header belongs to this offset. After a lost write, its generation is older than expected.
    Valid {
        /// The job that wrote it.
        generation: u64,
        /// Low half of the writing job's seed.
        seed: u32,
    },
    /// An intact verify header for another offset, after a misdirected write or read.
    Misplaced {
        /// The offset for which the sector was written, in bytes from the start of the I/O target.
        offset: u64,
        /// The job that wrote it.
        generation: u64,
        /// Low half of the writing job's seed.
        seed: u32,
    },
    /// A torn or corrupted sector: an almost correct marker, a verify header with a wrong check word, or an intact
    /// verify header whose data has changed.
    Damaged,
    /// All zeros: the sector was never written, or was discarded.
    Blank,
    /// No marker: data from another source, or ciphertext that was not decrypted.
    Unmarked,
}

/// Examines a sector read from `offset` bytes after the start of the I/O target. If the data has fewer than
/// [`HEADER_LEN`] bytes, the result is [`SectorState::Unmarked`]. If the data is shorter than a [`SECTOR`], only the
/// verify header is examined.
pub fn verify_sector(sector: &[u8], offset: u64) -> SectorState {
    let Some(header) = sector.first_chunk::<HEADER_LEN>() else {
        return SectorState::Unmarked;
    };
    let u64_at = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| header[i + k]));
    let u32_at = |i: usize| u32::from_le_bytes(std::array::from_fn(|k| header[i + k]));
    if header[..8] != MARKER {
        if (u64_at(0) ^ u64::from_le_bytes(MARKER)).count_ones() <= MARKER_FLIPS {
            return SectorState::Damaged;
        }
        let blank = sector.iter().all(|&b| b == 0);
        return if blank { SectorState::Blank } else { SectorState::Unmarked };
    }
    let (place, generation, seed) = (u64_at(8), u64_at(16), u32_at(24));
    let body = sector.get(HEADER_LEN..SECTOR);
    if u32_at(28) != check(key(generation, seed), place) || !body.is_none_or(body_is_whole) {
        SectorState::Damaged
    } else if place != offset {
        SectorState::Misplaced { offset: place, generation, seed }
    } else {
        SectorState::Valid { generation, seed }
    }
}

/// Writes the verify headers of one job.
#[derive(Clone, Copy)]
pub(crate) struct HeaderWriter {
    generation: u64,
    seed: u32,
    key: u64,
}

impl HeaderWriter {
    pub(crate) fn new(generation: u64, seed: u64) -> Self {
        let seed = seed as u32;
        Self { generation, seed, key: key(generation, seed) }
    }

    /// Writes the verify header of every whole sector of `data`, which will be written at `offset`.
    #[inline]
    pub(crate) fn write_headers(&self, data: &mut [u8], offset: u64) {
        // The header is composed in registers and stored in one step, so that only one cache line per sector is
        // touched.
        let [marker, generation] = [u64::from_le_bytes(MARKER), self.generation];
        let mut place = offset;
        for sector in data.chunks_exact_mut(SECTOR) {
            let last = u64::from(self.seed) | u64::from(check(self.key, place)) << 32;
            let words = [marker, place, generation, last].map(u64::to_le_bytes);
            sector[..HEADER_LEN].copy_from_slice(words.as_flattened());
            place += SECTOR as u64;
        }
    }
}

/// Seed of the bytes that a job writes, apart from the verify headers.
pub(crate) fn body_seed(generation: u64, seed: u64) -> u64 {
    mix(mix(generation ^ 0x626f_6479) ^ seed)
}

fn key(generation: u64, seed: u32) -> u64 {
    mix(mix(generation ^ 0x5eed) ^ u64::from(seed))
}

#[inline]
fn check(key: u64, offset: u64) -> u32 {
    mix(key ^ offset) as u32
}

/// Fills `data` with the output of SplitMix64 with this seed: incompressible and reproducible.
pub(crate) fn fill_random(data: &mut [u8], seed: u64) {
    for (n, chunk) in data.chunks_mut(8).enumerate() {
        let word = splitmix(seed, n as u64).to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

/// Fills data to which verify headers will be added: random except for zeros in the last `zeros` percent of each 4
/// KiB, with a check word in each whole sector.
pub(crate) fn fill_bodies(data: &mut [u8], seed: u64, zeros: u8) {
    fill_random(data, seed);
    if zeros > 0 {
        for unit in data.chunks_mut(COMPRESSIBLE_UNIT) {
            let random = unit.len() * (100 - usize::from(zeros.min(100))) / 100;
            unit[random..].fill(0);
        }
    }
    for sector in data.chunks_exact_mut(SECTOR) {
        let (check, body) = sector[HEADER_LEN..].split_at_mut(8);
        check.copy_from_slice(&body_check(body).to_le_bytes());
    }
}

/// A hash that changes if any single word changes, because each step is a bijection of the word for a given state.
fn body_check(body: &[u8]) -> u64 {
    let (words, _) = body.as_chunks::<8>();
    let step = |h: u64, word: &[u8; 8]| {
        (h ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    };
    mix(words.iter().fold(0x6269_7473, step))
}

fn body_is_whole(body: &[u8]) -> bool {
    let (check, rest) = body.split_at(8);
    check == body_check(rest).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with_headers(offset: u64, generation: u64, seed: u64) -> Vec<u8> {
        let mut data = vec![0; 4 * SECTOR];
        fill_bodies(&mut data, 7, 0);
        HeaderWriter::new(generation, seed).write_headers(&mut data, offset);
        data
    }

    proptest! {
        #[test]
        fn headers_are_valid_at_their_offset_only(
            block in 0u64..1 << 50, generation: u64, seed: u64, other in 1u64..1 << 40,
        ) {
            let data = with_headers(block * 512, generation, seed);
            for (i, sector) in data.chunks(SECTOR).enumerate() {
                let offset = block * 512 + i as u64 * 512;
                prop_assert_eq!(
                    verify_sector(sector, offset),
                    SectorState::Valid { generation, seed: seed as u32 }
                );
                prop_assert_eq!(
                    verify_sector(sector, offset + other),
                    SectorState::Misplaced { offset, generation, seed: seed as u32 }
                );
            }
        }

        #[test]
        fn any_flipped_bit_is_noticed(bit in 0usize..4096, generation: u64) {
            let mut data = with_headers(1 << 20, generation, 3);
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

    #[test]
    fn a_sector_of_two_halves_is_damaged() {
        let (one, mut other) = (with_headers(0, 1, 1), vec![0; 4 * SECTOR]);
        fill_bodies(&mut other, 8, 0);
        HeaderWriter::new(2, 1).write_headers(&mut other, 0);
        for cut in (HEADER_LEN + 8..SECTOR).step_by(8) {
            let sector = [&one[..cut], &other[cut..SECTOR]].concat();
            assert_eq!(verify_sector(&sector, 0), SectorState::Damaged, "{cut}");
        }
    }

    /// Data is zero in the requested share and random elsewhere. Verify headers and check words
    /// take 40 bytes of each sector in both.
    #[test]
    fn the_compressible_share_is_as_asked() {
        for percent in [1, 30, 50, 99] {
            let mut data = vec![1; 64 << 10];
            fill_bodies(&mut data, 1, percent);
            HeaderWriter::new(1, 1).write_headers(&mut data, 0);
            assert!(data.chunks(SECTOR).enumerate().all(|(i, s)| {
                let at = (i * SECTOR) as u64;
                verify_sector(s, at) == SectorState::Valid { generation: 1, seed: 1 }
            }));
            for unit in data.chunks(4096) {
                let body = |i: &usize| i % SECTOR >= HEADER_LEN + 8;
                let border = 4096 * (100 - usize::from(percent)) / 100;
                assert!((border..4096).filter(body).all(|i| unit[i] == 0));
                let random = (0..border).filter(body).collect::<Vec<_>>();
                let zeros = random.iter().filter(|&&i| unit[i] == 0).count();
                assert!(zeros <= 5 + random.len() / 64, "{zeros} of {}", random.len());
            }
        }
    }

    /// The byte entropy of one block, including verify headers, is that of random data.
    #[test]
    fn data_is_incompressible() {
        let mut data = vec![0; 1 << 20];
        fill_bodies(&mut data, 1, 0);
        let mut seen = [0f64; 256];
        data.iter().for_each(|&b| seen[b as usize] += 1.0);
        let n = data.len() as f64;
        let bits: f64 = seen.iter().map(|c| -(c / n) * (c / n).log2()).sum();
        assert!(bits > 7.999, "{bits}");
    }
}
