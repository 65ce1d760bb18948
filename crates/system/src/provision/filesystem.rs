//! File systems on real disks: creates, mounts and unmounts them with the system's own programs.

use std::path::Path;
use std::time::Duration;

use cryptbench_text::shown;
use rustix::mount::UnmountFlags;
use tracing::info;

pub use super::file_system_kind::FileSystemKind;
use crate::SystemError;
use crate::command::run;
use crate::resource::place::unmount_at;

/// Creates a file system on `device`, a block device or a regular file.
///
/// # Errors
/// [`SystemError::Program`] if the program is missing or refuses, for example because the device is
/// too small.
pub fn make(kind: FileSystemKind, device: &Path) -> Result<(), SystemError> {
    let (program, options): (_, &[&str]) = match kind {
        // -F, -f, -I: allow a file, or a device without partitions, because the user requested it.
        FileSystemKind::Ext4 => ("mkfs.ext4", &["-q", "-F", "-E", "nodiscard"]),
        FileSystemKind::Xfs => ("mkfs.xfs", &["-q", "-f", "-K"]),
        FileSystemKind::Btrfs => ("mkfs.btrfs", &["-q", "-f", "-K"]),
        FileSystemKind::Vfat => ("mkfs.vfat", &["-I"]),
        FileSystemKind::Exfat => ("mkfs.exfat", &[]),
        // -F: allows a file instead of a block device. -f: does not write zeros to all of it.
        FileSystemKind::Ntfs => ("mkfs.ntfs", &["-q", "-F", "-f"]),
    };
    run(program, options.iter().map(AsRef::as_ref).chain([device.as_os_str()])).map(drop)
}

/// Creates an ext4 file system on `device` without background work after its creation, which would disturb a
/// measurement.
///
/// # Errors
/// [`SystemError::Program`].
pub fn make_settled(device: &Path) -> Result<(), SystemError> {
    make_settled_with(None, device)
}

/// Like [`make_settled`], but with an additional ext4 feature, such as `encrypt` (ext4(5)).
pub(crate) fn make_settled_with(feature: Option<&str>, device: &Path) -> Result<(), SystemError> {
    let settled = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
    let mut options = vec!["-q", "-F", "-E", settled, "-m", "0"];
    if let Some(feature) = feature {
        options.extend(["-O", feature]);
    }
    run("mkfs.ext4", options.iter().map(AsRef::as_ref).chain([device.as_os_str()])).map(drop)
}

/// Mounts `device` at `directory` with mount(8), which detects the type.
///
/// Set-user-ID programs and device nodes are disabled, because the creator of the file system chose its owners
/// and modes. `options` come last and can override this: `suid,dev` allows both.
pub(crate) fn mount(
    device: &Path,
    directory: &Path,
    read_only: bool,
    options: Option<&str>,
) -> Result<(), SystemError> {
    let mut list = format!("{},nosuid,nodev", if read_only { "ro" } else { "rw" });
    if let Some(more) = options {
        list = format!("{list},{more}");
    }
    let arguments = ["-o".as_ref(), list.as_ref(), device.as_os_str(), directory.as_os_str()];
    run("mount", arguments).map(drop)
}

/// Unmounts the file system at `directory` and writes dirty data back.
///
/// # Errors
/// [`SystemError::Busy`], [`SystemError::Io`].
pub fn unmount(directory: &Path) -> Result<(), SystemError> {
    let unmounted = unmount_at(directory, UnmountFlags::empty());
    info!("unmounts {}: {unmounted:?}", shown(directory));
    match unmounted {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::BUSY) => Err(SystemError::Busy { path: directory.to_owned() }),
        Err(e) => Err(SystemError::io("unmount", directory)(e.into())),
    }
}

/// Whether a file or directory in the mount at `directory` is in use. Writes nothing, so it does not wait.
///
/// # Errors
/// [`SystemError::Io`].
pub fn is_in_use(directory: &Path) -> Result<bool, SystemError> {
    use rustix::io::Errno;
    // The first call only marks an unused mount; the kernel does not unmount it (umount(2)).
    match unmount_at(directory, UnmountFlags::EXPIRE) {
        Err(Errno::BUSY) => Ok(true),
        Ok(()) | Err(Errno::AGAIN) => Ok(false),
        Err(e) => Err(SystemError::io("inspect", directory)(e.into())),
    }
}

/// Retries `act` for up to two seconds while a resource is in use.
pub(crate) fn once_let_go(
    mut act: impl FnMut() -> Result<(), SystemError>,
) -> Result<(), SystemError> {
    const ATTEMPTS: u32 = 200;
    for _ in 1..ATTEMPTS {
        match act() {
            Err(SystemError::Busy { .. }) => std::thread::sleep(Duration::from_millis(10)),
            other => return other,
        }
    }
    act()
}

/// Detaches a mount whose disk is gone, even if it is in use.
pub(crate) fn unmount_dead(directory: &Path) -> Result<(), SystemError> {
    unmount_at(directory, UnmountFlags::empty())
        .or_else(|_| unmount_at(directory, UnmountFlags::DETACH))
        .map_err(|e| SystemError::io("unmount", directory)(e.into()))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::{self, File};

    use rustix::mount::{MountFlags, mount};

    use super::*;

    #[test]
    fn what_is_in_use_is_tried_again_and_nothing_else() {
        let tries = Cell::new(0);
        let busy = || Err(SystemError::Busy { path: "/x".into() });
        let freed = once_let_go(|| {
            tries.set(tries.get() + 1);
            if tries.get() < 5 { busy() } else { Ok(()) }
        });
        assert!(freed.is_ok() && tries.get() == 5);
        let failed = once_let_go(|| {
            tries.set(tries.get() + 1);
            Err(SystemError::Stopped)
        });
        assert!(matches!(failed, Err(SystemError::Stopped)) && tries.get() == 6);
        assert!(matches!(once_let_go(busy), Err(SystemError::Busy { .. })));
    }

    #[test]
    fn a_mount_goes_once_its_last_user_has_let_go() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: mounting requires root");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        mount("test", place.path(), "tmpfs", MountFlags::empty(), None).unwrap();
        let path = place.path().join("open");
        fs::write(&path, "x").unwrap();
        let open = File::open(&path).unwrap();
        assert!(matches!(unmount(place.path()), Err(SystemError::Busy { .. })));
        let user = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            drop(open);
        });
        once_let_go(|| unmount(place.path())).unwrap();
        user.join().unwrap();
        assert!(!path.exists());
    }
}
