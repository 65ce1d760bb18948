//! A directory on a user's storage in which only root can rename entries, for runs as root in another user's
//! directory.
//!
//! Anyone who can rename entries of a directory can replace a container with a symbolic link before a program
//! opens it by path; root would then write to the target of the link. A run as root therefore creates its own
//! directory there, which only root can enter, and bind-mounts it below `/run` (mount(2), `MS_BIND`). All
//! further paths start at that mount, so only root can redirect them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::work_directory::WorkTree;
use super::{BindMount, Journal, ResourceStack, mount_point};
use crate::SystemError;

/// The directory. Dropping it removes the directory with all its contents, as far as possible.
pub struct PrivateDirectory {
    stack: ResourceStack,
    mounted: PathBuf,
}

impl PrivateDirectory {
    /// Creates it in `parent` with the name `name`, which must start with `cryptbench-`. Requires root.
    ///
    /// # Errors
    /// [`SystemError::Io`], for example if mounting is not permitted; nothing is left behind.
    pub fn create(parent: &Path, name: &str, journal: &Journal) -> Result<Self, SystemError> {
        let path = parent.join(name);
        let mut stack = ResourceStack::new(journal);
        let what = WorkTree { path: path.clone() };
        let held = &stack.create(what.clone(), || what.make())?.held;
        // The directory could have been replaced after it was created and before it was opened.
        let (owner, mode) = held.owner_and_mode().map_err(SystemError::io("inspect", &path))?;
        let is_empty = held.names().is_ok_and(|names| names.is_empty());
        if owner != 0 || mode & 0o077 != 0 || !is_empty {
            let problem = match keeps_no_permissions(parent, mode) && owner == 0 && is_empty {
                true => "its file system does not store permissions: mount it with -o umask=077"
                    .to_owned(),
                false => {
                    "it was replaced by another directory while it was being created".to_owned()
                }
            };
            return Err(SystemError::Target { path, problem });
        }
        // By file descriptor, because the path may now refer to another directory.
        let held = held.try_clone().map_err(SystemError::io("open", &path))?;
        let mounted = mount_point::create(&mut stack)?;
        BindMount::create(&mut stack, &held, &mounted, &path)?;
        Ok(Self { stack, mounted })
    }

    /// The path with which it is accessed.
    pub fn path(&self) -> &Path {
        &self.mounted
    }

    /// Removes it with all its contents.
    ///
    /// # Errors
    /// [`SystemError::Busy`] if something in it is in use, [`SystemError::Io`]; the call can be repeated.
    pub fn destroy(&mut self) -> Result<(), SystemError> {
        self.stack.destroy()
    }
}

/// Whether a private directory was created with the `mode` that the mount assigns to all files, because the
/// file system does not store permissions (FAT, and NTFS by default).
fn keeps_no_permissions(parent: &Path, mode: u32) -> bool {
    let all = |mode: u32| mode & 0o777 == 0o777;
    let of_parent = std::fs::metadata(parent).map(|found| found.permissions().mode());
    all(mode) && of_parent.is_ok_and(all)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::provision::mountinfo::mounts;

    #[test]
    fn a_file_system_that_keeps_no_permissions_is_named() {
        if let Some((reason, remedy)) = crate::lacks_ntfs() {
            eprintln!("SKIPPED: {reason} ({remedy})");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (image, place) = (dir.path().join("image"), dir.path().join("place"));
        fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        fs::create_dir(&place).unwrap();
        let does = |program: &str, words: &[&std::ffi::OsStr]| {
            let done = std::process::Command::new(program).args(words).output();
            done.is_ok_and(|done| done.status.success())
        };
        assert!(does("mkfs.ntfs", &["-q".as_ref(), "-F".as_ref(), "-f".as_ref(), image.as_ref()]));
        if !does("mount", &["-o".as_ref(), "loop".as_ref(), image.as_ref(), place.as_ref()]) {
            eprintln!("SKIPPED: mounting requires root");
            return;
        }
        let name = format!("cryptbench-{}-ntfs.private", std::process::id());
        let journal = Journal::create(&format!("{name}-private")).unwrap();
        let made = PrivateDirectory::create(&place, &name, &journal).err().map(|e| e.to_string());
        let left = fs::read_dir(&place).unwrap().count();
        assert!(does("umount", &[place.as_ref()]));
        assert!(made.as_ref().is_some_and(|e| e.contains("-o umask=077")), "{made:?}");
        assert_eq!(left, 0);
    }

    #[test]
    fn paths_in_it_lead_to_the_same_files_after_its_owner_renamed_all_around_it() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: mounting requires root");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (home, victim) = (dir.path().join("home"), dir.path().join("victim"));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&victim).unwrap();
        let name = format!("cryptbench-{}-test.private", std::process::id());
        let journal = Journal::create(&format!("{name}-private")).unwrap();
        let mut private = PrivateDirectory::create(&home, &name, &journal).unwrap();
        let container = private.path().join("container");
        fs::write(&container, "ours").unwrap();
        fs::write(victim.join("container"), "kept").unwrap();
        fs::rename(home.join(&name), home.join("moved")).unwrap();
        symlink(&victim, home.join(&name)).unwrap();
        fs::write(&container, "ours again").unwrap();
        assert_eq!(fs::read(victim.join("container")).unwrap(), b"kept");
        assert_eq!(fs::read(home.join("moved/container")).unwrap(), b"ours again");
        let mounted = private.path().to_owned();
        private.destroy().unwrap();
        assert!(!home.join("moved").exists() && home.join(&name).is_symlink());
        assert_eq!(fs::read(victim.join("container")).unwrap(), b"kept");
        assert!(!mounted.exists() && !mounts().unwrap().iter().any(|m| m.mountpoint == mounted));
    }
}
