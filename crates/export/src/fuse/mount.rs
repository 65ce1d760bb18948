//! Creates and removes FUSE mounts: as root with mount(2), otherwise through the setuid `fusermount3`.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cryptbench_os::process::program;
use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
};

use super::channel;
use super::options::FuseOptions;
use crate::ExportError;

/// Type of the mounts as shown in `/proc/self/mountinfo`.
pub const FILE_SYSTEM: &str = "fuse.cryptbench";

/// A mount created by this process.
pub(super) struct Mount {
    path: PathBuf,
    /// Whether this process created the mount as root, without `fusermount3`.
    direct: bool,
    /// Distinguishes this mount from other mounts at the same path; `None` if the kernel does not support this
    /// (before Linux 6.8).
    id: Option<u64>,
}

impl Mount {
    /// Creates a mount on the directory `path`; the second result is the connection to the kernel.
    pub(super) fn new(path: &Path, options: &FuseOptions) -> Result<(Self, OwnedFd), ExportError> {
        let failed = |reason: String| ExportError::Mount { path: path.to_owned(), reason };
        let path = std::path::absolute(path).map_err(|e| failed(e.to_string()))?;
        let fuse = channel::open().map_err(ExportError::NoFuse)?;
        match mount_directly(&path, &fuse, options) {
            Ok(()) => {
                let id = mount_id(&path);
                return Ok((Self { path, direct: true, id }, fuse));
            }
            Err(Errno::PERM) => drop(fuse),
            Err(e) => return Err(failed(e.to_string())),
        }
        let fuse = mount_by_fusermount(&path, options).map_err(failed)?;
        rustix::fs::fcntl_setfl(&fuse, rustix::fs::OFlags::NONBLOCK)
            .map_err(|e| ExportError::system("use the connection to the kernel", e))?;
        let id = mount_id(&path);
        Ok((Self { path, direct: false, id }, fuse))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the mount. With `detach`, the mount is removed even if it is in use, and pending requests fail. Another
    /// mount that has since been created at the same path is not touched.
    pub(super) fn remove(&self, detach: bool) -> Result<(), ExportError> {
        if self.id.is_some() && mount_id(&self.path) != self.id {
            // This process's mount is gone, or another mount covers it.
            return if detach {
                Ok(())
            } else {
                Err(ExportError::Busy { path: self.path.clone() })
            };
        }
        if self.direct {
            // FORCE aborts the connection (fuse_umount_begin in fs/fuse/inode.c), even if a child that is about to exec
            // holds a copy of the connection.
            let forced = UnmountFlags::DETACH | UnmountFlags::FORCE;
            let flags = if detach { forced } else { UnmountFlags::empty() };
            return match rustix::mount::unmount(&self.path, flags | UnmountFlags::NOFOLLOW) {
                Ok(()) => Ok(()),
                Err(Errno::BUSY) => Err(ExportError::Busy { path: self.path.clone() }),
                Err(e) => Err(ExportError::system(format!("unmount {}", self.path.display()), e)),
            };
        }
        fusermount_unmount(&self.path, detach)
    }
}

/// The number of the topmost mount at `path`, which the kernel does not reuse until the next boot.
///
/// The query does not contact the server, because it requests only values that the kernel itself stores.
fn mount_id(path: &Path) -> Option<u64> {
    /// `STATX_MNT_ID_UNIQUE` (include/uapi/linux/stat.h).
    const UNIQUE: StatxFlags = StatxFlags::from_bits_retain(0x4000);
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    let found = rustix::fs::statx(rustix::fs::CWD, path, flags, UNIQUE).ok()?;
    (found.stx_mask & UNIQUE.bits() != 0).then_some(found.stx_mnt_id)
}

/// Whether `path` is a mount whose server is gone, with the effect that every access fails with "Transport endpoint is
/// not connected".
pub fn is_stale_mount(path: &Path) -> bool {
    // The kernel caches attributes but sends this request to the server each time. While the kernel cleans up after a
    // kill, the result can also be ECANCELED.
    let dead = [Errno::NOTCONN, Errno::CONNABORTED, Errno::CANCELED];
    rustix::fs::statfs(path).is_err_and(|e| dead.contains(&e))
}

/// Removes the mount at `path` if its server is gone. Returns whether the mount was removed.
///
/// # Errors
/// [`ExportError::System`] if the mount cannot be removed.
pub fn remove_stale_mount(path: &Path) -> Result<bool, ExportError> {
    let mut found = false;
    // Mounts can be stacked.
    while is_stale_mount(path) {
        found = true;
        let flags = UnmountFlags::DETACH | UnmountFlags::FORCE | UnmountFlags::NOFOLLOW;
        match rustix::mount::unmount(path, flags) {
            Ok(()) => {}
            Err(Errno::PERM) => fusermount_unmount(path, true)?,
            Err(e) => return Err(ExportError::system(format!("unmount {}", path.display()), e)),
        }
    }
    Ok(found)
}

fn mount_directly(path: &Path, fuse: &OwnedFd, options: &FuseOptions) -> Result<(), Errno> {
    let mut data = format!(
        "fd={},rootmode=40000,user_id={},group_id={},default_permissions",
        fuse.as_raw_fd(),
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    if options.allow_other {
        data.push_str(",allow_other");
    }
    // Names in the mount are controlled by the server, so links must not be followed. Kernels before 5.10 nevertheless
    // follow them.
    let mut flags =
        MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::NOSYMFOLLOW;
    if options.read_only {
        flags |= MountFlags::RDONLY;
    }
    let data = std::ffi::CString::new(data).map_err(|_| Errno::INVAL)?;
    rustix::mount::mount("cryptbench", path, FILE_SYSTEM, flags, data.as_c_str())
}

/// The protocol of libfuse's `mount_fusermount`: the helper opens `/dev/fuse`, mounts, and passes the open file
/// through the socket whose descriptor number is in `_FUSE_COMMFD`.
fn mount_by_fusermount(path: &Path, options: &FuseOptions) -> Result<OwnedFd, String> {
    let failed = |e: Errno| e.to_string();
    let missing =
        |e: io::Error| format!("not root, and fusermount3 (package fuse3) does not start: {e}");
    let (ours, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(failed)?;
    let mut list =
        "fsname=cryptbench,subtype=cryptbench,default_permissions,nosuid,nodev".to_owned();
    for (wanted, option) in [(options.allow_other, ",allow_other"), (options.read_only, ",ro")] {
        if wanted {
            list.push_str(option);
        }
    }
    let child = program("fusermount3")
        .map_err(missing)?
        .args(["-o", &list, "--"])
        .arg(path)
        .env("_FUSE_COMMFD", "0")
        .stdin(theirs)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    let fuse = receive_file(&ours);
    let out = child.wait_with_output().map_err(|e| e.to_string())?;
    let complaint = String::from_utf8_lossy(&out.stderr).trim().to_owned();
    match fuse {
        Ok(Some(fuse)) if out.status.success() => Ok(fuse),
        Ok(_) if !complaint.is_empty() => Err(complaint),
        Ok(_) => Err("fusermount3 passed no file".to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

/// The file that arrives with the next message, if any.
fn receive_file(socket: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0; 1];
    let mut data = [IoSliceMut::new(&mut byte)];
    loop {
        let received =
            rustix::net::recvmsg(socket, &mut data, &mut control, RecvFlags::CMSG_CLOEXEC);
        match received {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        break;
    }
    Ok(control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    }))
}

fn fusermount_unmount(path: &Path, detach: bool) -> Result<(), ExportError> {
    let act = || format!("unmount {}", path.display());
    let mut command = program("fusermount3").map_err(|e| ExportError::system(act(), e))?;
    command.args(["-u", "-q"]).args(detach.then_some("-z")).arg("--").arg(path);
    let out = command.stdin(Stdio::null()).output().map_err(|e| ExportError::system(act(), e))?;
    if out.status.success() {
        return Ok(());
    }
    if !detach && !is_stale_mount(path) {
        return Err(ExportError::Busy { path: path.to_owned() });
    }
    let complaint = String::from_utf8_lossy(&out.stderr).trim().to_owned();
    Err(ExportError::system(act(), io::Error::other(complaint)))
}
