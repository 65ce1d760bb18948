//! Disks that a child of this process serves through ublk, and file systems on them. Requires root.
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
use crate::command::run;
use crate::provision::filesystem;

/// Maximum number of disks of other programs.
const MOST: u32 = 4096;

/// A disk of ublk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UblkDisk {
    /// Its path.
    pub path: PathBuf,
    /// Its number.
    pub number: u32,
    /// A random number that the kernel keeps with it.
    pub mark: u64,
}

/// A file system mounted from a disk of ublk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskFileSystem {
    /// Absolute path of the mount point.
    pub path: PathBuf,
    /// The disk.
    pub disk: UblkDisk,
}

/// Creates a disk for a child to serve, through the returned connection.
///
/// # Errors
/// [`SystemError::Io`] without a driver in the kernel, and errors of making the disk.
pub(crate) fn create(
    stack: &mut ResourceStack,
    disk: &Disk,
) -> Result<(UblkDisk, File), SystemError> {
    if !Path::new(Control::NODE).exists() {
        let _ = run("modprobe", ["--quiet", "ublk_drv"]);
    }
    let mut control = Control::open().map_err(SystemError::io("open", Control::NODE))?;
    let failed = |e| SystemError::io("make", "/dev/ublkb*")(e);
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
            connection = Some(taken.map_err(SystemError::io("make", path))?);
            Ok(((), None))
        });
        match (made.map(drop), connection) {
            (Ok(()), Some(connection)) => return Ok((what, connection)),
            // Another process was faster.
            (Err(SystemError::Io { source, .. }), _)
                if source.kind() == io::ErrorKind::AlreadyExists => {}
            (Err(e), _) => return Err(e),
            (Ok(()), None) => break,
        }
    }
    Err(failed(io::Error::other("too many disks")))
}

/// Lets the disk appear, once its server serves.
pub(crate) fn start(disk: &UblkDisk) -> Result<(), SystemError> {
    let start = || Control::open()?.start(disk.number);
    start().map_err(SystemError::io("start", &disk.path))
}

/// Mounts the disk's file system at `place`, with `nosuid,nodev` unless `options` say otherwise.
pub(crate) fn mount_on(
    stack: &mut ResourceStack,
    disk: &UblkDisk,
    place: Arc<Place>,
    read_only: bool,
    options: Option<&str>,
) -> Result<(), SystemError> {
    let private = mount_point::create(stack)?;
    stack.create(DiskFileSystem { path: private.clone(), disk: disk.clone() }, || {
        filesystem::mount(&disk.path, &private, read_only, options)?;
        Ok((Standing::Private, found(&private)))
    })?;
    let what = DiskFileSystem { path: place.path().to_owned(), disk: disk.clone() };
    move_to(stack, what, &private, place)
}

impl UblkDisk {
    /// Whether the kernel still has it.
    fn is_there(&self, control: &mut Control) -> io::Result<bool> {
        Ok(control.mark(self.number)? == Some(self.mark))
    }

    /// Whether it is claimed exclusively, for example by a mount.
    fn is_in_use(&self) -> bool {
        const EXCLUSIVE: i32 = rustix::fs::OFlags::EXCL.bits().cast_signed();
        let opened = File::options().read(true).custom_flags(EXCLUSIVE).open(&self.path);
        opened.is_err_and(|e| e.kind() == io::ErrorKind::ResourceBusy)
    }
}

impl Resource for UblkDisk {
    type Live = ();
    const EXCLUSIVE: bool = true;

    fn destroy(&self, (): &mut (), _: Option<Identity>) -> Result<(), SystemError> {
        let failed = |e| SystemError::io("remove", &self.path)(e);
        let mut control = Control::open().map_err(failed)?;
        if !self.is_there(&mut control).map_err(failed)? {
            return Ok(());
        }
        if self.is_in_use() {
            return Err(SystemError::Busy { path: self.path.clone() });
        }
        control.remove(self.number).map_err(failed)
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
        // The node disappears with the server. The mount then prevents reuse of the disk's number.
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
