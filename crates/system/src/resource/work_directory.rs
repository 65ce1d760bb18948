//! Directories that are removed with all their contents. They hold the files of workloads and the data that
//! systems store.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cryptbench_os::{Directory, FileType};
use serde::{Deserialize, Serialize};

use super::mount_point;
use super::ours::{held, is_in_runtime_directory, is_noted};
use super::stack::Made;
use super::{Identity, Journal, NOT_OURS, Recovered, Resource, removed};
use crate::SystemError;

/// A private directory that is removed with all its contents. Its name starts with `cryptbench-` unless it is
/// in one of our own mounts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkTree {
    /// Absolute path.
    pub path: PathBuf,
}

/// The open directory.
pub(crate) struct Tree {
    pub(super) held: Directory,
    /// The directory that contains it, and its name there.
    above: Directory,
    name: OsString,
}

impl WorkTree {
    /// Creates the directory, empty and accessible only to this user.
    pub(crate) fn make(&self) -> Result<(Tree, Option<Identity>), SystemError> {
        let failed = || SystemError::io("create", &self.path);
        let (above, name) = Directory::of(&self.path).map_err(failed())?;
        let held = above.create_subdirectory(&name).map_err(failed())?;
        let identity = held.identity().map_err(|e| {
            let _ = above.remove_directory(&name);
            SystemError::io("inspect", &self.path)(e)
        })?;
        Ok((Tree { held, above, name }, Some(identity.into())))
    }
}

impl Resource for WorkTree {
    type Live = Tree;
    const EXCLUSIVE: bool = true;

    fn destroy(&self, live: &mut Tree, _identity: Option<Identity>) -> Result<(), SystemError> {
        let Tree { held, above, name } = live;
        let failed = || SystemError::io("remove", &self.path);
        held.clear().map_err(failed())?;
        let identity = held.identity().map_err(failed())?;
        let is_there = |above: &Directory, name: &OsString| {
            above.entry(name).is_ok_and(|found| found.is_some_and(|f| f.identity == identity))
        };
        if is_there(above, name) {
            return above.remove_directory(name).map_err(failed());
        }
        // The owner of the parent may have renamed, moved or removed it in the meantime.
        match held.path().and_then(|path| Directory::of(&path)) {
            Ok((above, name)) if is_there(&above, &name) => {
                above.remove_directory(&name).map_err(failed())
            }
            _ => Ok(()),
        }
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        // Without an identity, the process died between creating and recording the directory, which is
        // therefore still empty.
        let Some(identity) = identity else { return mount_point::recover(&self.path, None) };
        let (above, name, found) = held(&self.path)?;
        // All contents will be removed, so the name must also be one that a run generates.
        let prefixed = name.to_str().is_some_and(|name| name.starts_with("cryptbench-"));
        let named = prefixed || is_in_runtime_directory(&self.path);
        if found.kind != FileType::Directory || !named || !is_noted(&self.path, &found, identity) {
            return NOT_OURS;
        }
        removed(above.remove_tree(&name, found.identity))
    }
}

/// A private directory that is removed with its contents when it is dropped, or otherwise by cleanup.
pub struct WorkDirectory {
    /// `None` once it has been removed.
    made: Option<Made<WorkTree>>,
    path: PathBuf,
}

impl WorkDirectory {
    /// Creates `path`, which must not exist.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn create(path: &Path, journal: &Journal) -> Result<Self, SystemError> {
        let what = WorkTree { path: path.to_owned() };
        let made = Made::make(journal, what.clone(), || what.make())?;
        Ok(Self { made: Some(made), path: path.to_owned() })
    }

    /// Its location.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it. On failure it stays in the journal, and cleanup tries again.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn remove(mut self) -> Result<(), SystemError> {
        self.made.take().map_or(Ok(()), |mut made| made.destroy())
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        // On failure the directory stays in the journal, and cleanup tries again.
        let _ = self.made.take().map(|mut made| made.destroy());
    }
}
