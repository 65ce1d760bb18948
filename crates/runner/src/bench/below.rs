//! What a stacked system keeps in the page cache below its mount.

use std::fs::{self, File};
use std::path::Path;

use cryptbench_system::Contender;

/// Drops from the page cache what a stacked system keeps of its files below its mount, where neither direct
/// I/O nor advice on the mount reaches.
pub(super) fn drop_below(contender: &Contender) {
    let Some(stored) = &contender.stored else { return };
    each_file(stored, &mut |file| {
        // Advice: where it is not followed, the device counters show it.
        let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    });
}

/// Files up to which each is flushed by itself.
const FEW: usize = 64;

/// Writes back what a stacked system left in the page cache: FUSE does not pass every flush on.
///
/// Only its own files while they are few: to flush the whole file system waits for what others wrote there.
pub(super) fn settle_below(contender: &Contender) {
    let Some(stored) = &contender.stored else { return };
    let mut files = 0;
    each_file(stored, &mut |file| {
        files += 1;
        if files <= FEW {
            let _ = rustix::fs::fdatasync(file);
        }
    });
    if files > FEW
        && let Ok(file) = File::open(stored)
    {
        let _ = rustix::fs::syncfs(&file);
    }
}

/// Every regular file at or below `path`; symbolic links are not followed.
fn each_file(path: &Path, act: &mut dyn FnMut(&File)) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    if found.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            each_file(&entry.path(), act);
        }
    } else if found.is_file()
        && let Ok(file) = File::open(path)
    {
        act(&file);
    }
}
