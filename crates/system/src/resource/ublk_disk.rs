//! Disks that a child of this process serves through ublk, and file systems on those disks. Requires root.
#![expect(clippy::disallowed_methods, reason = "files of a run, and of /proc and /sys; for now")]

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_export::ublk::{Control, Disk};
use serde::{Deserialize, Serialize};

use super::mount::{Standing, found, mount_of_ours, move_to};
use super::{
    Identity, NOT_OURS, Place, Recovered, Resource, ResourceStack, loop_device, mount_point,
    removed,
};
use crate::SystemError;
use crate::adapter::builtin_mounted::Headerless;
use crate::command::run;
use crate::disk_server::DiskServer;
use crate::provision::filesystem;

/// Maximum number of ublk devices that belong to other programs.
const MOST: u32 = 4096;

/// A ublk device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UblkDisk {
    /// Its path.
    pub path: PathBuf,
    /// Its number.
    pub number: u32,
    /// A random number that the kernel stores with the device.
    pub mark: u64,
}

/// The server, if this crate started it. If this is dropped while the disk still exists, the server runs as
/// long as this process.
#[derive(Default)]
pub(crate) struct Serving(Option<DiskServer>);

impl Drop for Serving {
    fn drop(&mut self) {
        std::mem::forget(self.0.take());
    }
}

/// A file system mounted from a ublk device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskFileSystem {
    /// Absolute path of the mount point.
    pub path: PathBuf,
    /// The disk.
    pub disk: UblkDisk,
}

/// Creates a disk, which a child is to serve through the returned connection.
///
/// # Errors
/// [`SystemError::Io`] if the kernel has no driver or the disk cannot be created.
pub(crate) fn create(
    stack: &mut ResourceStack,
    disk: &Disk,
) -> Result<(UblkDisk, File), SystemError> {
    if !Path::new(Control::NODE).exists() {
        let _ = run("modprobe", ["--quiet", "ublk_drv"]);
    }
    let mut control = Control::open().map_err(SystemError::io("open", Control::NODE))?;
    let failed = |e| SystemError::io("create", "/dev/ublkb*")(e);
    let mark = getrandom::u64().map_err(|e| failed(io::Error::other(e)))?;
    for number in 0..MOST {
        let path = Control::path(number);
        if control.mark(number).map_err(failed)?.is_some() {
            continue;
        }
        let mut connection = None;
        let what = UblkDisk { path: path.clone(), number, mark };
        let made = stack.create(what.clone(), || {
            let taken = control.add(number, &Disk { mark, ..*disk });
            connection = Some(taken.map_err(SystemError::io("create", path))?);
            Ok((Serving::default(), None))
        });
        match (made.map(drop), connection) {
            (Ok(()), Some(connection)) => return Ok((what, connection)),
            // Another process has created a device with this number first.
            (Err(SystemError::Io { source, .. }), _)
                if source.kind() == io::ErrorKind::AlreadyExists => {}
            (Err(e), _) => return Err(e),
            (Ok(()), None) => break,
        }
    }
    Err(failed(io::Error::other("too many devices")))
}

/// Creates a disk, starts a child that serves the plaintext of a container as that disk, and makes the disk appear. The
/// child receives the layout, the path and the key of the container. Returns the disk and the child's PID.
///
/// # Errors
/// As for [`create`]; [`SystemError::Io`] if the child does not serve. No disk is left behind.
pub(crate) fn serve(
    stack: &mut ResourceStack,
    disk: &Disk,
    (plain, path, key): (&Headerless, &Path, &[u8]),
) -> Result<(UblkDisk, u32), SystemError> {
    let (disk, connection) = create(stack, disk)?;
    let container = File::options().read(true).write(true).open(path);
    let served = container.map_err(SystemError::io("open", path)).and_then(|container| {
        DiskServer::start(plain, key, &container, &connection)
            .map_err(SystemError::io("serve", &disk.path))
    });
    // The server's connection is then the only one, so the kernel detects when the server exits.
    drop(connection);
    let started = served.and_then(|server| {
        let number = server.number();
        // Stored before the disk starts, because the kernel looks for partitions on the disk when it starts.
        stack.last::<UblkDisk>().0 = Some(server);
        start(&disk).map(|()| number)
    });
    match started {
        Ok(number) => Ok((disk, number)),
        Err(e) => {
            stack.destroy_last()?;
            Err(e)
        }
    }
}

