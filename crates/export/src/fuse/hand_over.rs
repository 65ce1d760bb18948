//! A mount that one process creates and removes and another process serves, so that the server needs no privileges.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::BlockDevice;

use super::channel;
use super::mount::Mount;
use super::options::{FuseOptions, Transport};
use super::server::{self, Server};
use super::switch::UringSwitch;
use crate::{ExportError, Prepared};

/// A mount that another process serves. Dropping this value leaves the mount in place.
pub struct Mounted {
    mount: Mount,
    file: PathBuf,
}

/// The connection of a mount to the kernel. The mount exists as long as any process holds the connection, so the
/// process that created the mount must drop its own copy once the server runs.
pub struct Connection {
    files: Vec<File>,
    /// The guard is kept until the kernel has read the setting, which happens when the server starts.
    _switch: Option<UringSwitch>,
}

impl Connection {
    /// The files to pass to [`serve_mounted`] in the other process.
    pub fn files(&self) -> &[File] {
        &self.files
    }
}

impl Mounted {
    /// Creates a mount on the directory `path`.
    ///
    /// # Errors
    /// [`ExportError::NoFuse`], [`ExportError::Mount`]; [`ExportError::Option`] for an invalid file name.
    pub fn new(path: &Path, options: &FuseOptions) -> Result<(Self, Connection), ExportError> {
        server::check_name(&options.file_name)?;
        let rings = options.transport != Transport::Device;
        let switch = rings.then(UringSwitch::on).flatten();
        let (mount, fuse) = Mount::new(path, options)?;
        let mut files = Vec::new();
        // A server without permission to use a ring reads from these clones.
        if options.transport != Transport::Uring {
            let clones = (1..options.threads).map_while(|_| channel::clone(fuse.as_fd()).ok());
            files.extend(clones.map(File::from));
        }
        files.insert(0, fuse.into());
        let file = mount.path().join(&options.file_name);
        Ok((Self { mount, file }, Connection { files, _switch: switch }))
    }

    /// Path of the file that represents the device.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Removes the mount, which stops the server.
    ///
    /// # Errors
    /// [`ExportError::Busy`] if the file is open or something is mounted on it; the server then
    /// continues.
    pub fn unmount(&self) -> Result<(), ExportError> {
        self.mount.remove(false)
    }
}

/// Serves `device` as the only file of a mount that another process has created, using the files of the
/// [`Connection`] that [`Mounted::new`] created with the same `options`. Does not open files or create rings.
///
/// # Errors
/// [`ExportError::Protocol`]; [`ExportError::Option`] for a transport that this machine or device does not support.
pub fn serve_mounted(
    device: Arc<dyn BlockDevice>,
    connection: Vec<File>,
    options: &FuseOptions,
    prepared: Prepared,
) -> Result<Server, ExportError> {
    let direct = prepared.0.and_then(|rings| Some((device.io_target()?, rings)));
    let connection = connection.into_iter().map(Into::into).collect();
    server::begin(device, None, connection, options, direct)
}
