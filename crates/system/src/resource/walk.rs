//! Walks a path to a directory component by component, on open directories. A link is followed only if nobody
//! except root and this user can have chosen its destination.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, fstatfs, open, openat, readlinkat};
use rustix::io::Errno;

/// Maximum number of links in a path, as in the kernel.
const MOST_LINKS: usize = 40;

/// `PROC_SUPER_MAGIC` of linux/magic.h. A process controls the links in its directory there.
const PROC: u64 = 0x9fa0;

/// The directory or link at which the walk ended.
pub(super) enum Walked {
    Directory(OwnedFd),
    /// A link that another user could have created; the path to it.
    LinkOfOthers(PathBuf),
}

const HELD: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens the directory at `path`.
pub(super) fn walk(path: &Path) -> Result<Walked, Errno> {
    let whole = std::path::absolute(path).map_err(|_| Errno::NOENT)?;
    let mut parts = parts(&whole);
    let mut directory = open("/", HELD | OFlags::DIRECTORY, Mode::empty())?;
    let mut way = PathBuf::from("/");
    let mut is_trusted = is_ours(&fstat(&directory)?);
    let mut links = 0;
    while let Some(part) = parts.pop_front() {
        let held = openat(&directory, &part, HELD, Mode::empty())?;
        let found = fstat(&held)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => {
                is_trusted &= is_ours(&found);
                directory = held;
                way.push(&part);
            }
            FileType::Symlink => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP);
                }
                let is_ours = found.st_uid == 0 || found.st_uid == user();
                if !is_trusted || !is_ours || fstatfs(&directory)?.f_type.cast_unsigned() == PROC {
                    return Ok(Walked::LinkOfOthers(way.join(part)));
                }
                let to = OsString::from_vec(readlinkat(&held, c"", Vec::new())?.into_bytes());
                let to = PathBuf::from(to);
                if to.is_absolute() {
                    directory = open("/", HELD | OFlags::DIRECTORY, Mode::empty())?;
                    way = PathBuf::from("/");
                }
                for part in self::parts(&to).into_iter().rev() {
                    parts.push_front(part);
                }
            }
            _ => return Err(Errno::NOTDIR),
        }
    }
    Ok(Walked::Directory(directory))
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether only root and this user can rename entries of a directory; with the sticky bit, other users can
/// rename their own.
fn is_ours(directory: &Stat) -> bool {
    let mode = directory.st_mode;
    let is_sticky = mode & 0o1000 != 0;
    (directory.st_uid == 0 || directory.st_uid == user()) && (mode & 0o022 == 0 || is_sticky)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let named = |part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    use super::*;

    fn reached(path: &Path) -> Option<PathBuf> {
        match walk(path).unwrap() {
            Walked::Directory(directory) => {
                Some(fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd())).unwrap())
            }
            Walked::LinkOfOthers(_) => None,
        }
    }

    #[test]
    fn links_of_this_user_lead_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("a/b/mnt")).unwrap();
        symlink("a/b", path("near")).unwrap();
        symlink(path("a"), path("far")).unwrap();
        symlink("../near", path("a/up")).unwrap();
        let mnt = path("a/b/mnt").canonicalize().unwrap();
        for way in
            ["a/b/mnt", "near/mnt", "far/b/mnt", "a/up/mnt", "a/../near/./mnt", "far/up/mnt/../mnt"]
        {
            assert_eq!(reached(&path(way)), Some(mnt.clone()), "{way}");
        }
        symlink("round", path("round")).unwrap();
        assert_eq!(walk(&path("round/x")).err(), Some(Errno::LOOP));
        fs::write(path("file"), "").unwrap();
        assert_eq!(walk(&path("file")).err(), Some(Errno::NOTDIR));
        assert_eq!(walk(&path("none")).err(), Some(Errno::NOENT));
    }

    #[test]
    fn links_behind_a_directory_that_others_may_change_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("open/mnt")).unwrap();
        symlink("mnt", path("open/link")).unwrap();
        assert!(reached(&path("open/link")).is_some());
        fs::set_permissions(path("open"), Permissions::from_mode(0o775)).unwrap();
        assert_eq!(reached(&path("open/link")), None);
        assert!(reached(&path("open/mnt")).is_some(), "what was named is what is reached");
        // In a directory with the sticky bit, our links cannot be replaced.
        fs::set_permissions(path("open"), Permissions::from_mode(0o1777)).unwrap();
        assert!(reached(&path("open/link")).is_some());
        // A process chooses its own open files.
        let fd = format!("/proc/self/fd/{}", fs::File::open(path("open")).unwrap().as_raw_fd());
        assert_eq!(reached(&Path::new(&fd).join("mnt")), None);
        assert_eq!(reached(Path::new("/proc/self/cwd")), None);
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: giving a directory away requires root");
            return;
        }
        fs::set_permissions(path("open"), Permissions::from_mode(0o755)).unwrap();
        chown(path("open"), Some(12_345), None).unwrap();
        fs::create_dir(path("open/roots")).unwrap();
        symlink("../mnt", path("open/roots/link")).unwrap();
        assert_eq!(reached(&path("open/link")), None);
        assert_eq!(
            reached(&path("open/roots/link")),
            None,
            "its directory can be another's tomorrow"
        );
    }
}
