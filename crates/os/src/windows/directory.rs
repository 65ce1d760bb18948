//! A directory, held open: identities of files, and removal of whole trees.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_DELETE_ON_CLOSE, FILE_FLAG_NO_BUFFERING,
    FILE_FLAG_OPEN_REPARSE_POINT, READ_CONTROL,
};

use super::{call, dirs};
use crate::entry::single;
use crate::{Entry, FileIdentity};

/// 1970 in units of 100 ns since 1601.
const EPOCH: i64 = 116_444_736_000_000_000;

/// Opens a file or directory for its attributes, without its contents.
fn look(path: &Path, follows: bool) -> io::Result<File> {
    let mut flags = FILE_FLAG_BACKUP_SEMANTICS;
    if !follows {
        flags |= FILE_FLAG_OPEN_REPARSE_POINT;
    }
    OpenOptions::new().access_mode(0).custom_flags(flags).open(path)
}

/// Writes back each file below a directory; follows no link and no junction.
fn flush_below(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => flush_below(&entry.path())?,
            kind if kind.is_file() => {
                File::options().write(true).open(entry.path())?.sync_all()?;
            }
            _ => {}
        }
    }
    Ok(())
}

impl FileIdentity {
    /// The identity of an open file or directory.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn of(file: &File) -> io::Result<Self> {
        let found = call::information(file)?;
        let created =
            found.created.cast_signed().checked_sub(EPOCH).and_then(|t| t.checked_mul(100));
        // Wine derives the creation time from the last change.
        let born = created.filter(|_| !call::is_wine());
        Ok(Self { device: found.volume, inode: found.index, born })
    }

    /// The identity of the target of `path`.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn reached_by(path: &Path) -> io::Result<Self> {
        Self::of(&look(path, true)?)
    }

    /// The identity of the file at `path`; does not follow a link.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn at(path: &Path) -> io::Result<Self> {
        Self::of(&look(path, false)?)
    }
}

/// A directory. Windows calls use paths, so anyone who can rename the directory can redirect operations in it. The
/// identity is that of the directory that was opened.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    held: File,
}

