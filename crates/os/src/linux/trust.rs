//! Determines who other than this process can redirect a path.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The users whose write permission does not make a directory untrusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// Only its owner.
    Owner,
    /// Also the members of the directory's group: on many systems each user has a private group, and directories are
    /// group-writable.
    Group,
}

/// The first directory on the way to `directory`, including itself, in which someone other than root, `user` and the
/// permitted `writers` may rename entries. `None` if there is no such directory.
///
/// Such a user can replace anything below the directory with a symbolic link. In a directory with the sticky bit, such
/// as `/tmp`, only the owner of an entry and the owner of the directory may rename the entry.
///
/// # Errors
/// The operating system's error for a part of the path.
pub fn renamed_by(directory: &Path, user: u32, writers: Writers) -> io::Result<Option<PathBuf>> {
    let others = match writers {
        Writers::Owner => 0o022,
        Writers::Group => 0o002,
    };
    let real = directory.canonicalize()?;
    let mut ways: Vec<&Path> = real.ancestors().collect();
    ways.reverse();
    for way in ways {
        let found = std::fs::symlink_metadata(way)?;
        let trusted = found.uid() == 0 || found.uid() == user;
        let writable_by_others = found.mode() & others != 0 && found.mode() & 0o1000 == 0;
        if !trusted || writable_by_others {
            return Ok(Some(way.to_owned()));
        }
    }
    Ok(None)
}

/// Like [`renamed_by`], but only users who can reach the directory count: a user who may not enter a directory on
/// the way cannot rename anything below it. Desktops mount disks in this way: open to all, but in a directory that
/// only one user can enter. `users` are trusted in addition to root.
///
/// # Errors
/// The operating system's error for a part of the path.
pub fn renamed_by_passers(
    directory: &Path,
    users: &[u32],
    writers: Writers,
) -> io::Result<Option<PathBuf>> {
    let real = directory.canonicalize()?;
    let (opened, is_reached) = first_open(&real, users, writers)?;
    if opened.is_some() || is_reached {
        return Ok(opened);
    }
    // The same file system may also be mounted at a location that other users can reach.
    let device = std::fs::metadata(&real)?.dev();
    let mounts = crate::storage::mounts().unwrap_or_default();
    let others = mounts.iter().filter(|m| m.device == device && !real.starts_with(&m.mountpoint));
    for other in others {
        if first_open(&other.mountpoint, users, writers).is_ok_and(|(_, is_reached)| is_reached) {
            return Ok(Some(other.mountpoint.clone()));
        }
    }
    Ok(None)
}

/// The first directory on the way in which others can rename entries, and whether others can reach the last directory.
fn first_open(real: &Path, users: &[u32], writers: Writers) -> io::Result<(Option<PathBuf>, bool)> {
    let mut ways: Vec<&Path> = real.ancestors().collect();
    ways.reverse();
    for way in ways {
        let access = Access::of(way)?;
        let is_sticky = access.mode & 0o1000 != 0;
        let is_trusted = access.owner == 0 || users.contains(&access.owner);
        let groups = if writers == Writers::Group { Groups::All } else { Groups::Root };
        if !is_trusted || !is_sticky && access.is_open(WRITE, users, groups) {
            return Ok((Some(way.to_owned()), true));
        }
        let own = match writers {
            Writers::Group => Groups::Own(rustix::process::getegid().as_raw()),
            Writers::Owner => Groups::Root,
        };
        if !access.is_open(PASS, users, own) {
            return Ok((None, false));
        }
    }
    Ok((None, true))
}

const WRITE: u32 = 0o2;
const PASS: u32 = 0o1;

/// The groups whose members are trusted when a path is checked.
#[derive(Clone, Copy)]
enum Groups {
    Root,
    Own(u32),
    All,
}

/// The rights to a directory: permission bits, and the entries of a POSIX access list.
struct Access {
    owner: u32,
    group: u32,
    mode: u32,
    /// The rights of the owning group; if there is a list, the bits in `mode` are its mask.
    group_may: u32,
    /// Users and groups that the list names.
    named: Vec<(bool, u32, u32)>,
}

impl Access {
    fn of(way: &Path) -> io::Result<Self> {
        let found = std::fs::symlink_metadata(way)?;
        let (owner, group, mode) = (found.uid(), found.gid(), found.mode());
        let mask = (mode >> 3) & 0o7;
        let mut access = Self { owner, group, mode, group_may: mask, named: Vec::new() };
        let mut list = vec![0_u8; 64 << 10];
        let Ok(len) = rustix::fs::getxattr(way, "system.posix_acl_access", &mut list[..]) else {
            return Ok(access);
        };
        // linux/posix_acl_xattr.h: a version, then entries of a tag, permissions and a number.
        for entry in list.get(4..len).unwrap_or_default().chunks_exact(8) {
            let short = |at: usize| u32::from(u16::from_le_bytes([entry[at], entry[at + 1]]));
            let (tag, may) = (short(0), short(2) & mask);
            let number = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
            match tag {
                0x02 => access.named.push((true, number, may)),
                0x04 => access.group_may = may,
                0x08 => access.named.push((false, number, may)),
                _ => {}
            }
        }
        Ok(access)
    }

