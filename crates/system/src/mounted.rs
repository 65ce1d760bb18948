//! A block device in use by this machine: served through FUSE, on a loop device, with its file system
//! mounted. Each step is in the ledger before it is done, and all are undone in reverse.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::BlockDevice;
use cryptbench_export::fuse::{FuseOptions, Server, mount};

use crate::SystemError;
use crate::command::run;
use crate::provision::mountinfo::mount_at;
use crate::provision::{Act, Identity, Ledger, filesystem, loopdev, mount_point};

/// A device that is served, and what was set up on top of it. Dropping it takes everything down.
pub struct Mounted {
    ledger: Ledger,
    server: Option<Server>,
    steps: Vec<Step>,
}

/// What was done, with its number in the ledger.
enum Step {
    Directory(u32, PathBuf),
    Fuse(u32, PathBuf),
    Loop(u32, PathBuf),
    /// With the device number of what was mounted.
    FileSystem(u32, PathBuf, Option<u64>),
}

impl Mounted {
    /// Serves `device` as a file in a mount at `place`, or in a private directory where none is given.
    ///
    /// # Errors
    /// Any [`SystemError`]; nothing is left.
    pub fn serve(
        device: Arc<dyn BlockDevice>,
        place: Option<&Path>,
        options: &FuseOptions,
        ledger: Ledger,
    ) -> Result<Self, SystemError> {
        let mut mounted = Self { ledger, server: None, steps: Vec::new() };
        let path = match place {
            Some(path) => std::path::absolute(path).map_err(SystemError::io("find", path))?,
            None => mounted.make_directory()?,
        };
        let (act, server) =
            mounted.ledger.attempt(&Act::FuseMount { path: path.clone() }, || {
                mount(device, &path, options).map_err(SystemError::from)
            })?;
        mounted.server = Some(server);
        mounted.steps.push(Step::Fuse(act, path.clone()));
        mounted.note_mount(act, &path)?;
        Ok(mounted)
    }

