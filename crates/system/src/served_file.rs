//! The file that a server shows in its mount, opened by a privileged process that does not trust the server.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use crate::SystemError;

/// Opens the file at `path`, whose directory is the root of a mount.
///
/// The server of the mount decides what a name refers to, for example a link to another file, a device or a
/// pipe.
///
/// # Errors
/// [`SystemError::Lost`] unless it is a regular file of this mount with the `expected` size in bytes;
/// [`SystemError::Io`].
pub(crate) fn open(
    path: &Path,
    read_only: bool,
    expected: Option<u64>,
) -> Result<File, SystemError> {
    let failed = || SystemError::io("open", path);
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(failed()(std::io::ErrorKind::InvalidInput.into()));
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat2(CWD, above, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let directory = directory.map_err(|e| failed()(e.into()))?;
    let access = if read_only { OFlags::RDONLY } else { OFlags::RDWR };
    // Non-blocking, because opening a pipe would wait for its other end.
    let flags = access | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let within = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    let file = openat2(&directory, name, flags, Mode::empty(), within);
    let file = File::from(file.map_err(|e| failed()(e.into()))?);
    let found = file.metadata().map_err(failed())?;
    let mount = File::from(directory).metadata().map_err(failed())?;
    match problem(&found, &mount, expected) {
        None => Ok(file),
        Some(problem) => Err(SystemError::Lost { path: path.to_owned(), problem }),
    }
}

fn problem(found: &Metadata, mount: &Metadata, expected: Option<u64>) -> Option<String> {
    if !found.is_file() {
        return Some("its server presents something other than a regular file".to_owned());
    }
    if found.dev() != mount.dev() {
        return Some("its server presents a file from another mount".to_owned());
    }
    let expected = expected.filter(|expected| *expected != found.len())?;
    Some(format!("its server reports {} bytes instead of {expected}", found.len()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_opened_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("file"), [1; 512]).unwrap();
        assert!(open(&path("file"), false, Some(512)).is_ok());
        let larger = open(&path("file"), true, Some(1024)).unwrap_err().to_string();
        let larger = larger.replace(&dir.path().display().to_string(), "DIR");
        insta::assert_snapshot!(larger, @"DIR/file: its server reports 512 bytes instead of 1024");
        symlink("file", path("link")).unwrap();
        rustix::fs::mkfifoat(CWD, path("pipe"), Mode::RWXU).unwrap();
        fs::create_dir(path("directory")).unwrap();
        for name in ["link", "pipe", "directory"] {
            assert!(open(&path(name), true, None).is_err(), "{name}");
        }
    }
}
