//! A directory that is held open: what is done in it cannot be led elsewhere by renaming or replacing its path.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, Statx, StatxFlags, fstat, mkdirat, openat, renameat,
    renameat_with, statat, statx, unlinkat,
};
use rustix::io::Errno;

use super::file_type;
use crate::entry::single;
use crate::{Entry, FileIdentity, FileType};

/// Attempts to remove a tree that somebody still writes to.
const ATTEMPTS: usize = 3;

impl FileIdentity {
    /// Of an open file or directory.
    ///
    /// # Errors
    /// What statx(2) says.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        Ok(identity(&status(file.as_fd(), OsStr::new(""), AtFlags::EMPTY_PATH)?))
    }

    /// Of what `path` leads to, symbolic links followed.
    ///
    /// # Errors
    /// What statx(2) says.
    pub fn reached_by(path: &Path) -> io::Result<Self> {
        Ok(identity(&status(CWD, path.as_os_str(), AtFlags::empty())?))
    }

    /// Of what lies at `path`, a symbolic link not followed.
    ///
    /// # Errors
    /// What statx(2) says.
    pub fn at(path: &Path) -> io::Result<Self> {
        Ok(identity(&status(CWD, path.as_os_str(), AtFlags::SYMLINK_NOFOLLOW)?))
    }
}

fn status(at: BorrowedFd<'_>, name: &OsStr, flags: AtFlags) -> io::Result<Statx> {
    Ok(statx(at, name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME)?)
}

fn identity(found: &Statx) -> FileIdentity {
    let has_birth = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
    let born = found.stx_btime;
    FileIdentity {
        device: rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor),
        inode: found.stx_ino,
        born: has_birth.then(|| born.tv_sec * 1_000_000_000 + i64::from(born.tv_nsec)),
    }
}

/// A directory that is held open. Names given to it are single names; they are never followed when they are symbolic
/// links.
#[derive(Debug)]
pub struct Directory {
    descriptor: OwnedFd,
}

