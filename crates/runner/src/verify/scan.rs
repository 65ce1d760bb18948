//! Searches the stored data for plaintext at any alignment, and for blocks with less entropy than ciphertext.

use std::io;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use cryptbench_blockdev::AlignedBuf;
use cryptbench_load::MARKER;
use cryptbench_record::{Entropy, Randomness, Scan};
use cryptbench_system::{Backing, Random};
use memchr::memmem::Finder;

use super::inspect::go_on;
use super::known_plaintext::Known;
use super::pattern::Pattern;
use super::pieces::{PIECE, Pieces, Reader};
use super::tree::Tree;

/// Maximum number of bytes to search.
pub(super) const MOST: u64 = 1 << 30;

/// Minimum number of bytes to search, even if that takes longer than [`TIME`]; only the end of the run's budget can
/// reduce it.
pub(super) const LEAST: u64 = 64 << 20;

/// If a disk needs more than this time to search [`MOST`] bytes, less of its stored data is
/// searched.
const TIME: Duration = Duration::from_millis(1500);

/// Bytes whose entropy is measured, spread evenly over those that are searched.
const MEASURED: u64 = 64 << 20;

/// Additional bytes read after a piece, to find matches across its end.
const BEYOND: usize = 4096;

/// The result of a search.
pub(super) struct Found {
    pub(super) scan: Scan,
    /// Number of positions with the name of a known file.
    pub(super) names: u64,
    /// Number of blocks below the threshold in data that must be completely random.
    pub(super) weak: u64,
}

/// Searches the data in `backing`.
///
/// Searches for two markers: one in the pattern just written, and one in all data that workloads and filling wrote
/// before. Searches at least `least` bytes, however long that takes.
///
/// # Errors
/// Read errors; [`io::ErrorKind::Interrupted`] if `stop` was set.
pub(super) fn search(
    backing: &Backing,
    before: &[Tree],
    pattern: &Pattern,
    (region, least): (u64, u64),
    known: Option<&Known>,
    stop: &AtomicBool,
) -> io::Result<Found> {
    let pieces = Pieces::of(backing, before, region);
    let plain = [Finder::new(pattern.marker()), Finder::new(&MARKER)];
    let beside = backing.beside.as_deref();
    let name = known.map(|known| Finder::new(known.word.as_bytes()));
    let stored_bytes = pieces.stored();
    let mut scan = Scan { stored_bytes, ..Scan::default() };
    let mut meter = Meter::every(stored_bytes.min(MOST).div_ceil(MEASURED).max(1));
    let (mut reader, mut names, started) = (Reader::default(), 0, Instant::now());
    let mut buffer = AlignedBuf::zeroed(PIECE as usize + BEYOND);
    let random_from = match backing.random {
        Random::From(byte) => byte,
        Random::Mostly | Random::Untold => u64::MAX,
    };
    for piece in &pieces.pieces {
        go_on(stop)?;
        let late = scan.scanned_bytes >= least && started.elapsed() >= TIME;
        if late || scan.scanned_bytes >= MOST {
            break;
        }
        let there = reader.read(&pieces, *piece, &mut buffer)?;
        let own = there.min(piece.len as usize);
        let data = &buffer[..there];
        for finder in &plain {
            for at in occurrences(finder, data, own) {
                let place = piece.offset + at as u64;
                let first = || (pieces.sources[piece.source].0.clone(), place);
                scan.first_marker.get_or_insert_with(first);
                scan.markers += 1;
                scan.markers_beside += u64::from(pieces.sources[piece.source].1.is_below(beside));
            }
        }
        names += name.as_ref().map_or(0, |finder| occurrences(finder, data, own).count() as u64);
        meter.add(&data[..own], random_from.saturating_sub(piece.offset));
        scan.scanned_bytes += own as u64;
    }
    reader.close();
    scan.entropy = meter.entropy();
    Ok(Found { scan, names, weak: meter.weak })
}

/// Judges the entropy of a location with `weak` blocks that must be random.
///
/// If a system stores plain structures together with its ciphertext, these are accepted up to half of the
/// written amount. The pattern in any form that keeps its redundancy (another alphabet, a repeated key) is
/// larger. Headers of files and lists of names are much smaller: eCryptfs has 48 KiB of them here.
pub(super) fn randomness(random: Random, scan: &Scan, weak: u64, written: u64) -> Randomness {
    let Some(entropy) = scan.entropy else { return Randomness::Untold };
    let low_bytes = entropy.low_share() * scan.scanned_bytes as f64;
    match random {
        Random::Untold => Randomness::Untold,
        Random::From(_) if weak > 0 => Randomness::Broken,
        Random::Mostly if low_bytes >= written as f64 / 2.0 => Randomness::Doubtful,
        Random::From(_) | Random::Mostly => Randomness::Random,
    }
}

/// Whether a search without findings proves anything: the written data must be stored there and
/// have been read.
pub(super) fn is_telling(scan: &Scan, written: u64, least: u64) -> bool {
    scan.stored_bytes >= written && scan.scanned_bytes >= scan.stored_bytes.min(least)
}