impl Directory {
    /// Opens the current target of `path`.
    ///
    /// # Errors
    /// The operating system's error, for example if the target does not exist.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = dirs::plain(&path.canonicalize()?);
        let held = look(&path, true)?;
        match held.metadata()?.is_dir() {
            true => Ok(Self { path, held }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The parent directory of `path`, and the last component of `path`.
    ///
    /// # Errors
    /// Those of [`Self::open`]; `InvalidInput` for a path without a last component, such as `C:\`
    /// or `..`.
    pub fn of(path: &Path) -> io::Result<(Self, OsString)> {
        let none = || io::Error::new(io::ErrorKind::InvalidInput, "it does not name a file");
        let name = path.file_name().ok_or_else(none)?.to_owned();
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok((Self::open(parent)?, name))
    }

    /// A second handle to the same directory.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { path: self.path.clone(), held: self.held.try_clone()? })
    }

    /// Opens the directory at `path`; refuses a symbolic link and a junction.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_no_follow(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path)?.is_dir() {
            true => Self::open(path),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`].
    pub fn link_target(&self, _name: &OsStr) -> io::Result<OsString> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Creates a symbolic link.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`]: most users are not permitted to create links.
    pub fn create_link(&self, _target: &OsStr, _name: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Gives this directory the permissions of another directory.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`]: Windows has different permissions.
    pub fn take_after(&self, _old: &Self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Opens a subdirectory, but refuses a symbolic link.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn subdirectory(&self, name: &OsStr) -> io::Result<Self> {
        Self::open_no_follow(&self.join(name)?)
    }

    /// Creates a subdirectory and opens it.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is in use; otherwise the operating system's error.
    pub fn create_subdirectory(&self, name: &OsStr) -> io::Result<Self> {
        self.make_subdirectory(name)?;
        self.subdirectory(name)
    }

    /// Creates a subdirectory.
    ///
    /// # Errors
    /// Those of [`Self::create_subdirectory`].
    pub fn make_subdirectory(&self, name: &OsStr) -> io::Result<()> {
        fs::create_dir(self.join(name)?)
    }

    /// Creates a new file and opens it for writing.
    ///
    /// # Errors
    /// Those of [`Self::create_file`].
    pub fn create_to_write(&self, name: &OsStr) -> io::Result<File> {
        File::options().write(true).create_new(true).open(self.join(name)?)
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn open_own(&self, name: &OsStr) -> io::Result<File> {
        File::open(self.join(name)?)
    }

    /// Drops the cached pages of a file that no process has open, by opening it without buffering.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn forget(&self, name: &OsStr) -> io::Result<()> {
        let mut options = File::options();
        options.read(true).custom_flags(FILE_FLAG_NO_BUFFERING).open(self.join(name)?).map(drop)
    }

    /// Creates the file on which a run measures. The file is deleted when its last handle is closed, however the
    /// process exits.
    ///
    /// # Errors
    /// Those of [`Self::create_file`].
    pub fn create_scratch(&self, name: &OsStr) -> io::Result<File> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        options.custom_flags(FILE_FLAG_DELETE_ON_CLOSE).open(self.join(name)?)
    }

    /// Length in bytes of the file with this name.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn len_of(&self, name: &OsStr) -> io::Result<u64> {
        Ok(fs::symlink_metadata(self.join(name)?)?.len())
    }

    /// Creates a new file and opens it for reading and writing; permissions are inherited from the
    /// directory, and `mode` has no effect.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is in use; otherwise the operating system's error.
    pub fn create_file(&self, name: &OsStr, _mode: u32) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(self.join(name)?)
    }

    /// Opens a regular file; refuses anything else.
    ///
    /// # Errors
    /// The operating system's error; `InvalidInput` if the name is not that of a regular file.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        self.open_as(name, false)
    }

    /// Opens a regular file for reading and writing.
    ///
    /// # Errors
    /// Those of [`Self::open_file`].
    pub fn open_file_to_write(&self, name: &OsStr) -> io::Result<File> {
        self.open_as(name, true)
    }

    /// Opens a regular file that was created earlier, for reading and writing; the users who may access it are
    /// inherited from the directory.
    ///
    /// # Errors
    /// Those of [`Self::open_file`].
    pub fn open_own_to_write(&self, name: &OsStr) -> io::Result<File> {
        self.open_file_to_write(name)
    }

    fn open_as(&self, name: &OsStr, write: bool) -> io::Result<File> {
        let mut options = File::options();
        options.read(true).write(write).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
        let file = options.open(self.join(name)?)?;
        crate::read::regular(&file)?;
        Ok(file)
    }

    /// The entry with this name, if any. Owners have no IDs on Windows, so all are 0.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn entry(&self, name: &OsStr) -> io::Result<Option<Entry>> {
        let held = match look(&self.join(name)?, false) {
            Ok(held) => held,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let found = held.metadata()?;
        let kind = super::file_type(found.file_type());
        Ok(Some(Entry { identity: FileIdentity::of(&held)?, kind, owner: 0, len: found.len() }))
    }

    /// The names of all entries.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(&self.path)?.map(|entry| entry.map(|e| e.file_name())).collect()
    }

    /// Renames a file to a new name, or replaces another regular file in this directory.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.join(from)?, self.join(to)?)
    }

    /// Renames a file to a name that must not exist. `false` if the file system cannot check and rename in one step.
    ///
    /// # Errors
    /// `AlreadyExists`; otherwise the operating system's error.
    pub fn try_rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<bool> {
        call::rename_to_new(&self.join(from)?, &self.join(to)?).map(|()| true)
    }

    /// Returns an error if the name exists.
    ///
    /// # Errors
    /// `AlreadyExists`; otherwise the operating system's error.
    pub fn refuse_taken(&self, name: &OsStr) -> io::Result<()> {
        match self.entry(name)? {
            None => Ok(()),
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    /// Renames a file to a name that must not exist.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is in use.
    pub fn rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.try_rename_to_new(from, to).map(drop)
    }

    /// Removes a file; removes a symbolic link itself, not its target.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.join(name)?)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_dir(self.join(name)?)
    }

    /// Removes the subdirectory with this identity and all its contents.
    ///
    /// # Errors
    /// `NotFound` if the name refers to another file; otherwise the operating system's error.
    pub fn remove_tree(&self, name: &OsStr, identity: FileIdentity) -> io::Result<()> {
        let tree = self.subdirectory(name)?;
        if tree.identity()? != identity {
            return Err(io::ErrorKind::NotFound.into());
        }
        tree.clear()?;
        drop(tree);
        self.remove_directory(name)
    }

    /// Removes everything in the directory; follows no link and no junction.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn clear(&self) -> io::Result<()> {
        for name in self.names()? {
            let path = self.join(&name)?;
            match fs::symlink_metadata(&path)?.is_dir() {
                true => fs::remove_dir_all(&path)?,
                false => fs::remove_file(&path).or_else(|e| match e.kind() {
                    // A link to a directory.
                    io::ErrorKind::PermissionDenied => fs::remove_dir(&path),
                    _ => Err(e),
                })?,
            }
        }
        Ok(())
    }

    /// The directory's identity.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn identity(&self) -> io::Result<FileIdentity> {
        FileIdentity::of(&self.held)
    }

    /// The user ID of all owners, and the mode of a private directory: on Windows, access lists are inherited.
    ///
    /// # Errors
    /// Never fails here.
    pub fn owner_and_mode(&self) -> io::Result<(u32, u32)> {
        Ok((0, 0o700))
    }

    /// Whether only this user, administrators and the system can write in the directory.
    pub fn is_own_alone(&self) -> bool {
        let listed = OpenOptions::new()
            .access_mode(READ_CONTROL)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
            .open(&self.path);
        let same = |file: &File| {
            FileIdentity::of(file).is_ok_and(|of| self.identity().is_ok_and(|own| own == of))
        };
        listed.is_ok_and(|file| same(&file) && super::files::is_own_alone(&file))
    }

    /// Writes back the cached data of the directory's volume or, if only an administrator may do that, of each file
    /// below the directory.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn sync_file_system(&self) -> io::Result<()> {
        super::files::flush_volume(&self.path).or_else(|_| flush_below(&self.path))
    }

    /// Has no effect: the file systems of Windows keep a journal of names.
    ///
    /// # Errors
    /// Never fails here.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// A path that reaches this directory as long as the directory is not renamed.
    pub fn reached(&self) -> PathBuf {
        self.path.clone()
    }

    /// The directory's current path.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn path(&self) -> io::Result<PathBuf> {
        super::files::path_of(&self.held)
    }

    fn join(&self, name: &OsStr) -> io::Result<PathBuf> {
        Ok(self.path.join(single(name)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileType;

    #[test]
    fn a_file_is_known_by_its_identity_and_a_tree_goes_with_all_in_it() {
        let above = tempfile::tempdir().unwrap();
        let above = Directory::open(above.path()).unwrap();
        let name = OsStr::new("tree");
        let tree = above.create_subdirectory(name).unwrap();
        drop(tree.create_file(OsStr::new("a"), 0o600).unwrap());
        let below = tree.create_subdirectory(OsStr::new("b")).unwrap();
        let file = below.create_file(OsStr::new("c"), 0o600).unwrap();
        tree.sync_file_system().unwrap();
        tree.forget(OsStr::new("a")).unwrap();
        let of = |name: &str| tree.entry(OsStr::new(name)).unwrap().unwrap().identity;
        assert_eq!(FileIdentity::of(&file).unwrap(), {
            let entry = below.entry(OsStr::new("c")).unwrap().unwrap();
            assert_eq!(entry.kind, FileType::RegularFile);
            entry.identity
        });
        assert_ne!(of("a"), of("b"));
        assert!(tree.rename_to_new(OsStr::new("a"), OsStr::new("b")).is_err());
        let identity = tree.identity().unwrap();
        assert!(above.remove_tree(name, of("a")).is_err(), "another identity");
        drop((file, below, tree));
        above.remove_tree(name, identity).unwrap();
        assert!(above.entry(name).unwrap().is_none());
        assert!(above.join(OsStr::new("..")).is_err());
    }

    #[test]
    fn what_a_run_measures_on_is_gone_with_its_last_handle() {
        let above = tempfile::tempdir().unwrap();
        let directory = Directory::open(above.path()).unwrap();
        let name = OsStr::new("scratch");
        let file = directory.create_scratch(name).unwrap();
        let cloned = std::sync::Arc::new(file.try_clone().unwrap());
        let direct = crate::files::with_direct(&cloned, true).unwrap();
        assert!(directory.entry(name).unwrap().is_some());
        assert!(directory.create_scratch(name).is_err());
        drop((file, cloned));
        drop(direct);
        assert!(directory.entry(name).unwrap().is_none());
    }

    #[test]
    fn a_private_directory_and_what_is_made_in_it_are_this_users_alone() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("a").join("b");
        dirs::create_private(&path).unwrap();
        dirs::create_private(&path).unwrap();
        let private = Directory::open(&path).unwrap();
        let file = private.create_file(OsStr::new("c"), 0o600).unwrap();
        assert!(private.is_own_alone() && super::super::files::is_own_alone(&file));
        if call::is_wine() {
            eprintln!("SKIPPED: Wine keeps no access list that lets everyone write");
            return;
        }
        let open = above.path().join("open");
        call::rights::make_with(&open, "D:P(A;OICI;FA;;;WD)").unwrap();
        assert!(!Directory::open(&open).unwrap().is_own_alone());
    }
}