impl Directory {
    /// Opens the directory that `path` leads to now.
    ///
    /// # Errors
    /// What openat(2) says, such as that it is no directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { descriptor: openat(CWD, path, flags(), Mode::empty())? })
    }

    /// Opens the directory that `path` itself is, without following a link in its last part.
    ///
    /// # Errors
    /// What openat(2) says: `ELOOP` or `ENOTDIR` for a symbolic link.
    pub fn open_no_follow(path: &Path) -> io::Result<Self> {
        let descriptor = openat(CWD, path, flags() | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self { descriptor })
    }

    /// Opens the directory in which `path` lies, and gives the last part of `path` with it.
    ///
    /// # Errors
    /// As [`Self::open`]; `InvalidInput` for a path without a last part, such as `/` or `..`.
    pub fn of(path: &Path) -> io::Result<(Self, OsString)> {
        let none = || io::Error::new(io::ErrorKind::InvalidInput, "it does not name a file");
        let name = path.file_name().ok_or_else(none)?.to_owned();
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok((Self::open(parent)?, name))
    }

    /// A second handle on the same directory.
    ///
    /// # Errors
    /// What fcntl(2) says.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { descriptor: self.descriptor.try_clone()? })
    }

    /// Opens a directory in this one.
    ///
    /// # Errors
    /// What openat(2) says: `ENOTDIR` for a symbolic link.
    pub fn subdirectory(&self, name: &OsStr) -> io::Result<Self> {
        let flags = flags() | OFlags::NOFOLLOW;
        Ok(Self { descriptor: openat(&self.descriptor, single(name)?, flags, Mode::empty())? })
    }

    /// Makes a directory in this one that only this user may enter, and opens it.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken, by whatever; else what mkdirat(2) says.
    pub fn create_subdirectory(&self, name: &OsStr) -> io::Result<Self> {
        mkdirat(&self.descriptor, single(name)?, Mode::RWXU)?;
        self.subdirectory(name)
    }

    /// Makes a directory in this one that only this user may enter, by one system call.
    ///
    /// # Errors
    /// As [`Self::create_subdirectory`].
    pub fn make_subdirectory(&self, name: &OsStr) -> io::Result<()> {
        Ok(mkdirat(&self.descriptor, single(name)?, Mode::RWXU)?)
    }

    /// Makes a new file in this directory and opens it for reading and writing.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken, by whatever; else what openat(2) says.
    pub fn create_file(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::NOCTTY;
        let mode = Mode::from_raw_mode(mode);
        Ok(openat(&self.descriptor, single(name)?, flags, mode)?.into())
    }

    /// Opens a regular file of this directory; anything else is refused before it can be waited for.
    ///
    /// # Errors
    /// What openat(2) says; `InvalidInput` if it is no regular file.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file: File = openat(&self.descriptor, single(name)?, flags, Mode::empty())?.into();
        crate::read::regular(&file)?;
        Ok(file)
    }

    /// Opens a regular file of this directory for reading and writing.
    ///
    /// # Errors
    /// As [`Self::open_file`].
    pub fn open_file_to_write(&self, name: &OsStr) -> io::Result<File> {
        let flags =
            OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file: File = openat(&self.descriptor, single(name)?, flags, Mode::empty())?.into();
        crate::read::regular(&file)?;
        Ok(file)
    }

    /// Makes a new file that this user alone may use and opens it for writing, by one system call.
    ///
    /// # Errors
    /// As [`Self::create_file`].
    pub fn create_to_write(&self, name: &OsStr) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(openat(&self.descriptor, no_path(name)?, flags, mode)?.into())
    }

    /// Opens a file of this directory for reading, by one system call: for files of this program's own, since what it is
    /// is not looked at.
    ///
    /// # Errors
    /// What openat(2) says.
    pub fn open_own(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.descriptor, no_path(name)?, flags, Mode::empty())?.into())
    }

    /// Bytes of what lies under a name, by one system call.
    ///
    /// # Errors
    /// What fstatat(2) says.
    pub fn len_of(&self, name: &OsStr) -> io::Result<u64> {
        let found = statat(&self.descriptor, no_path(name)?, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(u64::try_from(found.st_size).unwrap_or(0))
    }

    /// What lies under a name, if anything does.
    ///
    /// # Errors
    /// What statx(2) says.
    pub fn entry(&self, name: &OsStr) -> io::Result<Option<Entry>> {
        match status(self.descriptor.as_fd(), single(name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(Entry {
                identity: identity(&found),
                kind: file_type(found.stx_mode.into()),
                owner: found.stx_uid,
                len: found.stx_size,
            })),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// All names in it.
    ///
    /// # Errors
    /// What getdents(2) says.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = fs::read_dir(self.reached())?;
        entries.map(|entry| entry.map(|e| e.file_name())).collect()
    }

    /// Renames a file of this directory over another regular file of it, or to a new name.
    ///
    /// # Errors
    /// What renameat(2) says.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let at = &self.descriptor;
        Ok(renameat(at, single(from)?, at, single(to)?)?)
    }

    /// Renames a file of this directory to a name, which must be free where the file system can be told so, by one system
    /// call; false if it cannot, and nothing was renamed.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken; else what renameat2(2) says.
    pub fn try_rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<bool> {
        let (from, to, at) = (no_path(from)?, no_path(to)?, &self.descriptor);
        match renameat_with(at, from, at, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
            renamed => Ok(renamed.map(|()| true)?),
        }
    }

    /// Refuses a name that something has.
    ///
    /// # Errors
    /// `AlreadyExists`; else what fstatat(2) says.
    pub fn refuse_taken(&self, name: &OsStr) -> io::Result<()> {
        match statat(&self.descriptor, single(name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(()),
            Ok(_) => Err(Errno::EXIST.into()),
            Err(e) => Err(e.into()),
        }
    }

    /// Renames a file of this directory to a name that must be free.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken, by whatever.
    pub fn rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let at = &self.descriptor;
        match renameat_with(at, single(from)?, at, single(to)?, RenameFlags::NOREPLACE) {
            // A file system without the flag, such as NFS: a hard link fails just as exclusively.
            Err(Errno::INVAL) => {
                rustix::fs::linkat(at, single(from)?, at, single(to)?, AtFlags::empty())?;
                self.remove_file(from)
            }
            other => Ok(other?),
        }
    }

    /// Removes a file, or a symbolic link itself.
    ///
    /// # Errors
    /// What unlinkat(2) says.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.descriptor, single(name)?, AtFlags::empty())?)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// What unlinkat(2) says.
    pub fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.descriptor, single(name)?, AtFlags::REMOVEDIR)?)
    }

    /// Removes the directory `name` of this one with all that is in it, if it is the one of that identity: what is
    /// removed is what was looked at, whatever takes its name meanwhile.
    ///
    /// # Errors
    /// `NotFound` if another lies there; else what the system says.
    pub fn remove_tree(&self, name: &OsStr, identity: FileIdentity) -> io::Result<()> {
        let tree = self.subdirectory(name)?;
        if FileIdentity::of(&tree.descriptor)? != identity {
            return Err(io::ErrorKind::NotFound.into());
        }
        tree.clear()?;
        self.remove_directory(name)
    }

    /// Removes all that is in it.
    ///
    /// # Errors
    /// What the system says.
    pub fn clear(&self) -> io::Result<()> {
        for attempt in 1.. {
            for name in self.names()? {
                let kind = self.entry(&name)?.map(|found| found.kind);
                match kind {
                    // The standard library's own walk is from open directories and follows nothing.
                    Some(FileType::Directory) => fs::remove_dir_all(self.reached().join(&name))?,
                    Some(_) => self.remove_file(&name)?,
                    None => {}
                }
            }
            // Somebody who had not ended yet may have written meanwhile.
            if attempt >= ATTEMPTS || self.names()?.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Which directory it is.
    ///
    /// # Errors
    /// What statx(2) says.
    pub fn identity(&self) -> io::Result<FileIdentity> {
        FileIdentity::of(&self.descriptor)
    }

    /// The user that owns it, and its permission bits.
    ///
    /// # Errors
    /// What fstat(2) says.
    pub fn owner_and_mode(&self) -> io::Result<(u32, u32)> {
        let found = fstat(&self.descriptor)?;
        Ok((found.st_uid, found.st_mode & 0o7777))
    }

    /// Makes sure that new names in it outlive a power cut.
    ///
    /// # Errors
    /// What fsync(2) says.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.descriptor)?)
    }

    /// Writes back all that its file system still holds in memory, of whatever file.
    ///
    /// # Errors
    /// What syncfs(2) says.
    pub fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.descriptor)?)
    }

    /// A path by which this process reaches it for as long as it is open, wherever it is moved to.
    #[must_use]
    pub fn reached(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.descriptor.as_raw_fd()))
    }

    /// The path that it has now.
    ///
    /// # Errors
    /// What readlink(2) says.
    pub fn path(&self) -> io::Result<PathBuf> {
        fs::read_link(self.reached())
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// A name in which no directory is named, for calls that are measured: nothing else of it is looked at.
fn no_path(name: &OsStr) -> io::Result<&OsStr> {
    match name.as_encoded_bytes().contains(&b'/') {
        true => single(name),
        false => Ok(name),
    }
}

fn flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn name(text: &str) -> &OsStr {
        OsStr::new(text)
    }

    #[test]
    fn names_lead_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let held = Directory::open(dir.path()).unwrap();
        for bad in ["..", ".", "", "a/b", "/etc", "a/"] {
            assert!(held.create_file(name(bad), 0o600).is_err(), "{bad:?}");
        }
        fs::write(dir.path().join("victim"), "kept").unwrap();
        symlink("victim", dir.path().join("link")).unwrap();
        symlink(dir.path(), dir.path().join("round")).unwrap();
        assert!(held.create_file(name("link"), 0o600).is_err());
        assert!(held.open_file(name("link")).is_err());
        assert!(held.subdirectory(name("round")).is_err());
        assert_eq!(fs::read(dir.path().join("victim")).unwrap(), b"kept");
    }

    #[test]
    fn a_held_directory_is_the_same_after_its_path_leads_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
        fs::create_dir(&ours).unwrap();
        fs::create_dir(&theirs).unwrap();
        let held = Directory::open(&ours).unwrap();
        fs::rename(&ours, dir.path().join("moved")).unwrap();
        symlink(&theirs, &ours).unwrap();
        held.create_file(name("new"), 0o600).unwrap();
        assert!(dir.path().join("moved/new").exists() && !theirs.join("new").exists());
        assert_eq!(held.path().unwrap(), dir.path().canonicalize().unwrap().join("moved"));
    }

    #[test]
    fn only_the_tree_that_was_looked_at_is_removed_and_links_in_it_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let held = Directory::open(dir.path()).unwrap();
        fs::create_dir_all(dir.path().join("victim/deep")).unwrap();
        fs::write(dir.path().join("victim/deep/file"), "kept").unwrap();
        fs::create_dir_all(dir.path().join("tree/deep")).unwrap();
        symlink(dir.path().join("victim"), dir.path().join("tree/link")).unwrap();
        symlink(dir.path().join("victim"), dir.path().join("tree/deep/link")).unwrap();
        let identity = held.entry(name("tree")).unwrap().unwrap().identity;
        let other = held.entry(name("victim")).unwrap().unwrap().identity;
        assert!(held.remove_tree(name("tree"), other).is_err());
        assert!(dir.path().join("tree/deep/link").is_symlink());
        held.remove_tree(name("tree"), identity).unwrap();
        assert!(!dir.path().join("tree").exists());
        assert_eq!(fs::read(dir.path().join("victim/deep/file")).unwrap(), b"kept");
    }

    #[test]
    fn a_new_name_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let held = Directory::open(dir.path()).unwrap();
        fs::write(dir.path().join("old"), "kept").unwrap();
        held.create_file(name("new"), 0o600).unwrap();
        let error = held.rename_to_new(name("new"), name("old")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(dir.path().join("old")).unwrap(), b"kept");
        held.rename_to_new(name("new"), name("free")).unwrap();
        assert!(dir.path().join("free").exists() && !dir.path().join("new").exists());
    }

    #[test]
    fn an_inode_number_that_is_given_again_has_another_birth() {
        let dir = tempfile::tempdir().unwrap();
        let held = Directory::open(dir.path()).unwrap();
        let made = || {
            held.create_file(name("one"), 0o600).unwrap();
            let identity = held.entry(name("one")).unwrap().unwrap().identity;
            held.remove_file(name("one")).unwrap();
            identity
        };
        let first = made();
        if first.born.is_none() {
            eprintln!("SKIPPED: this file system keeps no birth times");
            return;
        }
        let again = (0..50).map(|_| made()).find(|m| m.inode == first.inode);
        match again {
            Some(again) => assert_ne!(again, first),
            None => eprintln!("SKIPPED: no inode number was given again in 50 attempts"),
        }
    }
}
