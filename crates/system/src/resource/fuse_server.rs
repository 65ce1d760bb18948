//! FUSE mounts that this process or one of its children serves.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cryptbench_blockdev::BlockDevice;
use cryptbench_export::ExportError;
use cryptbench_export::fuse::{self, Connection, FILE_SYSTEM, FuseOptions, Mounted, Server};
use cryptbench_text::chain;
use serde::{Deserialize, Serialize};

use super::mount::mount_of_ours;
use super::{Identity, NOT_OURS, Place, Recovered, Resource, ResourceStack, removed};
use crate::SystemError;
use crate::provision::filesystem;
use crate::provision::mountinfo::{MountEntry, mount_at};
use crate::transport::Transport;

/// Maximum time for a server to exit after its parent was killed.
const ORPHANED: Duration = Duration::from_secs(2);

/// A FUSE mount that this process or one of its children serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FuseMount {
    /// Absolute path of the mount point.
    pub path: PathBuf,
}

/// The server. If this is dropped while the mount still exists, the server runs as long as this process.
/// Stopping it would detach the mount, and the loop device on its file could then no longer be identified.
pub(crate) enum Serving {
    Here(Option<Server>),
    /// A child serves it.
    There(Mounted),
    /// The same mount, made visible at another user's directory.
    Placed(Arc<Place>),
}

impl Serving {
    fn unmount(&self) -> Result<(), ExportError> {
        match self {
            Self::Here(server) => server.as_ref().map_or(Ok(()), Server::unmount),
            Self::There(mounted) => mounted.unmount(),
            Self::Placed(_) => Ok(()),
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Self::Here(server) = self {
            std::mem::forget(server.take());
        }
    }
}

/// Serves `device` as a file in a mount at `path`. Returns the file, and the transport of its requests.
pub(crate) fn create(
    stack: &mut ResourceStack,
    device: Arc<dyn BlockDevice>,
    path: &Path,
    options: &FuseOptions,
) -> Result<(PathBuf, Transport), SystemError> {
    let (mut file, mut transport) = (PathBuf::new(), Transport::Device);
    stack.create(FuseMount { path: path.to_owned() }, || {
        let server = fuse::mount(device, path, options)?;
        file = server.file();
        if server.transport() == "io_uring" {
            transport = Transport::Uring;
        }
        Ok((Serving::Here(Some(server)), identity(path)))
    })?;
    Ok((file, transport))
}

/// Mounts the file system that a child will serve at `path`. Returns the file, and the connection for the
/// child.
pub(crate) fn create_for_child(
    stack: &mut ResourceStack,
    path: &Path,
    options: &FuseOptions,
) -> Result<(PathBuf, Connection), SystemError> {
    let mut connection = None;
    let serving = stack.create(FuseMount { path: path.to_owned() }, || {
        let (mounted, made) = Mounted::new(path, options)?;
        connection = Some(made);
        Ok((Serving::There(mounted), identity(path)))
    })?;
    match (serving, connection) {
        (Serving::There(mounted), Some(connection)) => Ok((mounted.file().to_owned(), connection)),
        _ => unreachable!("made as such above"),
    }
}

/// Moves the mount at `private` to `place`.
pub(crate) fn move_to(
    stack: &mut ResourceStack,
    private: &Path,
    place: Arc<Place>,
) -> Result<(), SystemError> {
    stack.create(FuseMount { path: place.path().to_owned() }, || {
        let identity = place.take(private)?;
        Ok((Serving::Placed(place), Some(identity)))
    })?;
    filesystem::unmount(private)
}

fn identity(path: &Path) -> Option<Identity> {
    mount_at(path).map(|entry| Identity::number(entry.device))
}

impl Resource for FuseMount {
    type Live = Serving;
    const EXCLUSIVE: bool = true;

    fn destroy(&self, live: &mut Serving, _: Option<Identity>) -> Result<(), SystemError> {
        if let Serving::Placed(place) = live {
            return place.clear();
        }
        if let Err(e) = live.unmount()
            && mount_at(&self.path).is_some()
        {
            return Err(match e {
                ExportError::Busy { path } => SystemError::Busy { path },
                other => other.into(),
            });
        }
        if let Serving::Here(server) = live {
            *server = None;
        }
        Ok(())
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        let known = |entry: &MountEntry| {
            let device = identity.map(|identity| identity.device);
            entry.file_system == FILE_SYSTEM && device == Some(entry.device)
        };
        let entry = mount_of_ours(&self.path, known)?;
        let ours = identity.is_none_or(|id| id.device == entry.device);
        if entry.file_system != FILE_SYSTEM || !ours {
            return NOT_OURS;
        }
        let path = entry.mountpoint;
        let until = Instant::now() + ORPHANED;
        while !fuse::is_stale_mount(&path) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        if rustix::process::geteuid().is_root() {
            // Another user may have redirected the path.
            return match fuse::is_stale_mount(&path) {
                true => removed(filesystem::unmount_dead(&path)),
                false => Some(Ok(false)),
            };
        }
        Some(fuse::remove_stale_mount(&path).map_err(|e| chain(&e)))
    }
}
