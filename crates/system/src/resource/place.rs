//! Another user's directory on which this process mounts a file system. It is opened and checked once, and then
//! mounted on and unmounted by file descriptor, so that users who can rename it cannot redirect a mount.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cryptbench_os::storage::mounts;
use cryptbench_text::shown;
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags, openat, openat2, statx,
};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, UnmountFlags, move_mount, open_tree, unmount};
use tracing::info;

use super::walk::{Walked, walk};

use super::Identity;
use crate::SystemError;

/// A directory to mount on, and the mount after it is created.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    parent: OwnedFd,
    name: OsString,
    directory: OwnedFd,
    mounted: OnceLock<Placed>,
}

/// The identity of a mount in /proc/self/mountinfo. Mount numbers are reused, so the device number of the file
/// system is also compared. In btrfs it differs from the device number of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Placed {
    id: u64,
    device: u64,
}

impl Place {
    /// Opens an empty directory on which nothing is mounted.
    ///
    /// Links in the path are followed only if only root can create them, because the creator of a link chooses
    /// its destination.
    ///
    /// # Errors
    /// [`SystemError::Target`] if the directory is not suitable; [`SystemError::Io`].
    pub fn open(path: &Path) -> Result<Self, SystemError> {
        let unfit = |problem: &str| SystemError::Target {
            path: path.to_owned(),
            problem: problem.to_owned(),
        };
        let failed = |e: Errno| match e {
            Errno::NOTDIR => unfit("the mount point is not a directory"),
            e => SystemError::io("open", path)(e.into()),
        };
        let directory = match walk(path).map_err(failed)? {
            Walked::Directory(directory) => directory,
            Walked::LinkOfOthers(link) => {
                let problem = "it is a symbolic link that another user can change; specify the \
                               directory that it points to";
                return Err(SystemError::Target { path: link, problem: problem.to_owned() });
            }
        };
        // Its current location.
        let path =
            std::fs::read_link(reached_by(&directory)).map_err(SystemError::io("find", path))?;
        let Some(name) = path.file_name() else {
            return Err(unfit("nothing can be mounted on the root directory"));
        };
        let parent = openat(&directory, "..", DIRECTORY, Mode::empty()).map_err(failed)?;
        let name = name.to_owned();
        let place = Self { name, parent, directory, mounted: OnceLock::new(), path };
        match place.is_where_it_was().map_err(SystemError::io("inspect", &place.path))? {
            true => place.check_free().map(|()| place),
            false => Err(unfit("it was replaced in the meantime; try again")),
        }
    }

    /// The path with which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses a directory that is not empty or on which something is mounted.
    fn check_free(&self) -> Result<(), SystemError> {
        let failed = |e: Errno| SystemError::io("inspect", &self.path)(e.into());
        let found = statx(&self.directory, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS);
        let covered = StatxAttributes::MOUNT_ROOT;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let inside = openat(&self.directory, ".", flags, Mode::empty()).map_err(failed)?;
        let mut entries = rustix::fs::Dir::read_from(&inside).map_err(failed)?;
        let entry = entries.find(|entry| {
            entry
                .as_ref()
                .map_or(true, |e| ![b".", b"..".as_slice()].contains(&e.file_name().to_bytes()))
        });
        match found.map_err(failed)?.stx_attributes.contains(covered) || entry.is_some() {
            true => Err(SystemError::Target {
                path: self.path.clone(),
                problem: "the mount point is not empty, or something is mounted there".to_owned(),
            }),
            false => Ok(()),
        }
    }

