//! A directory on a user's storage in which nobody but root can rename anything, for runs of root in a directory that
//! belongs to somebody else.
//!
//! Whoever may rename in a directory can swap a container for a symbolic link between the moment that it is made and the
//! moment that a program opens it by its path, and root would write to what the link names. So a run of root makes a
//! directory of its own there, which only root may enter, and mounts it once more below `/run` (mount(2), `MS_BIND`).
//! All further paths begin at that mount, and root alone can change what they lead to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cryptbench_os::{Directory, FileIdentity};

use super::ledger::{Act, Identity, Ledger};
use super::mountinfo::mount_at;
use super::{filesystem, mount_point};
use crate::SystemError;

/// The directory. Dropping it takes it down with all that is in it, as far as that can be done.
pub struct PrivateDirectory {
    ledger: Ledger,
    /// What was done, the last one last.
    steps: Vec<Step>,
    mounted: PathBuf,
}

enum Step {
    Directory { act: u32, held: Directory, above: Directory, name: OsString },
    MountPoint { act: u32, above: Directory, name: OsString, identity: FileIdentity },
    Mount { act: u32, device: u64 },
}

impl PrivateDirectory {
    /// Makes it in `parent` under `name`, which must begin with `cryptbench-`. Takes root.
    ///
    /// # Errors
    /// [`SystemError::Io`], such as without the right to mount; nothing is left.
    pub fn create(parent: &Path, name: &str, ledger: Ledger) -> Result<Self, SystemError> {
        let path = parent.join(name);
        let mut made = Self { ledger, steps: Vec::new(), mounted: PathBuf::new() };
        made.make_directory(parent, &path)?;
        made.make_mount_point()?;
        made.mount(&path)?;
        Ok(made)
    }

    /// Where it is reached.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.mounted
    }

    fn make_directory(&mut self, parent: &Path, path: &Path) -> Result<(), SystemError> {
        let failed = || SystemError::io("create", path);
        let above = Directory::open(parent).map_err(failed())?;
        let name = path.file_name().unwrap_or_default().to_owned();
        let act = Act::WorkDirectory { path: path.to_owned() };
        let (act, held) =
            self.ledger.attempt(&act, || above.create_subdirectory(&name).map_err(failed()))?;
        // Between being made and being opened it could have been swapped for another.
        let (owner, mode) = held.owner_and_mode().map_err(SystemError::io("inspect", path))?;
        let identity = held.identity().map_err(SystemError::io("inspect", path))?;
        let fresh = owner == 0 && mode & 0o077 == 0 && held.names().is_ok_and(|n| n.is_empty());
        self.steps.push(Step::Directory { act, held, above, name });
        self.ledger.made(act, Identity::from(identity))?;
        match fresh {
            true => Ok(()),
            false => Err(SystemError::Target {
                path: path.to_owned(),
                problem: "was replaced by another directory as it was made".to_owned(),
            }),
        }
    }

    fn make_mount_point(&mut self) -> Result<(), SystemError> {
        let path = mount_point::unused()?;
        let failed = || SystemError::io("create", &path);
        let (above, name) = Directory::of(&path).map_err(failed())?;
        let (act, made) = self.ledger.attempt(&Act::Directory { path: path.clone() }, || {
            above.create_subdirectory(&name).map_err(failed())
        })?;
        let identity = made.identity().map_err(SystemError::io("inspect", &path))?;
        self.steps.push(Step::MountPoint { act, above, name, identity });
        self.mounted = path;
        self.ledger.made(act, Identity::from(identity))
    }

    fn mount(&mut self, path: &Path) -> Result<(), SystemError> {
        let Some(Step::Directory { held, .. }) = self.steps.first() else { unreachable!("made") };
        let (act, ()) =
            self.ledger.attempt(&Act::BindMount { path: self.mounted.clone() }, || {
                // By its descriptor: the path may lead elsewhere by now.
                rustix::mount::mount_bind(held.reached(), &self.mounted)
                    .map_err(|e| SystemError::io("mount", path)(e.into()))
            })?;
        let identity = Identity::at(&self.mounted).map_err(SystemError::io("inspect", path))?;
        self.steps.push(Step::Mount { act, device: identity.device });
        self.ledger.made(act, Identity::number(identity.device))
    }

    /// Removes it with all that is in it.
    ///
    /// # Errors
    /// [`SystemError::Busy`] while something in it is in use, [`SystemError::Io`]; it can be tried again.
    pub fn take_down(&mut self) -> Result<(), SystemError> {
        while let Some(step) = self.steps.last() {
            let act = match step {
                Step::Mount { act, device } => {
                    if mount_at(&self.mounted).is_some_and(|entry| entry.device == *device) {
                        filesystem::unmount_when_let_go(&self.mounted)?;
                    }
                    *act
                }
                Step::MountPoint { act, above, name, identity } => {
                    if above.entry(name).is_ok_and(|e| e.is_some_and(|e| e.identity == *identity)) {
                        let removed = above.remove_directory(name);
                        removed.map_err(SystemError::io("remove", &self.mounted))?;
                    }
                    *act
                }
                Step::Directory { act, held, above, name } => {
                    remove(held, above, name)?;
                    *act
                }
            };
            self.steps.pop();
            self.ledger.undone(act)?;
        }
        Ok(())
    }
}

/// Removes a directory that its surroundings' owner may have renamed meanwhile, wherever it is.
fn remove(held: &Directory, above: &Directory, name: &OsString) -> Result<(), SystemError> {
    let path = held.path().unwrap_or_default();
    let failed = || SystemError::io("remove", &path);
    held.clear().map_err(failed())?;
    let identity = held.identity().map_err(failed())?;
    let is_there = |above: &Directory, name: &OsString| {
        above.entry(name).is_ok_and(|found| found.is_some_and(|f| f.identity == identity))
    };
    if is_there(above, name) {
        return above.remove_directory(name).map_err(failed());
    }
    match Directory::of(&path) {
        Ok((above, name)) if is_there(&above, &name) => {
            above.remove_directory(&name).map_err(failed())
        }
        // Its surroundings' owner has removed it.
        _ => Ok(()),
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // What is still in use stays in the ledger, for cleanup.
        let _ = self.take_down();
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
        let ledger = Ledger::create(&format!("{name}-private")).unwrap();
        let mut private = PrivateDirectory::create(&home, &name, ledger).unwrap();
        let container = private.path().join("container");
        fs::write(&container, "ours").unwrap();
        fs::write(victim.join("container"), "kept").unwrap();
        fs::rename(home.join(&name), home.join("moved")).unwrap();
        symlink(&victim, home.join(&name)).unwrap();
        fs::write(&container, "ours again").unwrap();
        assert_eq!(fs::read(victim.join("container")).unwrap(), b"kept");
        assert_eq!(fs::read(home.join("moved/container")).unwrap(), b"ours again");
        let mounted = private.path().to_owned();
        private.take_down().unwrap();
        assert!(!home.join("moved").exists() && home.join(&name).is_symlink());
        assert_eq!(fs::read(victim.join("container")).unwrap(), b"kept");
        assert!(!mounted.exists() && !mounts().unwrap().iter().any(|m| m.mountpoint == mounted));
    }
}
