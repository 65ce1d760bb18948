//! Mounted file systems: of a loop device, of a device-mapper device, over a directory, or served by a program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::daemon::Ends;
use super::orphans::await_mount;
use super::ours::is_in_runtime_directory;
use super::{
    Identity, NOT_OURS, Place, Recovered, Resource, ResourceStack, daemon, loop_device, mapping,
    mount_point, removed,
};
use crate::SystemError;
use crate::command::run;
use crate::provision::filesystem;
use crate::provision::mountinfo::{MountEntry, mount_at, mounts};

/// A file system mounted from a loop device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    /// Absolute path of the mount point.
    pub path: PathBuf,
    /// Absolute path of the loop device's backing file.
    pub file: PathBuf,
}

/// A file system mounted from a device-mapper device or a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedFileSystem {
    /// Absolute path of the mount point.
    pub path: PathBuf,
    /// Path of the device.
    pub device: PathBuf,
}

/// A kernel file system mounted over a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackedMount {
    /// Absolute path of the mount point.
    pub path: PathBuf,
    /// Its type, such as `ecryptfs`.
    pub file_system: String,
}

/// A mount that a program serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramMount {
    /// Absolute path of the mount point.
    pub path: PathBuf,
    /// Its type, such as `fuse.gocryptfs`.
    pub file_system: String,
}

/// The identity of the current mount at `path`, as stored in the journal.
pub(super) fn found(path: &Path) -> Option<Identity> {
    mount_at(path).map(|entry| Identity::number(entry.device))
}

/// The mount for which `is_ours` is true: at `path` or, if a parent directory was renamed, elsewhere. If there
/// is none, the mount at `path`.
pub(super) fn mount_of_ours(
    path: &Path,
    is_ours: impl Fn(&MountEntry) -> bool,
) -> Option<MountEntry> {
    let there = mount_at(path);
    if there.as_ref().is_some_and(&is_ours) {
        return there;
    }
    mounts().ok().into_iter().flatten().rfind(is_ours).or(there)
}

/// The location of a mount.
pub(crate) enum Standing {
    /// At its path, where only root can rename entries.
    Private,
    /// On another user's directory.
    Placed(Arc<Place>),
}

impl Standing {
    /// Unmounts the mount at `path`. If another user could have mounted there, only our own mount is unmounted.
    pub(super) fn unmount(
        &self,
        path: &Path,
        identity: Option<Identity>,
    ) -> Result<(), SystemError> {
        match self {
            Self::Private => unmount_ours(path, identity, unmount_by_program),
            Self::Placed(place) => place.clear(),
        }
    }
}

/// Moves the mount at `private` to `place`, as the resource `what`.
///
/// It is first created at `private`, where no other user can redirect its path, because programs such as
/// mount(8) use paths.
pub(super) fn move_to<R: Resource<Live = Standing>>(
    stack: &mut ResourceStack,
    what: R,
    private: &Path,
    place: Arc<Place>,
) -> Result<(), SystemError> {
    stack.create(what, || {
        let identity = place.take(private)?;
        Ok((Standing::Placed(place), Some(identity)))
    })?;
    // Unmounted now, because the file system is written back only when its last mount is unmounted. The
    // resource of this mount then has nothing to do.
    filesystem::unmount(private)
}

/// Mounts the file system of `device` in a new private directory; `file` is the backing file if that is a loop
/// device.
pub(crate) fn mount(
    stack: &mut ResourceStack,
    device: &Path,
    file: Option<&Path>,
) -> Result<PathBuf, SystemError> {
    let path = mount_point::create(stack)?;
    match file {
        Some(file) => mount_from_file(stack, device, file, &path, false, None)?,
        None => {
            let what = MappedFileSystem { path: path.clone(), device: device.to_owned() };
            stack.create(what, || {
                filesystem::mount(device, &path, false, None)?;
                Ok(((), found(&path)))
            })?;
        }
    }
    Ok(path)
}

/// Mounts the file system of the loop device over `file` at `place`, with `nosuid,nodev` unless `options` specify
/// otherwise.
pub(crate) fn mount_on(
    stack: &mut ResourceStack,
    device: &Path,
    file: &Path,
    place: Arc<Place>,
    read_only: bool,
    options: Option<&str>,
) -> Result<(), SystemError> {
    let private = mount_point::create(stack)?;
    mount_from_file(stack, device, file, &private, read_only, options)?;
    let what = FileSystem { path: place.path().to_owned(), file: file.to_owned() };
    move_to(stack, what, &private, place)
}

fn mount_from_file(
    stack: &mut ResourceStack,
    device: &Path,
    file: &Path,
    path: &Path,
    read_only: bool,
    options: Option<&str>,
) -> Result<(), SystemError> {
    stack.create(FileSystem { path: path.to_owned(), file: file.to_owned() }, || {
        filesystem::mount(device, path, read_only, options)?;
        Ok((Standing::Private, found(path)))
    })?;
    Ok(())
}

/// Mounts a stacked kernel file system over the directory `lower`, in a new private directory.
pub(crate) fn mount_stacked(
    stack: &mut ResourceStack,
    file_system: &'static str,
    lower: &Path,
    options: &str,
) -> Result<PathBuf, SystemError> {
    let path = mount_point::create(stack)?;
    // -i: passes only kernel options, without a mount helper that would prompt.
    let words = ["-i", "-t", file_system, "-o", options].map(AsRef::as_ref);
    let places = [lower.as_os_str(), path.as_os_str()];
    stack.create(
        StackedMount { path: path.clone(), file_system: file_system.to_owned() },
        || {
            run("mount", words.into_iter().chain(places))?;
            Ok(((), found(&path)))
        },
    )?;
    Ok(path)
}

