//! Private directories for mounts, which have random names and are removed only when empty.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use cryptbench_os::{Directory, FileType};
use serde::{Deserialize, Serialize};

use super::ours::held;
use super::{Identity, NOT_OURS, Recovered, Resource, ResourceStack, removed};
use crate::SystemError;
use crate::machine::Machine;
use crate::provision::runtime_directory;

/// A directory created for one of our mounts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountPoint {
    /// Absolute path.
    pub path: PathBuf,
}

/// An unused path with 48 random bits in the private directory for mounts.
///
/// # Errors
/// [`SystemError::Target`] if no private directory can be created.
pub(crate) fn unused() -> Result<PathBuf, SystemError> {
    let Some(parent) = Machine::this().mount_points.or_else(runtime_directory) else {
        return Err(SystemError::Target {
            path: PathBuf::from("/run"),
            problem: "cannot create a private directory for a mount; specify a mount point"
                .to_owned(),
        });
    };
    let mut number = [0; 6];
    getrandom::fill(&mut number).map_err(|e| {
        SystemError::io("name a directory in", &parent)(io::Error::other(e.to_string()))
    })?;
    let name: String = number.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(parent.join(name))
}

/// Creates an empty private directory for a mount.
pub(crate) fn create(stack: &mut ResourceStack) -> Result<PathBuf, SystemError> {
    let path = unused()?;
    stack.create(MountPoint { path: path.clone() }, || {
        let failed = || SystemError::io("create", &path);
        let (above, name) = Directory::of(&path).map_err(failed())?;
        let made = above.create_subdirectory(&name).map_err(failed())?;
        let identity = made.identity().map_err(|e| {
            let _ = above.remove_directory(&name);
            SystemError::io("inspect", &path)(e)
        })?;
        Ok(((above, name), Some(identity.into())))
    })?;
    Ok(path)
}

impl Resource for MountPoint {
    /// The directory that contains it, and its name there.
    type Live = (Directory, OsString);
    const EXCLUSIVE: bool = true;

    fn destroy(
        &self,
        (above, name): &mut Self::Live,
        identity: Option<Identity>,
    ) -> Result<(), SystemError> {
        match above.entry(name) {
            Ok(Some(found)) if identity.is_some_and(|id| id.is(found.identity.into())) => {
                above.remove_directory(name).map_err(SystemError::io("remove", &self.path))
            }
            Ok(_) => Ok(()),
            Err(e) => Err(SystemError::io("inspect", &self.path)(e)),
        }
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        recover(&self.path, identity)
    }
}

/// Removes only an empty directory, so that no data is lost.
pub(super) fn recover(path: &Path, identity: Option<Identity>) -> Recovered {
    let (above, name, found) = held(path)?;
    let ours = identity.is_none_or(|id| id.is(found.identity.into()));
    if found.kind != FileType::Directory || !ours {
        return NOT_OURS;
    }
    removed(above.remove_directory(&name))
}
