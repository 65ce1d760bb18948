//! A directory on a user's storage in which nobody but root can rename anything, for runs of root in a directory that
//! belongs to somebody else.
//!
//! Whoever may rename in a directory can swap a container for a symbolic link between the moment that it is made and the
//! moment that a program opens it by its path, and root would write to what the link names. So a run of root makes a
//! directory of its own there, which only root may enter, and mounts it once more below `/run` (mount(2), `MS_BIND`).
//! All further paths begin at that mount, and root alone can change what they lead to.

use std::path::{Path, PathBuf};

use super::work_directory::WorkTree;
use super::{BindMount, Journal, ResourceStack, mount_point};
use crate::SystemError;

/// The directory. Dropping it takes it down with all that is in it, as far as that can be done.
pub struct PrivateDirectory {
    stack: ResourceStack,
    mounted: PathBuf,
}

impl PrivateDirectory {
    /// Makes it in `parent` under `name`, which must begin with `cryptbench-`. Takes root.
    ///
    /// # Errors
    /// [`SystemError::Io`], such as without the right to mount; nothing is left.
    pub fn create(parent: &Path, name: &str, journal: &Journal) -> Result<Self, SystemError> {
        let path = parent.join(name);
        let mut stack = ResourceStack::new(journal);
        let what = WorkTree { path: path.clone() };
        let held = &stack.create(what.clone(), || what.make())?.held;
        // Between being made and being opened it could have been swapped for another.
        let (owner, mode) = held.owner_and_mode().map_err(SystemError::io("inspect", &path))?;
        if owner != 0 || mode & 0o077 != 0 || !held.names().is_ok_and(|names| names.is_empty()) {
            return Err(SystemError::Target {
                path,
                problem: "was replaced by another directory as it was made".to_owned(),
            });
        }
        // By its descriptor: the path may lead elsewhere by now.
        let held = held.try_clone().map_err(SystemError::io("open", &path))?;
        let mounted = mount_point::create(&mut stack)?;
        BindMount::create(&mut stack, &held, &mounted, &path)?;
        Ok(Self { stack, mounted })
    }

    /// Where it is reached.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.mounted
    }

    /// Removes it with all that is in it.
    ///
    /// # Errors
    /// [`SystemError::Busy`] while something in it is in use, [`SystemError::Io`]; it can be tried again.
    pub fn destroy(&mut self) -> Result<(), SystemError> {
        self.stack.destroy()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::provision::mountinfo::mounts;

    #[test]
    fn paths_in_it_lead_to_the_same_files_after_its_owner_renamed_all_around_it() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: mounting takes root");
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
