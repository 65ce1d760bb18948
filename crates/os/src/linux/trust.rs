//! Finds out who besides this process can redirect a path.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The users who may write to a directory according to its permission bits without making it untrusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// Only its owner.
    Owner,
    /// Its group, too. On many systems each user has a private group, and directories are
    /// group-writable.
    Group,
}

/// The first directory on the way to `directory`, including itself, in which someone may rename
/// entries other than root, `user` and the permitted `writers`. `None` if there is none.
///
/// Such a user can replace anything below it with a symbolic link. In a directory with the sticky
/// bit, such as `/tmp`, only the owner of an entry and the owner of the directory may rename the
/// entry.
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

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown};

    use super::*;

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
