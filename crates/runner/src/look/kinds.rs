//! The kind of a target, other than a file system on a disk.

use std::path::Path;

use cryptbench_os::storage::{Mount, is_compressed, is_overwritten_in_place, mount_of, number_of};
use cryptbench_record::{PlaceKind, compression_option};
use cryptbench_system::provision::zfs_compression;
use cryptbench_text::shown;

use super::Below;
use super::below::{OF_HOST, REMOTE};

/// The kinds of `path`, a path in `mount`.
pub(super) fn of(mount: &Mount, path: &Path, below: Option<&Below>) -> Vec<PlaceKind> {
    let mut kinds = of_mount(mount, path);
    kinds.extend(of_device(below));
    kinds
}

/// The kinds of a device: for a loop device over a file, the kinds of that file's file system.
pub(super) fn of_device(below: Option<&Below>) -> Vec<PlaceKind> {
    let Some(file) = below.and_then(|below| below.kept_in.as_deref()) else { return Vec::new() };
    let mount = number_of(file).ok().and_then(|number| mount_of(number, file)).unwrap_or_default();
    let mut kinds =
        vec![PlaceKind::InFile { file: shown(file), filesystem: mount.file_system.clone() }];
    kinds.extend(of_mount(&mount, file));
    kinds
}

fn of_mount(mount: &Mount, path: &Path) -> Vec<PlaceKind> {
    let mut kinds = of_file_system(&mount.file_system, &mount.options);
    let compresses =
        |kinds: &[PlaceKind]| kinds.iter().any(|kind| matches!(kind, PlaceKind::Compresses { .. }));
    if !compresses(&kinds) && is_compressed(path) {
        kinds.insert(0, PlaceKind::Compresses { how: "chattr +c".to_owned() });
    }
    if mount.file_system == "zfs" {
        let how = match zfs_compression(&mount.source.to_string_lossy()).as_deref() {
            Some("off") => None,
            Some(value) => Some(format!("compression={value}")),
            None => Some("the default of ZFS".to_owned()),
        };
        kinds.splice(0..0, how.map(|how| PlaceKind::Compresses { how }));
    }
    if mount.file_system == "btrfs" && is_overwritten_in_place(path) {
        kinds.retain(|kind| *kind != PlaceKind::CopiesOnWrite);
    }
    if mount.file_system == "overlay" && is_in_memory(mount) {
        kinds.insert(0, PlaceKind::Memory);
    }
    kinds
}

/// Whether an overlay writes to memory, as in a live system.
fn is_in_memory(overlay: &Mount) -> bool {
    let upper = overlay.options.split(',').find_map(|option| option.strip_prefix("upperdir="));
    let Some(upper) = upper.map(Path::new) else { return false };
    let mount = number_of(upper).ok().and_then(|number| mount_of(number, upper));
    mount.is_some_and(|mount| of_file_system(&mount.file_system, "").contains(&PlaceKind::Memory))
}

/// Properties derived from the type and the options of a mount.
fn of_file_system(file_system: &str, options: &str) -> Vec<PlaceKind> {
    let mut kinds = Vec::new();
    kinds.extend(
        compression_option(file_system, options)
            .map(|how| PlaceKind::Compresses { how: how.to_owned() }),
    );
    let has = |option: &str| options.split(',').any(|found| found == option);
    kinds.extend(match file_system {
        "tmpfs" | "ramfs" | "hugetlbfs" => Some(PlaceKind::Memory),
        "btrfs" if has("nodatacow") => None,
        "btrfs" | "bcachefs" | "zfs" | "nilfs2" => Some(PlaceKind::CopiesOnWrite),
        "overlay" | "aufs" | "unionfs" => Some(PlaceKind::Layers),
        name if REMOTE.contains(&name) => Some(PlaceKind::Network),
        name if OF_HOST.contains(&name) => Some(PlaceKind::Host),
        _ => None,
    });
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_options_tell_kinds() {
        use PlaceKind::{CopiesOnWrite, Host, Layers, Memory, Network};
        let compresses = |how: &str| PlaceKind::Compresses { how: how.to_owned() };
        for (file_system, options, kinds) in [
            ("ext4", "rw", vec![]),
            ("tmpfs", "rw,size=2g", vec![Memory]),
            (
                "btrfs",
                "rw,compress-force=zstd:3",
                vec![compresses("compress-force=zstd:3"), CopiesOnWrite],
            ),
            ("btrfs", "rw,compress=no", vec![CopiesOnWrite]),
            ("btrfs", "rw,nodatacow", vec![]),
            ("bcachefs", "rw,compression=lz4", vec![compresses("compression=lz4"), CopiesOnWrite]),
            ("nfs4", "rw", vec![Network]),
            ("virtiofs", "rw", vec![Host]),
            ("overlay", "rw,lowerdir=/a", vec![Layers]),
            // A program's own option with that name does not count.
            ("fuse.x", "rw,compress=zstd", vec![]),
        ] {
            assert_eq!(of_file_system(file_system, options), kinds, "{file_system} {options}");
        }
    }

    #[test]
    fn an_overlay_is_as_its_upper_directory() {
        let of = |upper: &Path| {
            let options = format!("rw,lowerdir=/a,upperdir={},workdir=/w", upper.display());
            let file_system = "overlay".to_owned();
            let mount = Mount { file_system, options, ..Mount::default() };
            of_mount(&mount, Path::new("/nothing"))
        };
        let shm = Path::new("/dev/shm");
        let mount = number_of(shm).ok().and_then(|number| mount_of(number, shm));
        match mount {
            Some(mount) if mount.file_system == "tmpfs" => {
                assert_eq!(of(shm), [PlaceKind::Memory, PlaceKind::Layers]);
            }
            _ => eprintln!("SKIPPED: /dev/shm is no file system in memory"),
        }
        assert_eq!(of(Path::new("/nothing")), [PlaceKind::Layers]);
    }

    #[test]
    fn the_file_of_a_device_is_somewhere() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("disk");
        std::fs::write(&file, "").unwrap();
        let below = Below { kept_in: Some(file.clone()), ..Below::default() };
        let kinds = of_device(Some(&below));
        assert!(matches!(&kinds[0], PlaceKind::InFile { file: f, .. } if *f == shown(&file)));
        assert_eq!(of_device(Some(&Below::default())), []);
    }
}
