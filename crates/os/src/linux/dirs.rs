//! Directories by their paths.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(crate) fn may_write(path: &Path) -> bool {
    access(path, Access::WRITE_OK).is_ok()
}

pub(crate) fn writable(path: &Path) -> io::Result<()> {
    Ok(access(path, Access::WRITE_OK | Access::EXEC_OK)?)
}

pub(crate) fn resolved(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}