/// Offsets in the first `own` bytes of `data` at which a match starts, wherever it ends.
fn occurrences<'a>(
    finder: &'a Finder<'_>,
    data: &'a [u8],
    own: usize,
) -> impl Iterator<Item = usize> + 'a {
    finder.find_iter(data).take_while(move |at| *at < own)
}

/// Measures the entropy of blocks.
struct Meter {
    every: u64,
    seen: u64,
    sum: f64,
    found: Entropy,
    /// Number of blocks that are below the threshold although they must be random.
    weak: u64,
    /// `n log2 n` for every possible count of a byte in a block.
    terms: Vec<f64>,
}

impl Meter {
    /// Samples every n-th block.
    fn every(every: u64) -> Self {
        let term = |n: usize| if n == 0 { 0.0 } else { n as f64 * (n as f64).log2() };
        let terms = (0..=Entropy::BLOCK).map(term).collect();
        Self { every, seen: 0, sum: 0.0, found: Entropy::default(), weak: 0, terms }
    }

    /// Adds the blocks of `data`; those from `must` on must be random.
    fn add(&mut self, data: &[u8], must: u64) {
        for (i, block) in data.chunks_exact(Entropy::BLOCK).enumerate() {
            self.seen += 1;
            if !(self.seen - 1).is_multiple_of(self.every) {
                continue;
            }
            let bits = self.of(block);
            self.sum += bits;
            self.found.blocks += 1;
            let low = bits < Entropy::THRESHOLD;
            self.found.low_blocks += u64::from(low);
            self.weak += u64::from(low && (i * Entropy::BLOCK) as u64 >= must);
        }
    }

    /// Bits per byte: `log2 N - (sum of n log2 n) / N`.
    fn of(&self, block: &[u8]) -> f64 {
        let mut counts = [0u16; 256];
        for byte in block {
            counts[usize::from(*byte)] += 1;
        }
        let sum: f64 = counts.iter().map(|n| self.terms[usize::from(*n)]).sum();
        (block.len() as f64).log2() - sum / block.len() as f64
    }

    fn entropy(&self) -> Option<Entropy> {
        (self.found.blocks > 0)
            .then(|| Entropy { mean: self.sum / self.found.blocks as f64, ..self.found })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use cryptbench_system::Content;
    use rand::{Rng as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn random(len: usize, seed: u64) -> Vec<u8> {
        let mut data = vec![0; len];
        ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut data);
        data
    }

    static GO: AtomicBool = AtomicBool::new(false);

    fn backing(path: &Path, random: Random) -> Backing {
        Backing { content: vec![Content::Path(path.to_owned())], random, ..Backing::default() }
    }

    fn searched(data: &[u8], pattern: &Pattern) -> Found {
        searched_as(data, pattern, Random::Untold)
    }

    fn searched_as(data: &[u8], pattern: &Pattern, random: Random) -> Found {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("stored"), data).unwrap();
        search(
            &backing(dir.path(), random),
            &[],
            pattern,
            (0, LEAST),
            Some(&Known::new(pattern)),
            &GO,
        )
        .unwrap()
    }

    #[test]
    fn nothing_is_found_in_random_bytes_and_all_blocks_are_as_they_should_be() {
        let Found { scan, names, .. } = searched(&random(5 << 20, 1), &Pattern::new());
        assert_eq!((scan.markers, names, scan.first_marker), (0, 0, None));
        assert_eq!((scan.stored_bytes, scan.scanned_bytes), (5 << 20, 5 << 20));
        let entropy = scan.entropy.unwrap();
        assert_eq!((entropy.blocks, entropy.low_blocks), (1280, 0));
        // 8 - 255 / (2 * 4096 * ln 2), Miller's correction, within the variation of 1280 blocks.
        assert!((entropy.mean - 7.9551).abs() < 0.001, "{}", entropy.mean);
    }

    #[test]
    fn a_marker_is_found_wherever_it_lies() {
        let pattern = Pattern::new();
        let piece = PIECE as usize;
        let clean = random(3 * piece + 77, 2);
        // At the edges of pieces, across them, at odd offsets, and at the very end.
        for at in [0, 1, 4097, piece - 15, piece - 1, piece, 2 * piece - 8, 3 * piece + 61] {
            let mut data = clean.clone();
            data[at..at + 16].copy_from_slice(pattern.marker());
            let scan = searched(&data, &pattern).scan;
            assert_eq!(scan.markers, 1, "{at}");
            assert_eq!(scan.first_marker, Some(("stored".to_owned(), at as u64)));
        }
        let mut data = clean;
        data[12345..12353].copy_from_slice(&MARKER);
        assert_eq!(searched(&data, &pattern).scan.markers, 1, "the workloads' own");
    }