    /// Whether any untrusted user has this right.
    fn is_open(&self, what: u32, users: &[u32], groups: Groups) -> bool {
        let trusts = |group: u32| match groups {
            Groups::All => true,
            Groups::Own(own) => group == 0 || group == own,
            Groups::Root => group == 0 && what == PASS,
        };
        let is_owner_trusted = self.owner == 0 || users.contains(&self.owner);
        let by_list = self.named.iter().any(|(is_user, number, may)| {
            let is_trusted = match is_user {
                true => *number == 0 || users.contains(number),
                false => trusts(*number),
            };
            may & what != 0 && !is_trusted
        });
        !is_owner_trusted
            || self.mode & what != 0
            || self.group_may & what != 0 && !trusts(self.group)
            || by_list
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown};

    use super::*;

    /// As a desktop has it: a disk that all may write, in a directory that one user can enter.
    #[test]
    fn who_cannot_pass_the_directory_above_renames_nothing_below() {
        let dir = tempfile::tempdir().unwrap();
        let user = rustix::process::geteuid().as_raw();
        let (above, disk) = (dir.path().join("user"), dir.path().join("user/My Disk"));
        fs::create_dir_all(&disk).unwrap();
        let set =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(dir.path(), 0o755);
        set(&disk, 0o777);
        let found = |users: &[u32]| renamed_by_passers(&disk, users, Writers::Owner).unwrap();
        let open = Some(disk.canonicalize().unwrap());
        for (mode, expected) in [(0o755, &open), (0o711, &open), (0o700, &None), (0o744, &None)] {
            set(&above, mode);
            assert_eq!(&found(&[user]), expected, "{mode:o}");
        }
        // Only from the outside: a directory above that others can rename is found first.
        set(dir.path(), 0o777);
        assert_eq!(found(&[user]), Some(dir.path().canonicalize().unwrap()));
        set(dir.path(), 0o755);
        if chown(&above, Some(0), Some(0)).is_err() {
            eprintln!("SKIPPED: giving a directory away requires root");
            return;
        }
        // Root's directory, which an access list lets one user pass.
        set(&above, 0o750);
        assert_eq!(found(&[]), None);
        let list = |user: u32, may: u16| {
            let mut bytes = 2_u32.to_le_bytes().to_vec();
            let entries = [
                (1_u16, 7_u16, u32::MAX),
                (2, may, user),
                (4, 0, u32::MAX),
                (16, 5, u32::MAX),
                (32, 0, u32::MAX),
            ];
            for (tag, may, number) in entries {
                bytes.extend([tag.to_le_bytes(), may.to_le_bytes()].concat());
                bytes.extend(number.to_le_bytes());
            }
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(&above, "system.posix_acl_access", &bytes, flags)
        };
        if list(12_345, 5).is_err() {
            eprintln!("SKIPPED: this file system has no access lists");
            return;
        }
        assert_eq!((found(&[12_345]), found(&[])), (None, open));
        list(12_345, 4).unwrap();
        assert_eq!(found(&[]), None, "reading a directory is not passing it");
        chown(&above, Some(12_346), None).unwrap();
        assert_eq!(found(&[]), Some(above.canonicalize().unwrap()), "an owner can permit all");
    }

    #[test]
    fn a_directory_that_others_may_write_is_found_wherever_it_is_on_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let user = rustix::process::geteuid().as_raw();
        let deep = dir.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        let renamed_by = |writers| renamed_by(&deep, user, writers).unwrap();
        assert_eq!(renamed_by(Writers::Owner), None);
        let open = dir.path().join("a").canonicalize().unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        assert_eq!(renamed_by(Writers::Owner), Some(open.clone()));
        assert_eq!(renamed_by(Writers::Group), Some(open.clone()));
        fs::set_permissions(&open, Permissions::from_mode(0o775)).unwrap();
        assert_eq!(renamed_by(Writers::Owner), Some(open.clone()));
        assert_eq!(renamed_by(Writers::Group), None);
        fs::set_permissions(&open, Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(renamed_by(Writers::Owner), None);
        match chown(&open, Some(12_345), None) {
            Ok(()) => assert_eq!(renamed_by(Writers::Group), Some(open)),
            Err(_) => eprintln!("SKIPPED: giving a directory away requires root"),
        }
    }
}
