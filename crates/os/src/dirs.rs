//! Directories by their paths: made for one user alone, and looked at before something is put there.

use std::io;
use std::path::Path;

/// Makes a directory, and those on the way to it that are missing, for this user alone as far as the system has that.
///
/// # Errors
/// What the system says. One that is there already is none.
pub fn create_private(path: &Path) -> io::Result<()> {
    crate::system::dirs::create_private(path)
}

/// Whether this user may write to what `path` leads to. Where the system cannot be asked, yes: trying tells.
#[must_use]
pub fn may_write(path: &Path) -> bool {
    crate::system::dirs::may_write(path)
}
