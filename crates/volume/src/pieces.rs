//! Plaintext composed of pieces: encrypted, plain, or zeros.
//!
//! BitLocker's plaintext is not one run of encrypted bytes: its first sectors are relocated, its metadata reads as
//! zeros, and during encryption a part of the volume is still plain. CoreStorage's plaintext can consist of several
//! runs.

use std::ops::Range;
use std::sync::Arc;

/// The source of a piece of plaintext. Offsets count from the start of the data area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Encrypted bytes at this offset, with the tweaks of that offset.
    Encrypted(u64),
    /// Encrypted bytes at this offset, with the tweaks of their offset in the plaintext.
    Moved(u64),
    /// Unchanged bytes at this offset.
    Plain(u64),
    /// Zeros.
    Zeros,
    /// These bytes.
    Given(Arc<[u8]>),
}

/// Like [`Source`], for a part of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored<'a> {
    Encrypted(u64),
    Moved(u64),
    Plain(u64),
    Zeros,
    /// The bytes of the slice, starting at this index.
    Given(usize, &'a [u8]),
}

/// The pieces of a plaintext, from its start to its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    /// Offset of each piece, ascending from 0, and its source.
    pieces: Vec<(u64, Source)>,
}

impl Pieces {
    /// Adds a piece that begins at `start`, the end of the previous one. Contiguous pieces are merged.
    pub(crate) fn push(&mut self, start: u64, source: Source) {
        let joined = self.pieces.last().is_some_and(|(before, last)| {
            let passed = start - before;
            match (last, &source) {
                (Source::Encrypted(a), Source::Encrypted(b))
                | (Source::Moved(a), Source::Moved(b))
                | (Source::Plain(a), Source::Plain(b)) => a + passed == *b,
                (Source::Zeros, Source::Zeros) => true,
                _ => false,
            }
        });
        if !joined {
            self.pieces.push((start, source));
        }
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The boundaries of pieces, both in the plaintext and in the stored data.
    pub(crate) fn boundaries(&self) -> impl Iterator<Item = u64> {
        self.pieces.iter().flat_map(|(start, source)| {
            let stored = match source {
                Source::Encrypted(at) | Source::Moved(at) | Source::Plain(at) => Some(*at),
                Source::Zeros | Source::Given(_) => None,
            };
            [Some(*start), stored].into_iter().flatten()
        })
    }

    /// The parts of `len` bytes at `offset`: ranges of these bytes, in order, and their sources.
    pub(crate) fn within(
        &self,
        offset: u64,
        len: usize,
    ) -> impl Iterator<Item = (Range<usize>, Stored<'_>)> {
        let end = offset + len as u64;
        let first = self.pieces.partition_point(|(start, _)| *start <= offset).saturating_sub(1);
        let pieces = &self.pieces[first.min(self.pieces.len())..];
        let count = pieces.partition_point(|(start, _)| *start < end);
        pieces[..count].iter().enumerate().map(move |(index, (start, source))| {
            let from = offset.max(*start);
            let to = pieces.get(index + 1).map_or(end, |(next, _)| end.min(*next));
            let skipped = from - start;
            let stored = match source {
                Source::Encrypted(at) => Stored::Encrypted(at + skipped),
                Source::Moved(at) => Stored::Moved(at + skipped),
                Source::Plain(at) => Stored::Plain(at + skipped),
                Source::Zeros => Stored::Zeros,
                Source::Given(bytes) => Stored::Given(skipped as usize, bytes),
            };
            ((from - offset) as usize..(to - offset) as usize, stored)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces() -> Pieces {
        let mut pieces = Pieces::default();
        pieces.push(0, Source::Given(vec![7; 512].into()));
        pieces.push(512, Source::Plain(512));
        pieces.push(1024, Source::Encrypted(9000));
        pieces.push(1536, Source::Encrypted(9512));
        pieces.push(2048, Source::Zeros);
        pieces
    }

    #[test]
    fn what_continues_a_piece_is_joined_to_it() {
        assert_eq!(pieces().len(), 4);
        let boundaries: Vec<u64> = pieces().boundaries().collect();
        assert_eq!(boundaries, [0, 512, 512, 1024, 9000, 2048]);
    }

    #[test]
    fn a_request_is_cut_at_the_pieces() {
        let pieces = pieces();
        let parts: Vec<_> = pieces.within(256, 4096).collect();
        assert_eq!(parts.len(), 4);
        assert_eq!(parts[0].0, 0..256);
        assert!(matches!(parts[0].1, Stored::Given(256, bytes) if bytes.len() == 512));
        assert_eq!(parts[1], (256..768, Stored::Plain(512)));
        assert_eq!(parts[2], (768..1792, Stored::Encrypted(9000)));
        assert_eq!(parts[3], (1792..4096, Stored::Zeros));
        let inside: Vec<_> = pieces.within(1536, 512).collect();
        assert_eq!(inside, [(0..512, Stored::Encrypted(9512))]);
        assert_eq!(pieces.within(1024, 0).count(), 0);
    }
}
