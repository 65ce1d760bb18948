//! Flushes and drops caches before a trial.

use std::ffi::OsStr;

use cryptbench_os::machine::drop_directory_caches;

use super::tree::{Open, Tree};
use crate::LoadError;

/// Writes all pending data of the set's file system to the device.
pub(super) fn flush(open: &Open) -> Result<(), LoadError> {
    open.root.sync_file_system().map_err(|source| LoadError::Sync { source })
}

/// Drops the files' pages if `data` is set, and the kernel's directory and inode caches if this process is permitted
/// to. Returns whether these caches could be dropped.
pub(super) fn drop_caches(tree: &Tree, open: &Open, data: bool) -> Result<bool, LoadError> {
    if data {
        for (index, file) in tree.files.iter().enumerate().filter(|(_, f)| f.exists) {
            if file.size > 0 {
                drop_pages(tree, open, index)?;
            }
        }
    }
    Ok(drop_directory_caches())
}

fn drop_pages(tree: &Tree, open: &Open, index: usize) -> Result<(), LoadError> {
    let (folder, name) = tree.location(index);
    let failed = |e| LoadError::file("open", tree.path_of(index), e);
    // This is only advice: a file system may keep its pages. If it does so, the device's counters reveal it.
    open.folders[folder].forget(OsStr::new(&name)).map_err(failed)
}
