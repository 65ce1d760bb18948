//! What shows of files whose names, sizes and times are known, to somebody who sees what lies on the storage.

use cryptbench_record::{Names, Reveals, Sizes};

use super::known_plaintext::{CHANGED, File, Known};
use super::tree::Entry;

/// What a stored file may be larger than the one that it stands for: an eighth for authentication tags of the smallest
/// blocks, and 16 KiB for a header and rounding (eCryptfs: 8 KiB and 4 KiB).
fn largest(size: u64) -> u64 {
    size + size / 8 + (16 << 10)
}

/// What `fresh`, the entries that came to lie on the storage, tell of the files of `known`.
pub(super) fn reveals(known: &Known, fresh: &[Entry]) -> Reveals {
    let stored: Vec<&Entry> = fresh.iter().filter(|e| !e.is_directory).collect();
    let matched = matched(known, &stored);
    let count = stored.len();
    // A file of the system's own beside each file and in each directory still tells how many there are.
    let most = 2 * (known.files.len() + known.directories.len()) + 2;
    Reveals {
        names: Some(names(known, fresh, matched.as_deref())),
        sizes: Some(matched.as_deref().map_or(Sizes::Hidden, sizes)),
        count: Some((known.files.len()..=most).contains(&count)),
        tree: Some(tree(known, fresh)),
        times: Some(stored.iter().any(|e| e.changed.0 == CHANGED as i64)),
        signatures: Vec::new(),
        files: Some((known.files.len() as u32, count as u32)),
    }
}

/// What a container shows in which neither content nor names were found.
pub(super) fn nothing() -> Reveals {
    Reveals {
        names: Some(Names::Hidden),
        sizes: Some(Sizes::Hidden),
        count: Some(false),
        tree: Some(false),
        times: Some(false),
        ..Reveals::default()
    }
}

/// For each known file an entry of its own that can be it by its size; `None` if one has none.
fn matched<'a>(known: &'a Known, stored: &[&'a Entry]) -> Option<Vec<(&'a File, &'a Entry)>> {
    let mut left = stored.to_vec();
    left.sort_by_key(|e| e.len);
    let mut files: Vec<&File> = known.files.iter().collect();
    files.sort_by_key(|f| f.size);
    let mut pairs = Vec::new();
    for file in files {
        let at = left.iter().position(|e| (file.size..=largest(file.size)).contains(&e.len))?;
        pairs.push((file, left.remove(at)));
    }
    Some(pairs)
}

/// Whether two files that differ by one byte differ by as much on the storage.
fn sizes(matched: &[(&File, &Entry)]) -> Sizes {
    let exact = matched.windows(2).any(|w| {
        let ((a, stored_a), (b, stored_b)) = (w[0], w[1]);
        b.size == a.size + 1 && stored_b.len == stored_a.len + 1
    });
    if exact { Sizes::Exact } else { Sizes::Rounded }
}

fn names(known: &Known, fresh: &[Entry], matched: Option<&[(&File, &Entry)]>) -> Names {
    let plain = |e: &Entry| e.path.to_string_lossy().contains(&known.word);
    if fresh.iter().any(plain) {
        return Names::Plain;
    }
    // Which entry stands for which file is known from its size; else all of them are looked at together.
    let lengths: Vec<(usize, usize)> = match matched {
        Some(pairs) => pairs.iter().map(|(f, e)| (f.name_len, e.name_len())).collect(),
        None => fresh.iter().filter(|e| !e.is_directory).map(|e| (0, e.name_len())).collect(),
    };
    let range = |of: &mut dyn Iterator<Item = usize>| {
        of.fold((usize::MAX, 0), |(least, most), n| (least.min(n), most.max(n)))
    };
    let (least, most) = range(&mut lengths.iter().map(|l| l.1));
    let (short, long) = range(&mut known.files.iter().map(|f| f.name_len));
    // Names of the system's own making differ by a suffix at most.
    if most.saturating_sub(least) < (long - short) / 2 {
        return Names::Hidden;
    }
    let stored = |len: usize| lengths.iter().find(|l| l.0 == len).map(|l| l.1);
    let differ = known.files.iter().any(
        |f| matches!((stored(f.name_len), stored(f.name_len + 1)), (Some(a), Some(b)) if a != b),
    );
    if differ { Names::Length } else { Names::RoundedLength }
}

