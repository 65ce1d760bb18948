//! Directories by path: creates private directories and checks permissions.

use std::io;
use std::path::{Path, PathBuf};

/// Creates a directory and its missing parents, accessible only to this user if the system supports access
/// restrictions.
///
/// # Errors
/// The operating system's error. An existing directory is not an error.
pub fn create_private(path: &Path) -> io::Result<()> {
    crate::system::dirs::create_private(path)
}

/// Whether this user may write to the target of `path`. True if the system does not report this; in that case, only an
/// attempt can show it.
pub fn may_write(path: &Path) -> bool {
    crate::system::dirs::may_write(path)
}

/// Checks that this user may create files in the directory `path`. Succeeds if the system does not report the
/// permissions.
///
/// # Errors
/// The operating system's error.
pub fn writable(path: &Path) -> io::Result<()> {
    crate::system::dirs::writable(path)
}

/// The path with links resolved, in its usual form.
///
/// # Errors
/// The operating system's error, for example if the path does not exist.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    crate::system::dirs::resolved(path)
}