/// Makes the disk appear, after its server has started to serve.
pub(crate) fn start(disk: &UblkDisk) -> Result<(), SystemError> {
    let start = || Control::open()?.start(disk.number);
    start().map_err(SystemError::io("start", &disk.path))
}

/// Mounts the disk's file system in a new private directory, with `nosuid,nodev` unless `options` specify otherwise.
pub(crate) fn mount(
    stack: &mut ResourceStack,
    disk: &UblkDisk,
    read_only: bool,
    options: Option<&str>,
) -> Result<PathBuf, SystemError> {
    let private = mount_point::create(stack)?;
    stack.create(DiskFileSystem { path: private.clone(), disk: disk.clone() }, || {
        filesystem::mount(&disk.path, &private, read_only, options)?;
        Ok((Standing::Private, found(&private)))
    })?;
    Ok(private)
}

/// Mounts the disk's file system at `place`, with `nosuid,nodev` unless `options` specify otherwise.
pub(crate) fn mount_on(
    stack: &mut ResourceStack,
    disk: &UblkDisk,
    place: Arc<Place>,
    read_only: bool,
    options: Option<&str>,
) -> Result<(), SystemError> {
    let private = mount(stack, disk, read_only, options)?;
    let what = DiskFileSystem { path: place.path().to_owned(), disk: disk.clone() };
    move_to(stack, what, &private, place)
}

impl UblkDisk {
    /// Whether the disk still exists in the kernel.
    fn is_there(&self, control: &mut Control) -> io::Result<bool> {
        Ok(control.mark(self.number)? == Some(self.mark))
    }

    /// Whether the disk is claimed exclusively, for example by a mount.
    fn is_in_use(&self) -> bool {
        const EXCLUSIVE: i32 = rustix::fs::OFlags::EXCL.bits().cast_signed();
        let opened = File::options().read(true).custom_flags(EXCLUSIVE).open(&self.path);
        opened.is_err_and(|e| e.kind() == io::ErrorKind::ResourceBusy)
    }
}

impl Resource for UblkDisk {
    type Live = Serving;
    const EXCLUSIVE: bool = true;

    fn destroy(&self, live: &mut Serving, _: Option<Identity>) -> Result<(), SystemError> {
        let failed = |e| SystemError::io("remove", &self.path)(e);
        let mut control = Control::open().map_err(failed)?;
        if !self.is_there(&mut control).map_err(failed)? {
            return Ok(());
        }
        if self.is_in_use() {
            return Err(SystemError::Busy { path: self.path.clone() });
        }
        control.stop(self.number).map_err(failed)?;
        // Closes the server's connection, for which the kernel may wait.
        if let Some(server) = live.0.take() {
            server.end();
        }
        control.delete(self.number).map_err(failed)
    }

    fn recover(&self, _: Option<Identity>) -> Recovered {
        let mut control = Control::open().ok()?;
        match self.is_there(&mut control) {
            Ok(false) => None,
            Ok(true) => removed(control.remove(self.number)),
            Err(e) => removed(Err(e)),
        }
    }
}

impl Resource for DiskFileSystem {
    type Live = Standing;

    fn destroy(&self, live: &mut Standing, identity: Option<Identity>) -> Result<(), SystemError> {
        live.unmount(&self.path, identity)
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        // The device node disappears with the server. The mount prevents the disk's number from being reused.
        let number = identity
            .map(|identity| identity.device)
            .or_else(|| loop_device::number(&self.disk.path));
        let ours = Control::open().and_then(|mut control| self.disk.is_there(&mut control));
        let entry = mount_of_ours(&self.path, |entry| number == Some(entry.device))?;
        match number == Some(entry.device) && ours.unwrap_or(false) {
            true => removed(filesystem::unmount_dead(&entry.mountpoint)),
            false => NOT_OURS,
        }
    }
}
