//! Which bytes of the storage are searched, and in which order: recently written data first, then
//! the rest evenly, as time permits.
#![expect(clippy::disallowed_methods, reason = "files of a run in an arm")]

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_os::files;
use cryptbench_system::{Backing, Content};

use super::tree::{Entry, Tree};

/// Bytes searched in one step.
pub(super) const PIECE: u64 = 1 << 20;

/// Leading bytes of a changed file that are searched first. The pattern is at the start of an I/O target, and
/// headers of files are small.
const BEGINNING: u64 = 12 << 20;

/// A source of data.
#[derive(Clone)]
pub(super) enum Source {
    Path(PathBuf),
    /// An open file, from this offset on.
    Open(Arc<File>, u64),
}

impl Source {
    /// Whether the source is a file in that directory.
    pub(super) fn is_below(&self, directory: Option<&Path>) -> bool {
        match (self, directory) {
            (Self::Path(path), Some(directory)) => path.starts_with(directory),
            _ => false,
        }
    }
}

/// A range of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) source: usize,
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// Everything that an arm stores.
#[derive(Default)]
pub(super) struct Pieces {
    /// The sources with names to show to users.
    pub(super) sources: Vec<(String, Source)>,
    /// The ranges in search order.
    pub(super) pieces: Vec<Piece>,
}

impl Pieces {
    /// The pieces of the stored data; only the first `region` bytes of an I/O target that others also use.
    pub(super) fn of(backing: &Backing, before: &[Tree], region: u64) -> Self {
        let mut all = Self::default();
        let (mut first, mut others) = (Vec::new(), Vec::new());
        for content in &backing.content {
            match content {
                Content::IoTarget(io_target) => {
                    let source = Source::Open(Arc::clone(&io_target.file), io_target.extent.offset);
                    let number = all.add("the scratch file".to_owned(), source);
                    first.extend(cut(number, 0, region));
                }
                Content::Path(path) => {
                    let old: HashSet<&Entry> = before
                        .iter()
                        .filter(|t| t.root == *path)
                        .flat_map(|t| &t.entries)
                        .collect();
                    for entry in Tree::of(path).entries.iter().filter(|e| !e.is_directory) {
                        let (at, name) = match entry.path.as_os_str().is_empty() {
                            true => (path.clone(), path.file_name().unwrap_or_default()),
                            false => (path.join(&entry.path), entry.path.as_os_str()),
                        };
                        let number = all.add(name.to_string_lossy().into_owned(), Source::Path(at));
                        let beginning =
                            if old.contains(entry) { 0 } else { entry.len.min(BEGINNING) };
                        first.extend(cut(number, 0, beginning));
                        others.extend(cut(number, beginning, entry.len));
                    }
                }
            }
        }
        all.pieces = first.into_iter().chain(spread(&others)).collect();
        all
    }

    fn add(&mut self, name: String, source: Source) -> usize {
        self.sources.push((name, source));
        self.sources.len() - 1
    }

    /// Total bytes of all pieces.
    pub(super) fn stored(&self) -> u64 {
        self.pieces.iter().map(|p| p.len).sum()
    }
}

/// Cuts the bytes from `from` to `to` of a source into pieces.
fn cut(source: usize, from: u64, to: u64) -> impl Iterator<Item = Piece> {
    let starts = (from..to).step_by(PIECE as usize);
    starts.map(move |offset| Piece { source, offset, len: PIECE.min(to - offset) })
}

/// The same pieces in an order in which every prefix is spread evenly: steps of the golden ratio (Knuth, The Art of
/// Computer Programming, volume 3, section 6.4, theorem S).
fn spread(pieces: &[Piece]) -> Vec<Piece> {
    let n = pieces.len();
    let ideal = (n as f64 * 0.618_033_988_749_894_8) as usize;
    let step = (ideal.max(1)..).find(|step| common_divisor(*step, n) == 1).unwrap_or(1);
    (0..n).map(|i| pieces[(i as u128 * step as u128 % n as u128) as usize]).collect()
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Reads pieces, each with some bytes that follow it in its source.
#[derive(Default)]
pub(super) struct Reader {
    open: Option<(usize, Arc<File>)>,
}

impl Reader {
    /// Fills `buffer` from `piece` on and returns the number of bytes: the piece, and as many of
    /// the following bytes as fit. Fewer if the file has become shorter or is gone.
    pub(super) fn read(
        &mut self,
        pieces: &Pieces,
        piece: Piece,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        let (file, base) = match &pieces.sources[piece.source].1 {
            Source::Open(file, base) => (Arc::clone(file), *base),
            Source::Path(path) => match &self.open {
                Some((number, file)) if *number == piece.source => (Arc::clone(file), 0),
                _ => {
                    self.close();
                    let file = match File::open(path) {
                        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
                        other => Arc::new(other?),
                    };
                    self.open = Some((piece.source, Arc::clone(&file)));
                    (file, 0)
                }
            },
        };
        let mut there = 0;
        while there < buffer.len() {
            let at = base + piece.offset + there as u64;
            match files::read_at(&file, &mut buffer[there..], at) {
                Ok(0) => break,
                Ok(n) => there += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // A direct read starting in the middle of a sector at the end of a file.
                Err(_) if there >= piece.len as usize => break,
                Err(e) => return Err(e),
            }
        }
        Ok(there)
    }

    /// Closes the file and drops its pages, because it will be read back from the storage.
    pub(super) fn close(&mut self) {
        if let Some((_, file)) = self.open.take() {
            files::forget(&file);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_piece_comes_once_and_every_beginning_is_spread() {
        for n in [0usize, 1, 2, 3, 10, 100, 999, 1024] {
            let all: Vec<_> = cut(0, 0, n as u64 * PIECE).collect();
            assert_eq!(all.len(), n);
            let order = spread(&all);
            let mut sorted = order.clone();
            sorted.sort_by_key(|p| p.offset);
            assert_eq!(sorted, all);
            if n >= 100 {
                // The first tenth leaves no gap larger than three times the mean distance.
                let mut part: Vec<_> = order[..n / 10].iter().map(|p| p.offset / PIECE).collect();
                part.sort_unstable();
                let widest = part.windows(2).map(|w| w[1] - w[0]).max().unwrap();
                assert!(widest <= 30, "{n}: {widest}");
            }
        }
    }

    #[test]
    fn what_was_changed_comes_first_and_whole_files_are_cut_to_their_end() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("old"), vec![0; 3 << 20]).unwrap();
        let before = [Tree::of(dir.path())];
        fs::create_dir(dir.path().join("deep")).unwrap();
        fs::write(dir.path().join("deep/new"), vec![0; (1 << 20) + 5]).unwrap();
        let content = vec![Content::Path(dir.path().to_owned())];
        let backing = Backing { content, ..Backing::default() };
        let pieces = Pieces::of(&backing, &before, 0);
        assert_eq!(pieces.stored(), (4 << 20) + 5);
        let name = |p: &Piece| pieces.sources[p.source].0.as_str();
        let names: Vec<_> = pieces.pieces.iter().map(name).collect();
        assert_eq!(names, ["deep/new", "deep/new", "old", "old", "old"]);
        assert_eq!(pieces.pieces[1].len, 5);
        let mut buffer = vec![0; PIECE as usize + 64];
        let mut reader = Reader::default();
        let mut read = |i: usize| reader.read(&pieces, pieces.pieces[i], &mut buffer).unwrap();
        assert_eq!((read(0), read(1)), ((1 << 20) + 5, 5));
        fs::remove_file(dir.path().join("old")).unwrap();
        assert_eq!(read(2), 0);
    }
}
