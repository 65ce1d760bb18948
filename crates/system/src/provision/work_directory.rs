//! A directory for the files that workloads make: it goes with all that is in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cryptbench_os::{Directory, FileIdentity};

use super::ledger::{Act, Identity, Ledger};
use crate::SystemError;

/// A private directory that is removed with its content when it is dropped, and by cleanup when it is
/// not.
pub struct WorkDirectory {
    path: PathBuf,
    /// Where it was made, and its name there.
    above: Directory,
    name: OsString,
    identity: FileIdentity,
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
        let failed = || SystemError::io("create", path);
        let (above, name) = Directory::of(path).map_err(failed())?;
        let (act, made) = ledger.attempt(&Act::WorkDirectory { path: path.to_owned() }, || {
            above.create_subdirectory(&name).map_err(failed())
        })?;
        let identity = made.identity().map_err(SystemError::io("inspect", path))?;
        ledger.made(act, Identity::from(identity))?;
        Ok(Self { path: path.to_owned(), above, name, identity, ledger, act, removed: false })
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
        // Only the very directory that was made.
        match self.above.entry(&self.name) {
            Ok(Some(found)) if found.identity == self.identity => {
                let removed = self.above.remove_tree(&self.name, self.identity);
                removed.map_err(SystemError::io("remove", &self.path))?;
            }
            Ok(_) => {}
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
