//! A block device in use by this machine: served through FUSE, on a loop device, with its file system mounted.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::BlockDevice;
use cryptbench_export::fuse::FuseOptions;

use crate::SystemError;
use crate::resource::{Journal, ResourceStack, fuse_server, loop_device, mount, mount_point};

/// A device that is served, and what was set up on top of it. Dropping it takes everything down.
pub struct ServedVolume {
    stack: ResourceStack,
    file: PathBuf,
}

/// Serves `device` as a file in a mount in a directory of its own, and puts a loop device on it: gives the loop device and
/// the file.
pub(crate) fn as_disk(
    stack: &mut ResourceStack,
    device: Arc<dyn BlockDevice>,
) -> Result<(PathBuf, PathBuf), SystemError> {
    let path = mount_point::create(stack)?;
    let file = fuse_server::create(stack, device, &path, &FuseOptions::default())?;
    Ok((loop_device::create(stack, &file, false)?, file))
}

impl ServedVolume {
    /// Serves `device` as a file in a mount at `path`, or in a private directory where none is given.
    ///
    /// # Errors
    /// Any [`SystemError`]; nothing is left.
    pub fn serve(
        device: Arc<dyn BlockDevice>,
        path: Option<&Path>,
        options: &FuseOptions,
        journal: &Journal,
    ) -> Result<Self, SystemError> {
        let mut stack = ResourceStack::new(journal);
        let path = match path {
            Some(path) => std::path::absolute(path).map_err(SystemError::io("find", path))?,
            None => mount_point::create(&mut stack)?,
        };
        let file = fuse_server::create(&mut stack, device, &path, options)?;
        Ok(Self { stack, file })
    }

    /// The file that is the device.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Puts a loop device on the file, and gives its path. Takes root.
    ///
    /// # Errors
    /// [`SystemError::Program`], with what losetup(8) said.
    pub fn attach_loop(&mut self, read_only: bool) -> Result<PathBuf, SystemError> {
        loop_device::create(&mut self.stack, &self.file, read_only)
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
        let path = fs::canonicalize(directory).map_err(SystemError::io("find", directory))?;
        mount::mount_at_path(&mut self.stack, device, &self.file, &path, read_only, options)
    }

    /// As [`mount_file_system`](Self::mount_file_system), in a private directory, whose path it gives.
    ///
    /// # Errors
    /// As that, and when the directory cannot be made.
    pub fn mount_in_own_directory(&mut self, device: &Path) -> Result<PathBuf, SystemError> {
        mount::mount(&mut self.stack, device, Some(&self.file))
    }

    /// Takes everything down in reverse order. What is in use is waited for for two seconds; then it can be tried again.
    ///
    /// # Errors
    /// [`SystemError::Busy`], or what the system refused.
    pub fn destroy(&mut self) -> Result<(), SystemError> {
        self.stack.destroy()
    }

    /// The same without waiting for what is in use.
    ///
    /// # Errors
    /// As [`Self::destroy`].
    pub fn destroy_at_once(&mut self) -> Result<(), SystemError> {
        self.stack.destroy_at_once()
    }
}
