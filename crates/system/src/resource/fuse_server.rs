//! FUSE mounts that this process serves.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::BlockDevice;
use cryptbench_export::ExportError;
use cryptbench_export::fuse::{self, FILE_SYSTEM, FuseOptions, Server};
use cryptbench_text::chain;
use serde::{Deserialize, Serialize};

use super::{Identity, NOT_OURS, Recovered, Resource, ResourceStack};
use crate::SystemError;
use crate::provision::mountinfo::mount_at;

/// A FUSE mount that this process serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FuseMount {
    /// Absolute path of the mount point.
    pub path: PathBuf,
}

/// The server. If dropped while the mount still exists, it continues to serve as long as this
/// process lives. Ending it would detach the mount, and the loop device on its file could then no
/// longer be identified.
pub(crate) struct Serving(Option<Server>);

impl Drop for Serving {
    fn drop(&mut self) {
        std::mem::forget(self.0.take());
    }
}

/// Serves `device` as a file in a mount at `path`, and returns the file.
pub(crate) fn create(
    stack: &mut ResourceStack,
    device: Arc<dyn BlockDevice>,
    path: &Path,
    options: &FuseOptions,
) -> Result<PathBuf, SystemError> {
    let serving = stack.create(FuseMount { path: path.to_owned() }, || {
        let server = fuse::mount(device, path, options)?;
        let identity = mount_at(path).map(|entry| Identity::number(entry.device));
        Ok((Serving(Some(server)), identity))
    })?;
    Ok(serving.0.as_ref().map(Server::file).unwrap_or_default())
}

impl Resource for FuseMount {
    type Live = Serving;
    const EXCLUSIVE: bool = true;

    fn path(&self) -> &Path {
        &self.path
    }

    fn destroy(&self, live: &mut Serving, _: Option<Identity>) -> Result<(), SystemError> {
        let unmounted = live.0.as_ref().map_or(Ok(()), Server::unmount);
        if let Err(e) = unmounted
            && mount_at(&self.path).is_some()
        {
            return Err(match e {
                ExportError::Busy { path } => SystemError::Busy { path },
                other => other.into(),
            });
        }
        live.0 = None;
        Ok(())
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        let entry = mount_at(&self.path)?;
        let ours = identity.is_none_or(|id| id.device == entry.device);
        if entry.file_system != FILE_SYSTEM || !ours {
            return NOT_OURS;
        }
        Some(fuse::remove_stale_mount(&self.path).map_err(|e| chain(&e)))
    }
}