    /// Whether the name still refers to the directory.
    fn is_where_it_was(&self) -> io::Result<bool> {
        let which =
            |found: rustix::fs::Statx| (found.stx_dev_major, found.stx_dev_minor, found.stx_ino);
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let named = statx(&self.parent, &self.name, flags, StatxFlags::BASIC_STATS)?;
        let held = statx(&self.directory, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
        Ok(which(named) == which(held))
    }

    /// Mounts the contents of `private`, which only root can enter, on this directory as well, and returns the
    /// identity of the new mount.
    ///
    /// # Errors
    /// [`SystemError::Target`] if the directory is now in use or was renamed; [`SystemError::Io`]. After an
    /// error, nothing is mounted here.
    pub(super) fn take(&self, private: &Path) -> Result<Identity, SystemError> {
        let failed = |e: Errno| SystemError::io("mount on", &self.path)(e.into());
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let tree = open_tree(CWD, private, flags).map_err(failed)?;
        let id = mount_id(&tree, OsStr::new("")).map_err(failed)?;
        self.check_free()?;
        let by_descriptors =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(&tree, "", &self.directory, "", by_descriptors).map_err(failed)?;
        let device = mounts().unwrap_or_default().iter().find(|m| m.id == id).map(|m| m.device);
        let placed = device.filter(|_| mount_id(&self.parent, &self.name) == Ok(id));
        let Some(device) = placed else {
            // The directory was renamed before the mount was created.
            unmount(reached_by(&tree), UnmountFlags::DETACH).map_err(failed)?;
            let problem = "it was replaced in the meantime; try again".to_owned();
            return Err(SystemError::Target { path: self.path.clone(), problem });
        };
        info!("moves mount {id} from {} to {}", shown(private), shown(&self.path));
        let _ = self.mounted.set(Placed { id, device });
        Ok(Identity::number(device))
    }

    /// Whether the mount still exists here, even if parent directories were renamed.
    pub fn is_mounted(&self) -> bool {
        self.mounted.get().is_some_and(|mounted| mounted.is_there())
    }

    /// Writes back the dirty data of the file system mounted here.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn sync(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Some((parent, name)) = self.mounted.get().and_then(|mounted| self.above(*mounted))
        else {
            return Ok(());
        };
        let root = openat(&parent, &name, flags, Mode::empty())?;
        Ok(rustix::fs::syncfs(&root)?)
    }

    /// Unmounts it and writes dirty data back. Does nothing if it has already been unmounted.
    ///
    /// # Errors
    /// [`SystemError::Busy`] if it is in use or something is mounted on it; [`SystemError::Io`].
    pub(super) fn clear(&self) -> Result<(), SystemError> {
        let busy = || SystemError::Busy { path: self.path.clone() };
        let Some(mounted) = self.mounted.get() else { return Ok(()) };
        // The owner of the directory can rename it from another namespace at any time.
        for _ in 0..RENAMED {
            if !mounted.is_there() {
                return Ok(());
            }
            let Some((parent, name)) = self.above(*mounted) else { continue };
            let unmounted = unmount_in(&parent, &name, UnmountFlags::empty());
            info!("unmounts mount {} at {}: {unmounted:?}", mounted.id, shown(&self.path));
            match unmounted {
                Err(Errno::BUSY) => return Err(busy()),
                Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => {}
                other => {
                    return other.map_err(|e| SystemError::io("unmount", &self.path)(e.into()));
                }
            }
        }
        Err(busy())
    }

    /// The parent directory of the mount and its name there: the original ones or, if they were renamed, the
    /// current ones.
    fn above(&self, mounted: Placed) -> Option<(OwnedFd, OsString)> {
        let held = self.parent.try_clone().ok().map(|parent| (parent, self.name.clone()));
        let by_path = || {
            let mounts = mounts().ok()?;
            let path = &mounts.iter().find(|mount| mount.id == mounted.id)?.mountpoint;
            let (above, name) = (path.parent()?, path.file_name()?);
            let parent =
                openat2(CWD, above, DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
            Some((parent, name.to_owned()))
        };
        let is_above =
            |(parent, name): &(OwnedFd, OsString)| mount_id(parent, name) == Ok(mounted.id);
        held.filter(is_above).or_else(|| by_path().filter(is_above))
    }
}

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Maximum number of times that a mount can be renamed while it is being unmounted.
const RENAMED: usize = 100;

impl Placed {
    fn is_there(self) -> bool {
        let mounts = mounts().unwrap_or_default();
        mounts.iter().any(|mount| Self { id: mount.id, device: mount.device } == self)
    }
}

/// The number of the topmost mount at `name` in `directory`; if `name` is empty, that of the mount that
/// contains `directory`. Sends no request to the server of the file system.
fn mount_id(directory: impl AsFd, name: &OsStr) -> Result<u64, Errno> {
    let by = if name.is_empty() { AtFlags::EMPTY_PATH } else { AtFlags::SYMLINK_NOFOLLOW };
    let flags = by | AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    Ok(statx(directory, name, flags, StatxFlags::MNT_ID)?.stx_mnt_id)
}

/// Unmounts the topmost mount at `path`, without following links anywhere in the path.
pub(crate) fn unmount_at(path: &Path, flags: UnmountFlags) -> Result<(), Errno> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::INVAL);
    };
    let parent = openat2(CWD, above, DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    unmount_in(&parent, name, flags)
}