    /// The file that is the device.
    ///
    /// # Panics
    /// After [`Self::take_down`].
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.server().file()
    }

    /// The server, for what it counts.
    ///
    /// # Panics
    /// After [`Self::take_down`].
    #[must_use]
    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("served until taken down")
    }

    /// Puts a loop device on the file, and gives its path. Takes root.
    ///
    /// # Errors
    /// [`SystemError::Program`], with what losetup(8) said.
    pub fn attach_loop(&mut self, read_only: bool) -> Result<PathBuf, SystemError> {
        let file = self.file();
        let (act, device) = self.ledger.attempt(&Act::LoopDevice { file: file.clone() }, || {
            loopdev::attach(&file, read_only)
        })?;
        self.steps.push(Step::Loop(act, device.clone()));
        if let Some(device) = loopdev::number(&device) {
            self.ledger.made(act, Identity::number(device))?;
        }
        Ok(device)
    }

    /// Mounts the file system on the loop device at `directory`, with `nosuid,nodev` unless `options` say otherwise.
    ///
    /// # Errors
    /// [`SystemError::Program`], with what mount(8) said.
    pub fn mount_file_system(
        &mut self,
        device: &Path,
        directory: &Path,
        read_only: bool,
        options: Option<&str>,
    ) -> Result<(), SystemError> {
        let directory = fs::canonicalize(directory).map_err(SystemError::io("find", directory))?;
        let act = Act::FileSystem { path: directory.clone(), file: self.file() };
        let (act, ()) = self
            .ledger
            .attempt(&act, || filesystem::mount(device, &directory, read_only, options))?;
        let mounted = mount_at(&directory).map(|entry| entry.device);
        self.steps.push(Step::FileSystem(act, directory.clone(), mounted));
        self.note_mount(act, &directory)
    }

    /// As [`mount_file_system`](Self::mount_file_system), in a private directory, whose path it gives.
    ///
    /// # Errors
    /// As that, and when the directory cannot be made.
    pub fn mount_in_own_directory(&mut self, device: &Path) -> Result<PathBuf, SystemError> {
        let directory = self.make_directory()?;
        self.mount_file_system(device, &directory, false, None)?;
        Ok(directory)
    }

    /// Whether a loop device on the file keeps what is written in its page cache.
    #[must_use]
    pub fn caches(&self) -> bool {
        self.steps.iter().any(|s| matches!(s, Step::Loop(_, device) if loopdev::caches(device)))
    }

    /// Takes everything down in reverse order; what is in use stops it, and it can be tried again.
    ///
    /// # Errors
    /// [`SystemError::Busy`], or what the system refused.
    pub fn take_down(&mut self) -> Result<(), SystemError> {
        while let Some(step) = self.steps.last() {
            let act = match step {
                // Whoever unmounted it in the meantime has done our work.
                Step::FileSystem(act, path, ours) => {
                    match mount_at(path).map(|entry| entry.device) {
                        None => {}
                        Some(device) if *ours == Some(device) => unmount_by_program(path)?,
                        // Somebody mounted something else on top.
                        Some(_) => return Err(SystemError::Busy { path: path.clone() }),
                    }
                    *act
                }
                Step::Loop(act, device) => {
                    if loopdev::of_file(&self.file(), loopdev::number(device)).is_some() {
                        loopdev::detach(device)?;
                    }
                    *act
                }
                Step::Fuse(act, path) => {
                    if let Some(server) = &self.server
                        && let Err(e) = unmount_when_let_go(server)
                        && mount_at(path).is_some()
                    {
                        return Err(e);
                    }
                    self.server = None;
                    *act
                }
                Step::Directory(act, path) => {
                    fs::remove_dir(path).map_err(SystemError::io("remove", path))?;
                    *act
                }
            };
            self.steps.pop();
            self.ledger.undone(act)?;
        }
        Ok(())
    }

    fn make_directory(&mut self) -> Result<PathBuf, SystemError> {
        let path = mount_point::unused()?;
        let act = self.ledger.intend(&Act::Directory { path: path.clone() })?;
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(SystemError::io("create", &path))?;
        self.steps.push(Step::Directory(act, path.clone()));
        let identity = Identity::at(&path).map_err(SystemError::io("inspect", &path))?;
        self.ledger.made(act, identity)?;
        Ok(path)
    }

    fn note_mount(&mut self, act: u32, path: &Path) -> Result<(), SystemError> {
        match mount_at(path) {
            Some(entry) => self.ledger.made(act, Identity::number(entry.device)),
            None => Ok(()),
        }
    }
}

/// Unmounts the file system on the served disk in a process of its own. It writes to the disk: a thread of this process
/// that waited for that, were the process killed, would keep the server's connection open and wait for ever.
fn unmount_by_program(path: &Path) -> Result<(), SystemError> {
    match run("umount", [path]) {
        Err(SystemError::Program { reason, .. }) if reason.contains("busy") => {
            Err(SystemError::Busy { path: path.to_owned() })
        }
        other => other.map(drop),
    }
}

/// A loop device lets go of its file a moment after it was detached, when its last reader (often udev)
/// has closed it.
fn unmount_when_let_go(server: &Server) -> Result<(), SystemError> {
    use cryptbench_export::ExportError;
    const ATTEMPTS: u32 = 200;
    for _ in 1..ATTEMPTS {
        match server.unmount() {
            Err(ExportError::Busy { .. }) => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            other => return other.map_err(Into::into),
        }
    }
    server.unmount().map_err(|e| match e {
        ExportError::Busy { path } => SystemError::Busy { path },
        other => other.into(),
    })
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // What is still in use stays in the ledger, for cleanup.
        if self.take_down().is_err() {
            // Its server serves on while this process lives: it would detach its mount, and then nobody could tell the
            // loop device on its file any more.
            std::mem::forget(self.server.take());
        }
    }
}
