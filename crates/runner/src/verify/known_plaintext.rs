//! Files with known names, sizes and times: anything that the storage shows about these files is revealed by the
//! system.

use std::path::{Path, PathBuf};

use super::pattern::Pattern;

/// Lengths of the names and sizes of the files in bytes. Two files differ by one in both: if they also differ on the
/// storage, the stored files reveal lengths and sizes exactly. Rounding to a power of two does not separate them, and
/// the files' names are short enough for all systems (143 bytes in eCryptfs).
const FILES: [(usize, u64); 5] =
    [(17, 70_001), (18, 70_002), (40, 20_011), (41, 1_000_003), (90, 300_007)];

/// Total size of the files in bytes.
pub(super) const BYTES: u64 = 70_001 + 70_002 + 20_011 + 1_000_003 + 300_007;

/// The modification time of the files: 4:05:06 on 3 February 2001, in Unix seconds.
pub(super) const CHANGED: u64 = 981_173_106;

/// Files and their directories.
pub(super) struct Known {
    /// The outer directory, and the directory within it.
    pub(super) directories: [PathBuf; 2],
    pub(super) files: Vec<File>,
    /// A word contained in all names.
    pub(super) word: String,
}

/// A file.
pub(super) struct File {
    /// The file's path relative to the arm's files.
    pub(super) path: PathBuf,
    pub(super) name_len: usize,
    pub(super) size: u64,
    /// Its stream of the pattern.
    pub(super) stream: u16,
}

impl Known {
    /// Files whose names come from the pattern.
    pub(super) fn new(pattern: &Pattern) -> Self {
        let word = pattern.word().to_owned();
        let outer = PathBuf::from(format!("{word}-outer"));
        let inner = outer.join(format!("{word}-inner"));
        let files = FILES
            .iter()
            .enumerate()
            .map(|(i, &(name_len, size))| {
                // Names differ in more than their length, because some systems keep them in
                // alphabetical order.
                let letter = char::from(b'a' + i as u8).to_string();
                let name = format!("{word}{}", letter.repeat(name_len - word.len()));
                let directory: &Path = if i < 3 { &outer } else { &inner };
                File { path: directory.join(name), name_len, size, stream: i as u16 + 1 }
            })
            .collect();
        Self { directories: [outer, inner], files, word }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_lengths_and_sizes_add_up() {
        let known = Known::new(&Pattern::new());
        assert_eq!(known.files.iter().map(|f| f.size).sum::<u64>(), BYTES);
        for file in &known.files {
            let name = file.path.file_name().unwrap().to_str().unwrap();
            assert_eq!(name.len(), file.name_len);
            assert!(name.starts_with(&known.word));
        }
        assert!(known.directories[1].starts_with(&known.directories[0]));
    }
}
