//! Caches flushed and dropped before a trial.

use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags, openat};

use super::tree::{Open, Tree};
use crate::LoadError;

/// Writes everything that the file system of the set still holds back.
pub(super) fn flush(open: &Open) -> Result<(), LoadError> {
    flush_fd(open.root.as_fd()).map_err(|e| LoadError::Sync { source: e.into() })
}

#[cfg(target_os = "linux")]
fn flush_fd(fd: std::os::fd::BorrowedFd<'_>) -> rustix::io::Result<()> {
    rustix::fs::syncfs(fd)
}

/// Elsewhere there is no flush of one file system alone.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps)]
fn flush_fd(_fd: std::os::fd::BorrowedFd<'_>) -> rustix::io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Drops the files' pages where `data` is set, and the kernel's directory and inode caches where this
/// process may; returns whether it could.
pub(super) fn drop_caches(tree: &Tree, open: &Open, data: bool) -> Result<bool, LoadError> {
    if data {
        for (index, file) in tree.files.iter().enumerate().filter(|(_, f)| f.exists) {
            if file.size > 0 {
                drop_pages(tree, open, index)?;
            }
        }
    }
    Ok(drop_metadata())
}

fn drop_pages(tree: &Tree, open: &Open, index: usize) -> Result<(), LoadError> {
    let (folder, name) = tree.location(index);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let failed = |e| LoadError::file("open", tree.path_of(index), e);
    let file = openat(&open.folders[folder], name, flags, Mode::empty()).map_err(failed)?;
    advise(file.as_fd());
    Ok(())
}

/// Advice only: a file system may keep its pages, which the device's counters then tell.
#[cfg(target_os = "linux")]
fn advise(file: std::os::fd::BorrowedFd<'_>) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn advise(_file: std::os::fd::BorrowedFd<'_>) {}

/// "2" asks for dentries and inodes (Linux, Documentation/admin-guide/sysctl/vm.rst); only root may.
#[cfg(target_os = "linux")]
fn drop_metadata() -> bool {
    std::fs::write("/proc/sys/vm/drop_caches", "2\n").is_ok()
}

#[cfg(not(target_os = "linux"))]
fn drop_metadata() -> bool {
    false
}
