//! The visible names, sizes and times in a directory.
#![expect(clippy::disallowed_methods, reason = "files of a run in an arm")]

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use cryptbench_os::{Details, FileType};

/// Directories deeper than this are not searched; no system creates them.
const DEEPEST: usize = 64;

/// A directory with everything in it, or a single file.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) root: PathBuf,
    pub(super) entries: Vec<Entry>,
}

/// A file or directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    /// The entry's path from the root; empty if the root is a file.
    pub(super) path: PathBuf,
    pub(super) is_directory: bool,
    pub(super) len: u64,
    /// Modification time in Unix seconds and nanoseconds.
    pub(super) changed: (i64, i64),
}

impl Entry {
    fn new(path: PathBuf, found: &Metadata) -> Self {
        Self {
            path,
            is_directory: found.is_dir(),
            len: found.len(),
            changed: Details::of(found).changed,
        }
    }

    /// Length of its name in bytes.
    pub(super) fn name_len(&self) -> usize {
        self.path.file_name().map_or(0, std::ffi::OsStr::len)
    }
}

impl Tree {
    /// The current contents of `root`. Does not follow symbolic links, and omits unreadable entries.
    pub(super) fn of(root: &Path) -> Self {
        let mut entries = Vec::new();
        match fs::symlink_metadata(root) {
            Ok(found) if found.is_dir() => walk(root, Path::new(""), DEEPEST, &mut entries),
            Ok(found) => {
                let mut entry = Entry::new(PathBuf::new(), &found);
                if Details::of(&found).kind == FileType::BlockDevice {
                    entry.len = size_of_device(root).unwrap_or(0);
                }
                entries.push(entry);
            }
            Err(_) => {}
        }
        Self { root: root.to_owned(), entries }
    }

    /// The entries whose paths are not in `old`.
    pub(super) fn since(&self, old: Option<&Self>) -> Vec<Entry> {
        let old: HashSet<&Path> =
            old.into_iter().flat_map(|t| &t.entries).map(|e| e.path.as_path()).collect();
        self.entries.iter().filter(|e| !old.contains(e.path.as_path())).cloned().collect()
    }
}

fn size_of_device(path: &Path) -> io::Result<u64> {
    File::open(path)?.seek(SeekFrom::End(0))
}

fn walk(root: &Path, below: &Path, deeper: usize, entries: &mut Vec<Entry>) {
    for name in
        fs::read_dir(root.join(below)).into_iter().flatten().flatten().map(|e| e.file_name())
    {
        let path = below.join(name);
        let Ok(found) = fs::symlink_metadata(root.join(&path)) else { continue };
        let is_directory = found.is_dir();
        entries.push(Entry::new(path.clone(), &found));
        if is_directory && deeper > 0 {
            walk(root, &path, deeper - 1, entries);
        }
    }
}