/// Unmounts our file system at `path`. If it has already been unmounted, there is nothing to do. If something
/// is mounted on top of it, that is an error.
pub(super) fn unmount_ours(
    path: &Path,
    identity: Option<Identity>,
    unmount: impl FnOnce(&Path) -> Result<(), SystemError>,
) -> Result<(), SystemError> {
    match found(path) {
        None => Ok(()),
        there if there == identity => unmount(path),
        Some(_) => Err(SystemError::Busy { path: path.to_owned() }),
    }
}

/// Unmounts in a separate process, because unmounting writes to the disk, which this process may serve. If this
/// process were killed in the meantime, a thread that waits for the unmounting would keep the server's
/// connection open and wait forever.
pub(super) fn unmount_by_program(path: &Path) -> Result<(), SystemError> {
    match run("umount", [path]) {
        Err(SystemError::Program { reason, .. }) if reason.contains("busy") => {
            Err(SystemError::Busy { path: path.to_owned() })
        }
        other => other.map(drop),
    }
}

impl Resource for FileSystem {
    type Live = Standing;

    fn destroy(&self, live: &mut Standing, identity: Option<Identity>) -> Result<(), SystemError> {
        live.unmount(&self.path, identity)
    }

    fn recover(&self, _identity: Option<Identity>) -> Recovered {
        await_program(&self.path);
        // Loop device numbers are reused, so only the backing file proves that the mount is ours. In btrfs, the
        // file system's number differs from that of the device.
        let of_file = |number| loop_device::of_file(&self.file, Some(number)).is_some();
        let is_ours = |entry: &MountEntry| {
            of_file(entry.device)
                || loop_device::number(Path::new(&entry.source)).is_some_and(of_file)
        };
        let entry = mount_of_ours(&self.path, is_ours)?;
        match is_ours(&entry) {
            false => NOT_OURS,
            true => removed(filesystem::unmount_dead(&entry.mountpoint)),
        }
    }
}

impl Resource for MappedFileSystem {
    type Live = ();

    fn destroy(&self, (): &mut (), identity: Option<Identity>) -> Result<(), SystemError> {
        unmount_ours(&self.path, identity, filesystem::unmount)
    }

    fn recover(&self, _identity: Option<Identity>) -> Recovered {
        let name = mapping::name_of(&self.device)?;
        let entry = mount_at(&self.path)?;
        // The device may also be one of our partitions.
        let number = mapping::number_of(name).or_else(|| loop_device::number(&self.device));
        match number == Some(entry.device) {
            true => removed(filesystem::unmount_dead(&self.path)),
            false => NOT_OURS,
        }
    }

    fn made_by(&self) -> Option<String> {
        mapping::name_of(&self.device).map(ToOwned::to_owned)
    }
}

impl Resource for StackedMount {
    type Live = ();

    fn destroy(&self, (): &mut (), identity: Option<Identity>) -> Result<(), SystemError> {
        unmount_ours(&self.path, identity, filesystem::unmount)
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        await_program(&self.path);
        named(&self.path, &self.file_system, identity, filesystem::unmount_dead)
    }
}

impl Resource for ProgramMount {
    /// When the program that serves the mount exits.
    type Live = Ends;

    fn destroy(&self, ends: &mut Ends, identity: Option<Identity>) -> Result<(), SystemError> {
        match ends {
            Ends::Unmounted => unmount_ours(&self.path, identity, daemon::unmount),
            // The mount's program, which is stopped next, unmounts it.
            Ends::Asked => Ok(()),
        }
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        named(&self.path, &self.file_system, identity, daemon::unmount_dead)
    }
}

/// Waits for mount(8), if `path` is in the directory that only root can change, because mount(8) always mounts
/// there.
fn await_program(path: &Path) {
    if is_in_runtime_directory(path) {
        await_mount(path);
    }
}

/// Recovers a mount that is identified by its type and, if recorded, its device number.
fn named(
    path: &Path,
    file_system: &str,
    identity: Option<Identity>,
    unmount: impl FnOnce(&Path) -> Result<(), SystemError>,
) -> Recovered {
    let entry = mount_at(path)?;
    if entry.file_system != file_system || identity.is_some_and(|id| id.device != entry.device) {
        return NOT_OURS;
    }
    removed(unmount(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_found_elsewhere_though_another_mount_is_at_its_path() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: mounting requires root");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let [old, new] = ["old", "new"].map(|name| place.join(name));
        for path in [&old, &new] {
            std::fs::create_dir(path).unwrap();
            run("mount", ["-t".as_ref(), "tmpfs".as_ref(), "none".as_ref(), path.as_os_str()])
                .unwrap();
        }
        let found = |is_ours: &dyn Fn(&MountEntry) -> bool| {
            mount_of_ours(&old, is_ours).map(|entry| entry.mountpoint)
        };
        let (elsewhere, there, none) = (
            found(&|entry| entry.mountpoint == new),
            found(&|entry| entry.mountpoint == old),
            found(&|_| false),
        );
        for path in [&old, &new] {
            run("umount", [path.as_os_str()]).unwrap();
        }
        assert_eq!((elsewhere, there), (Some(new), Some(old.clone())));
        assert_eq!(none, Some(old), "what is there is looked at all the same");
    }
}
