//! A block device in use on this machine: served through FUSE, with a loop device, or as a ublk device, and a
//! file system mounted from it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, FileDevice};
use cryptbench_export::fuse::{self, Connection, FuseOptions};
use cryptbench_export::ublk::Disk;
use cryptbench_text::chain;
use tracing::debug;

use crate::adapter::builtin_mounted::Headerless;
pub use crate::disk_server::{SERVE_DISK, serve_disk};
use crate::kind::mapped;
use crate::resource::{
    Journal, Place, ResourceStack, UblkDisk, fuse_server, loop_device, mount, mount_point,
    ublk_disk,
};
use crate::transport::Transport;
use crate::{SystemError, served_file};

/// A served device and everything that is set up on it. Dropping it removes everything.
pub struct ServedVolume {
    stack: ResourceStack,
    /// The file that contains the device's data, or the ublk device.
    file: PathBuf,
    disk: Option<UblkDisk>,
    /// The size of the file in bytes, if another process serves it.
    expected: Option<u64>,
}

/// The plaintext of a volume: as a ublk device that a child serves, or as a file with a loop device, in a new
/// private mount that this process serves.
///
/// losetup(8) opens the file, because a thread that waits for a reply from its own process would prevent that
/// process from exiting after SIGKILL.
pub(crate) fn as_disk(
    stack: &mut ResourceStack,
    plain: &Headerless,
    volume: &mapped::Volume<'_>,
    transport: Transport,
) -> Result<mapped::Disk, SystemError> {
    let (path, key) = (&volume.container.path, volume.secret);
    let device = FileDevice::open(path, plain.mode(), false).map_err(SystemError::io("open", path));
    let device = plain.over(device?, key, volume.tier)?;
    if matches!(transport, Transport::Auto | Transport::Ublk) {
        let (size, sector) = (device.size(), device.sector().clamp(512, 4096));
        let disk = Disk { size, sector, read_only: false, mark: 0 };
        match ublk_disk::serve(stack, &disk, (plain, path, key)) {
            Ok((disk, server)) => {
                let by_kernel = mapped::Disk::by_kernel(disk.path.clone());
                return Ok(mapped::Disk {
                    daemons: vec![server],
                    served: Some(Transport::Ublk),
                    ublk: Some(disk),
                    ..by_kernel
                });
            }
            Err(e) if transport == Transport::Ublk => return Err(e),
            Err(e) => debug!("FUSE is used, because no ublk disk can be created: {}", chain(&e)),
        }
    }
    let path = mount_point::create(stack)?;
    let transport = match transport {
        Transport::Auto | Transport::Ublk => fuse::Transport::Auto,
        Transport::Uring => fuse::Transport::Uring,
        Transport::Device => fuse::Transport::Device,
    };
    let options = FuseOptions { transport, ..FuseOptions::default() };
    let (file, served) = fuse_server::create(stack, device, &path, &options)?;
    let device = loop_device::create(stack, &file, false)?;
    let served = Some(served);
    Ok(mapped::Disk { file: Some(file), served, ..mapped::Disk::by_kernel(device) })
}