/// Whether the directories of the known files are there, one in the other, and no more.
fn tree(known: &Known, fresh: &[Entry]) -> bool {
    let directories: Vec<_> = fresh.iter().filter(|e| e.is_directory).collect();
    directories.len() == known.directories.len()
        && directories.iter().any(|d| {
            d.path.parent().is_some_and(|parent| directories.iter().any(|o| o.path == parent))
        })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::pattern::Pattern;
    use super::*;

    fn known() -> Known {
        Known::new(&Pattern::new())
    }

    fn entry(path: String, is_directory: bool, len: u64, changed: i64) -> Entry {
        Entry { path: PathBuf::from(path), is_directory, len, changed: (changed, 0) }
    }

    /// A system that stores each file as one, with these names and sizes.
    fn stored(
        known: &Known,
        name: impl Fn(usize) -> usize,
        size: impl Fn(u64) -> u64,
        changed: i64,
    ) -> Vec<Entry> {
        let mut all = vec![
            entry("O".repeat(name(22)), true, 4096, 1),
            entry(format!("{}/{}", "O".repeat(name(22)), "I".repeat(name(22))), true, 4096, 1),
        ];
        let path = |i: usize, len: usize| {
            format!("{}/{}", "O".repeat(name(22)), i.to_string().repeat(name(len)))
        };
        all.extend(
            known
                .files
                .iter()
                .enumerate()
                .map(|(i, f)| entry(path(i, f.name_len), false, size(f.size), changed)),
        );
        all
    }

    #[test]
    fn plain_storage_shows_everything() {
        let known = known();
        let mut all: Vec<_> = known
            .directories
            .iter()
            .map(|d| entry(d.display().to_string(), true, 4096, 1))
            .collect();
        all.extend(
            known
                .files
                .iter()
                .map(|f| entry(f.path.display().to_string(), false, f.size, CHANGED as i64)),
        );
        let expected = Reveals {
            names: Some(Names::Plain),
            sizes: Some(Sizes::Exact),
            count: Some(true),
            tree: Some(true),
            times: Some(true),
            signatures: Vec::new(),
            files: Some((5, 5)),
        };
        assert_eq!(reveals(&known, &all), expected);
    }

    /// Names in base 64 of multiples of 16 bytes, 18 bytes for each file and 32 for each block of 4 KiB: gocryptfs.
    #[test]
    fn encrypted_names_and_sizes_are_recovered_from_what_is_stored() {
        let known = known();
        let name = |len: usize| (len / 16 + 1) * 16 * 4 / 3;
        let size = |len: u64| len + 18 + len.div_ceil(4096) * 32;
        let mut all = stored(&known, name, size, CHANGED as i64);
        all.push(entry("O/gocryptfs.diriv".to_owned(), false, 16, 1));
        let found = reveals(&known, &all);
        assert_eq!((found.names, found.sizes), (Some(Names::RoundedLength), Some(Sizes::Exact)));
        assert_eq!((found.count, found.tree, found.times), (Some(true), Some(true), Some(true)));
        let exact = reveals(&known, &stored(&known, |len| len * 2, size, 1));
        assert_eq!((exact.names, exact.times), (Some(Names::Length), Some(false)));
    }

    /// A header of 8 KiB and pages of 4 KiB: eCryptfs.
    #[test]
    fn sizes_in_whole_pages_are_rounded() {
        let known = known();
        let size = |len: u64| 8192 + len.next_multiple_of(4096);
        let found = reveals(&known, &stored(&known, |_| 30, size, 1));
        assert_eq!((found.names, found.sizes), (Some(Names::Hidden), Some(Sizes::Rounded)));
    }

    /// Equal blocks in directories by their names: CryFS.
    #[test]
    fn equal_blocks_hide_names_sizes_count_and_tree() {
        let known = known();
        let blocks = super::super::known_plaintext::BYTES / 16384 + 12;
        let mut all: Vec<_> =
            (0..blocks).map(|i| entry(format!("{i:03}/{i:029}"), false, 16384, 1)).collect();
        all.extend((0..blocks).map(|i| entry(format!("{i:03}"), true, 4096, 1)));
        let found = reveals(&known, &all);
        assert_eq!(Reveals { files: None, ..found }, nothing());
        assert_eq!(found.files, Some((5, blocks as u32)));
    }

    #[test]
    fn nothing_new_shows_nothing() {
        let found = reveals(&known(), &[]);
        assert_eq!(Reveals { files: None, ..found }, nothing());
    }
}