    #[test]
    fn a_whole_marker_lies_in_whatever_two_lines_are_cut_into() {
        let pattern = Pattern::new();
        let mut text = vec![0; 1 << 16];
        pattern.fill(&mut text, 0, 0);
        let finder = Finder::new(pattern.marker());
        for cut in [128, 512, 1000, 1016, 4080] {
            let mut pieces = text.chunks_exact(cut);
            assert!(pieces.all(|piece| finder.find(piece).is_some()), "{cut}");
        }
        let scan = searched(&text, &pattern).scan;
        assert_eq!(scan.markers, 1 << 10);
        let entropy = scan.entropy.unwrap();
        assert_eq!(entropy.low_blocks, entropy.blocks);
        assert!(entropy.mean < 6.0, "text: {}", entropy.mean);
    }

    #[test]
    fn names_are_found_in_raw_bytes_and_content_is_not_taken_for_them() {
        let pattern = Pattern::new();
        let known = Known::new(&pattern);
        let mut data = random(1 << 20, 3);
        data[777..793].copy_from_slice(known.word.as_bytes());
        let Found { scan, names, .. } = searched(&data, &pattern);
        assert_eq!(names, 1);
        assert_eq!(scan.markers, 0, "a name is not content");
        pattern.fill(&mut data, 1, 0);
        assert_eq!(searched(&data, &pattern).names, 0);
    }

    #[test]
    fn blocks_that_only_look_encrypted_are_told_from_ciphertext() {
        let meter = Meter::every(1);
        assert!(meter.of(&[7; 4096]) < 1e-9);
        let two: Vec<u8> = (0..4096).map(|i| (i % 2) as u8).collect();
        assert!((meter.of(&two) - 1.0).abs() < 1e-9);
        // Base64 of anything: six bits.
        let text: Vec<u8> = random(4096, 4).iter().map(|b| b % 64 + 32).collect();
        assert!(meter.of(&text) < 6.01);
        // More zeros than by chance: one byte in ten.
        let mut leaky = random(4096, 5);
        leaky.iter_mut().step_by(10).for_each(|b| *b = 0);
        assert!(meter.of(&leaky) < Entropy::THRESHOLD, "{}", meter.of(&leaky));
        // Samples every fourth block.
        let mut meter = Meter::every(4);
        meter.add(&random(4096 * 16, 6), 0);
        assert_eq!(meter.entropy().unwrap().blocks, 4);
    }

    #[test]
    fn who_is_stopped_searches_no_further() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("stored"), random(1 << 20, 7)).unwrap();
        let (backing, pattern) = (backing(dir.path(), Random::Untold), Pattern::new());
        let stopped = search(&backing, &[], &pattern, (0, LEAST), None, &AtomicBool::new(true));
        assert_eq!(stopped.err().unwrap().kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn a_header_may_have_zeros_and_what_follows_it_may_not() {
        let (pattern, header) = (Pattern::new(), 3 * PIECE / 2);
        let mut data = random(4 << 20, 8);
        data[..header as usize].fill(0);
        let weak = |data: &[u8], random| {
            let found = searched_as(data, &pattern, random);
            (found.weak, randomness(random, &found.scan, found.weak, 1 << 20))
        };
        assert_eq!(weak(&data, Random::From(header)), (0, Randomness::Random));
        assert_eq!(weak(&data, Random::From(header - 8192)), (2, Randomness::Broken));
        assert_eq!(weak(&data, Random::From(0)), (384, Randomness::Broken));
        data[3 << 20..(3 << 20) + 4096].fill(b'x');
        assert_eq!(weak(&data, Random::From(header)), (1, Randomness::Broken));
        assert_eq!(weak(&data, Random::Untold), (0, Randomness::Untold));
    }

    /// The pattern encrypted with a one-byte key, among as much ciphertext: it has no marker, but is detected.
    #[test]
    fn what_lies_there_in_another_guise_is_doubted_and_structures_of_a_systems_own_are_not() {
        let pattern = Pattern::new();
        let mut data = random(4 << 20, 9);
        pattern.fill(&mut data[..2 << 20], 0, 0);
        data[..2 << 20].iter_mut().for_each(|byte| *byte ^= 0x5a);
        let judged = |data: &[u8]| {
            let found = searched_as(data, &pattern, Random::Mostly);
            assert_eq!(found.scan.markers, 0);
            randomness(Random::Mostly, &found.scan, found.weak, 2 << 20)
        };
        assert_eq!(judged(&data), Randomness::Doubtful);
        let mut headers = random(4 << 20, 10);
        headers[..48 << 10].fill(0);
        assert_eq!(judged(&headers), Randomness::Random);
    }

    #[test]
    fn a_search_of_too_little_tells_nothing() {
        let scan =
            |stored_bytes, scanned_bytes| Scan { stored_bytes, scanned_bytes, ..Scan::default() };
        assert!(is_telling(&scan(100, 100), 90, LEAST));
        assert!(!is_telling(&scan(0, 0), 90, LEAST), "nothing lies there");
        assert!(!is_telling(&scan(100, 40), 90, LEAST), "most could not be read");
        assert!(is_telling(&scan(1 << 40, LEAST), 90, LEAST), "the least of very much");
    }
}