impl ServedVolume {
    /// Serves `device` as a file in a mount at `path`, or in a private directory if `None`.
    ///
    /// # Errors
    /// Any [`SystemError`]; nothing is left behind.
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
        let (file, _) = fuse_server::create(&mut stack, device, &path, options)?;
        Ok(Self { stack, file, disk: None, expected: None })
    }

    /// Like [`serve`](Self::serve), but for a device of `size` bytes, which a child of this process serves with
    /// [`serve_mounted`](cryptbench_export::fuse::serve_mounted).
    ///
    /// # Errors
    /// Any [`SystemError`]; nothing is left behind.
    pub fn by_child(
        path: Option<&Path>,
        size: u64,
        options: &FuseOptions,
        journal: &Journal,
    ) -> Result<(Self, Connection), SystemError> {
        let mut stack = ResourceStack::new(journal);
        let path = match path {
            Some(path) => std::path::absolute(path).map_err(SystemError::io("find", path))?,
            None => mount_point::create(&mut stack)?,
        };
        let (file, connection) = fuse_server::create_for_child(&mut stack, &path, options)?;
        Ok((Self { stack, file, disk: None, expected: Some(size) }, connection))
    }

    /// A ublk device that a child of this process serves with [`serve`](cryptbench_export::ublk::serve),
    /// through the returned connection.
    ///
    /// # Errors
    /// [`SystemError::Io`] if the kernel does not support ublk; any other [`SystemError`]. Nothing is left
    /// behind.
    pub fn disk_by_child(disk: &Disk, journal: &Journal) -> Result<(Self, File), SystemError> {
        let mut stack = ResourceStack::new(journal);
        let (disk, connection) = ublk_disk::create(&mut stack, disk)?;
        Ok((Self { stack, file: disk.path.clone(), disk: Some(disk), expected: None }, connection))
    }

    /// The file that contains the device's data, or the ublk device.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Makes the disk appear, or attaches a loop device to the file, and returns its path. A server must
    /// already serve it. Requires root.
    ///
    /// # Errors
    /// [`SystemError::Lost`] if the server shows anything other than a file of the right size;
    /// [`SystemError::Io`].
    pub fn attach(&mut self, read_only: bool) -> Result<PathBuf, SystemError> {
        match &self.disk {
            Some(disk) => ublk_disk::start(disk).map(|()| disk.path.clone()),
            // This process serves the file itself, so another process must open it; there is no untrusted
            // server.
            None if self.expected.is_none() => {
                loop_device::create(&mut self.stack, &self.file, read_only)
            }
            None => {
                let open = served_file::open(&self.file, read_only, self.expected)?;
                loop_device::create_over(&mut self.stack, &open, &self.file, read_only)
            }
        }
    }

    /// Mounts the file system on the device at `place`, with `nosuid,nodev` unless `options` specify otherwise.
    ///
    /// # Errors
    /// [`SystemError::Program`] with the message of mount(8); errors of mounting at `place`.
    pub fn mount_file_system(
        &mut self,
        device: &Path,
        place: Arc<Place>,
        read_only: bool,
        options: Option<&str>,
    ) -> Result<(), SystemError> {
        match &self.disk {
            Some(disk) => ublk_disk::mount_on(&mut self.stack, disk, place, read_only, options),
            None => mount::mount_on(&mut self.stack, device, &self.file, place, read_only, options),
        }
    }

    /// Makes the file visible at `place` instead of in its private directory. A server must already serve it.
    /// Requires root.
    ///
    /// # Errors
    /// As for [`Self::attach`]; errors of mounting at `place`.
    pub fn show_at(&mut self, place: Arc<Place>) -> Result<(), SystemError> {
        served_file::open(&self.file, true, self.expected)?;
        let private = self.file.parent().unwrap_or(Path::new("/")).to_owned();
        let name = self.file.file_name().unwrap_or_default().to_owned();
        let shown = place.path().join(name);
        fuse_server::move_to(&mut self.stack, &private, place)?;
        self.file = shown;
        Ok(())
    }

    /// Mounts the file system on the device in a private directory, and returns the directory's path.
    ///
    /// # Errors
    /// [`SystemError::Program`] with the message of mount(8); errors of creating the directory.
    pub fn mount_in_own_directory(&mut self, device: &Path) -> Result<PathBuf, SystemError> {
        mount::mount(&mut self.stack, device, Some(&self.file))
    }

    /// Removes everything in reverse order. Waits up to two seconds for resources in use.
    ///
    /// # Errors
    /// [`SystemError::Busy`], or another error of the removal; the call can be repeated.
    pub fn destroy(&mut self) -> Result<(), SystemError> {
        self.stack.destroy()
    }

    /// Like [`destroy`](Self::destroy), but without waiting for resources in use.
    ///
    /// # Errors
    /// As for [`Self::destroy`].
    pub fn destroy_at_once(&mut self) -> Result<(), SystemError> {
        self.stack.destroy_at_once()
    }
}
