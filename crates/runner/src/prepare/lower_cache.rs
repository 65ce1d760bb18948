//! Finds the stored data of a target that the user prepared. A file system on top of a directory stores its
//! ciphertext in files there, and a container is a file. The page cache holds the data of these files a second
//! time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cryptbench_catalog::ECRYPTFS;
use cryptbench_os::{Details, storage};
use cryptbench_system::resource::loop_device;

use crate::decide::storage::Target;

/// Maximum number of files in a store that is walked completely between trials.
const FEW: usize = 2_000;

/// Maximum number of files in a store that is searched once.
const MANY: usize = 100_000;

/// The underlying storage of a target.
pub(super) enum Below {
    /// The target is only a device: nothing is cached twice.
    Nothing,
    /// The file, or the directory of all files, with the stored data.
    Stored(PathBuf),
    /// The storage could not be found, for this reason.
    Hidden(&'static str),
}

/// Finds where `target` stores the file of `len` bytes that was written to it since `began`.
pub(super) fn look_below(target: &Target, began: SystemTime, len: u64) -> Below {
    // A mount on a loop device or on a mapping over one, as for containers: the page cache also holds the data of
    // the backing file.
    if let Some(file) = target.kept_in() {
        return match file.is_file() {
            true => Below::Stored(file),
            false => Below::Hidden("the file of its loop device cannot be reached"),
        };
    }
    if !is_stacked(target) {
        return Below::Nothing;
    }
    let store = Path::new(&target.ground.source);
    if !store.is_absolute() || !store.is_dir() {
        return Below::Hidden("its mount does not show in which directory it stores its data");
    }
    if fs::metadata(store)
        .is_ok_and(|found| Details::of(&found).file_system == target.ground.number)
    {
        return Below::Hidden("it is mounted over the directory in which it stores its data");
    }
    // Clocks of file systems are coarser than the system clock.
    let since = began - Duration::from_secs(1);
    let mut seen = Seen { files: 0, written: Vec::new() };
    if !seen.walk(store, since, len / 2) {
        return Below::Hidden("it stores too many files to search");
    }
    match &seen.written[..] {
        _ if seen.files <= FEW => Below::Stored(store.to_owned()),
        [only] => Below::Stored(only.clone()),
        _ => Below::Hidden("it is unknown which of its many files hold the scratch file"),
    }
}

/// Whether direct writes to `target` end up in a page cache below it: the cache of a loop device's file, or of the
/// files below a file system on top of a directory.
pub(super) fn caches_below(target: &Target) -> bool {
    let on_loop = target.kept_in().and_then(|file| loop_device::of_file(&file, None));
    on_loop.is_some_and(|device| loop_device::caches(&device)) || is_stacked(target)
}

fn is_stacked(target: &Target) -> bool {
    let file_system = target.ground.filesystem.as_str();
    let over_directory =
        file_system.starts_with("fuse") || ECRYPTFS.mounted_as == Some(file_system);
    target.is_directory() && over_directory && file_system != "fuseblk"
}

/// The processes that serve a FUSE file system, if the system reports them.
pub(super) fn serving(target: &Target) -> Vec<u32> {
    if !target.is_directory() || !target.ground.filesystem.starts_with("fuse") {
        return Vec::new();
    }
    storage::serving(target.ground.number)
}

struct Seen {
    files: usize,
    /// Large files that have been written since.
    written: Vec<PathBuf>,
}

impl Seen {
    /// Returns whether all files could be inspected. Does not follow symbolic links.
    fn walk(&mut self, directory: &Path, since: SystemTime, least: u64) -> bool {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() {
                if !self.walk(&entry.path(), since, least) {
                    return false;
                }
                continue;
            }
            self.files += 1;
            if self.files > MANY {
                return false;
            }
            if found.len() >= least && found.modified().is_ok_and(|at| at >= since) {
                self.written.push(entry.path());
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_was_written_is_found_among_others() {
        let dir = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - Duration::from_secs(3600);
        for (name, len, written) in [("a", 9000, false), ("sub/b", 9000, true), ("c", 10, true)] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = fs::File::create(&path).unwrap();
            file.set_len(len).unwrap();
            if !written {
                file.set_modified(old).unwrap();
            }
        }
        let mut seen = Seen { files: 0, written: Vec::new() };
        assert!(seen.walk(dir.path(), SystemTime::now() - Duration::from_secs(60), 4500));
        assert_eq!((seen.files, seen.written), (3, vec![dir.path().join("sub/b")]));
    }
}
