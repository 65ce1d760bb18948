//! Mounted disks of this machine, each with a directory in which the user can measure.

use std::path::{Path, PathBuf};

use cryptbench_os::dirs::may_write;
use cryptbench_os::storage::{Mount, mounts, space};
use cryptbench_serve::Mounted;
use cryptbench_text::shown;

/// File systems that are not on a disk of this machine, although their source looks like a device.
const NO_DISKS: [&str; 3] = ["squashfs", "iso9660", "overlay"];

/// Mounts for the system's own use, which nobody measures.
const NOT_OFFERED: [&str; 3] = ["/boot", "/snap", "/var/lib/docker"];

/// All mounted disks with a writable directory, in the order of their mount points. On the disk that contains
/// `here`, that directory is preferred.
pub fn mounted(here: &Path) -> Vec<Mounted> {
    let home = std::env::home_dir();
    let all = mounts().unwrap_or_default();
    let mut found: Vec<Mounted> = Vec::new();
    let mut seen = Vec::new();
    for mount in all.iter().filter(|mount| is_disk(mount)) {
        let beyond = |path: &&Path| holder(&all, path).is_some_and(|of| of.id == mount.id);
        let places = [Some(here), home.as_deref(), Some(mount.mountpoint.as_path())];
        let place = places.into_iter().flatten().filter(beyond).find(|path| may_write(path));
        // Bind mounts show the same file system again.
        if let (Some(place), false) = (place, seen.contains(&mount.device)) {
            seen.push(mount.device);
            found.extend(offered(place, mount));
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn is_disk(mount: &Mount) -> bool {
    let point = &mount.mountpoint;
    let is_device = mount.source.starts_with("/dev") || mount.file_system == "zfs";
    is_device
        && !NO_DISKS.contains(&mount.file_system.as_str())
        && !mount.options.split(',').any(|option| option == "ro")
        && !NOT_OFFERED.iter().any(|of| point.starts_with(of))
}

/// The mount that contains a path, found only by the path's name: no device has the number 0.
fn holder(all: &[Mount], path: &Path) -> Option<Mount> {
    Mount::of(all.to_vec(), 0, path)
}

/// The disk as offered on the page; `None` if its path is not valid text, because a page cannot represent it.
fn offered(place: &Path, mount: &Mount) -> Option<Mounted> {
    let space = space(place).ok()?;
    let source: PathBuf = mount.source.file_name().map_or_else(|| mount.source.clone(), Into::into);
    Some(Mounted {
        path: place.to_str()?.to_owned(),
        size: space.size,
        free: space.free,
        about: format!("{} on {}", mount.file_system, shown(&source)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(id: u64, at: &str, source: &str, file_system: &str, options: &str) -> Mount {
        Mount {
            id,
            device: id,
            mountpoint: at.into(),
            file_system: file_system.to_owned(),
            source: source.into(),
            options: options.to_owned(),
        }
    }

    #[test]
    fn disks_are_offered_and_what_the_system_needs_is_not() {
        let is = |mount: Mount| is_disk(&mount);
        assert!(is(mount(1, "/", "/dev/sda1", "ext4", "rw,relatime")));
        assert!(is(mount(1, "/media/me/My Disk", "/dev/sdb1", "exfat", "rw")));
        assert!(!is(mount(1, "/", "/dev/sda1", "ext4", "ro")));
        assert!(!is(mount(1, "/snap/x", "/dev/loop1", "squashfs", "rw")));
        assert!(!is(mount(1, "/boot/efi", "/dev/sda2", "vfat", "rw")));
        assert!(!is(mount(1, "/proc", "proc", "proc", "rw")));
    }

    #[test]
    fn a_path_is_on_the_deepest_mount_and_there_on_the_last() {
        let all = [
            mount(1, "/", "/dev/sda1", "ext4", "rw"),
            mount(2, "/home", "/dev/sda2", "ext4", "rw"),
            mount(3, "/home", "/dev/sda3", "ext4", "rw"),
        ];
        let id = |path: &str| holder(&all, path.as_ref()).map(|mount| mount.id);
        assert_eq!([id("/etc"), id("/home/me"), id("/homes")], [Some(1), Some(3), Some(1)]);
    }
}