/// Unmounts `name` in `parent`. Nobody in this mount namespace can rename a directory on which something is
/// mounted, so the name refers to the mount as long as the mount exists. The directory's owner can rename it
/// from another namespace; the unmount then fails.
fn unmount_in(parent: &OwnedFd, name: &OsStr, flags: UnmountFlags) -> Result<(), Errno> {
    unmount(reached_by(parent).join(name), flags | UnmountFlags::NOFOLLOW)
}

/// A path to an open file, for calls that do not accept file descriptors.
fn reached_by(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{chown, symlink};

    use rustix::mount::{MountFlags, mount};

    use super::*;

    #[test]
    fn a_directory_with_something_in_it_a_file_and_nothing_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("empty")).unwrap();
        fs::write(path("file"), "").unwrap();
        let place = Place::open(&path("empty")).unwrap();
        assert_eq!(place.path(), path("empty").canonicalize().unwrap());
        assert!(!place.is_mounted());
        place.clear().unwrap();
        for unfit in [dir.path(), &path("file"), &path("no"), Path::new("/")] {
            assert!(Place::open(unfit).is_err(), "{}", unfit.display());
        }
    }

    #[test]
    fn links_of_others_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("a/mnt")).unwrap();
        symlink("a", path("ours")).unwrap();
        assert_eq!(
            Place::open(&path("ours/mnt")).unwrap().path(),
            path("a/mnt").canonicalize().unwrap()
        );
        symlink("loop", path("loop")).unwrap();
        assert!(Place::open(&path("loop/mnt")).is_err());
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: giving a directory away requires root");
            return;
        }
        chown(dir.path(), Some(12_345), None).unwrap();
        let refused = Place::open(&path("ours/mnt")).unwrap_err().to_string();
        assert!(refused.contains("symbolic link"), "{refused}");
        // Without a link in the path, it is the specified directory.
        assert!(Place::open(&path("a/mnt")).is_ok());
    }

    #[test]
    fn what_is_mounted_lands_on_the_directory_that_was_opened() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: mounting requires root");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["private", "mnt", "roots"] {
            fs::create_dir(path(name)).unwrap();
        }
        mount("test", path("private"), "tmpfs", MountFlags::empty(), None).unwrap();
        fs::write(path("private/here"), "").unwrap();

        // Replaced after it was opened.
        let place = Place::open(&path("mnt")).unwrap();
        fs::rename(path("mnt"), path("away")).unwrap();
        symlink("roots", path("mnt")).unwrap();
        assert!(place.take(&path("private")).is_err());
        assert!(!path("roots/here").exists() && !path("away/here").exists());

        fs::remove_file(path("mnt")).unwrap();
        fs::create_dir_all(path("above/mnt")).unwrap();
        let place = Place::open(&path("above/mnt")).unwrap();
        place.take(&path("private")).unwrap();
        unmount_at(&path("private"), UnmountFlags::empty()).unwrap();
        // Renamed together with its parent, and replaced by another directory.
        fs::rename(path("above"), path("renamed")).unwrap();
        symlink(".", path("above")).unwrap();
        assert!(place.is_mounted() && path("renamed/mnt/here").exists());
        assert!(unmount_at(&path("above/mnt"), UnmountFlags::empty()).is_err(), "by a link");
        let open = fs::File::open(path("renamed/mnt/here")).unwrap();
        assert!(matches!(place.clear(), Err(SystemError::Busy { .. })));
        drop(open);
        place.clear().unwrap();
        assert!(!place.is_mounted() && !path("renamed/mnt/here").exists());
    }
}
