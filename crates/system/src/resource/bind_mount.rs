//! Bind mounts of a directory at a location where only root can rename it (mount(2), `MS_BIND`).

use std::path::{Path, PathBuf};

use cryptbench_os::Directory;
use serde::{Deserialize, Serialize};

use super::mount::unmount_ours;
use super::ours::is_in_runtime_directory;
use super::{Identity, NOT_OURS, Recovered, Resource, ResourceStack, removed};
use crate::SystemError;
use crate::provision::filesystem;
use crate::provision::mountinfo::mount_at;

/// A bind mount of a directory at a location where only root can rename it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindMount {
    /// Absolute path of the mount point.
    pub path: PathBuf,
}

impl BindMount {
    /// Mounts the open directory `held`, which was created at `path`, on `mount_point`.
    pub(super) fn create(
        stack: &mut ResourceStack,
        held: &Directory,
        mount_point: &Path,
        path: &Path,
    ) -> Result<(), SystemError> {
        stack.create(Self { path: mount_point.to_owned() }, || {
            rustix::mount::mount_bind(held.reached(), mount_point)
                .map_err(|e| SystemError::io("mount", path)(e.into()))?;
            let device = mount_at(mount_point).map(|entry| entry.device);
            Ok(((), device.map(Identity::number)))
        })?;
        Ok(())
    }
}

impl Resource for BindMount {
    type Live = ();
    const EXCLUSIVE: bool = true;

    fn destroy(&self, (): &mut (), identity: Option<Identity>) -> Result<(), SystemError> {
        unmount_ours(&self.path, identity, filesystem::unmount)
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        let entry = mount_at(&self.path)?;
        let ours = identity.is_none_or(|id| id.device == entry.device);
        if !is_in_runtime_directory(&self.path) || !ours {
            return NOT_OURS;
        }
        removed(filesystem::unmount_dead(&self.path))
    }
}
