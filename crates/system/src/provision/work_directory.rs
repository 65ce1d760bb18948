//! A directory for the files that workloads make: it goes with all that is in it.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::ledger::{Act, Identity, Ledger};
use crate::SystemError;

/// A private directory that is removed with its content when it is dropped, and by cleanup when it is
/// not.
pub struct WorkDirectory {
    path: PathBuf,
    identity: Identity,
    ledger: Ledger,
    act: u32,
    removed: bool,
}

impl WorkDirectory {
    /// Creates `path`, which must not exist.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn create(path: &Path, mut ledger: Ledger) -> Result<Self, SystemError> {
        let (act, ()) = ledger.attempt(&Act::WorkDirectory { path: path.to_owned() }, || {
            fs::DirBuilder::new().mode(0o700).create(path).map_err(SystemError::io("create", path))
        })?;
        let identity = Identity::at(path).map_err(SystemError::io("inspect", path))?;
        ledger.made(act, identity)?;
        Ok(Self { path: path.to_owned(), identity, ledger, act, removed: false })
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it and says whether that went well.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn remove(mut self) -> Result<(), SystemError> {
        self.take_down()
    }

    pub(super) fn take_down(&mut self) -> Result<(), SystemError> {
        if std::mem::replace(&mut self.removed, true) {
            return Ok(());
        }
        // Only the very directory that was made. What is removed follows no symbolic link
        // (remove_dir_all works from open directories).
        match Identity::at(&self.path) {
            Ok(found) if found == self.identity => {
                fs::remove_dir_all(&self.path).map_err(SystemError::io("remove", &self.path))?;
            }
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(SystemError::io("inspect", &self.path)(e)),
        }
        self.ledger.undone(self.act)
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        // What fails here stays in the ledger, and cleanup tries again.
        let _ = self.take_down();
    }
}
