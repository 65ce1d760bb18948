//! A directory by its path.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::entry::single;
use crate::{Entry, FileIdentity, FileType};

impl FileIdentity {
    /// The identity of an open file or directory.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`]: it is unknown on this system.
    pub fn of<F>(_file: F) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The identity of the target of `path`.
    ///
    /// # Errors
    /// Those of [`Self::of`].
    pub fn reached_by(_path: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The identity of the file at `path`.
    ///
    /// # Errors
    /// Those of [`Self::of`].
    pub fn at(_path: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A directory. It is stored as a path, because no descriptor can be held open here: renaming the
/// directory redirects operations in it.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Opens the current target of `path`.
    ///
    /// # Errors
    /// The operating system's error, for example if it does not exist.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        match path.is_dir() {
            true => Ok(Self { path }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The parent directory of `path`, and the last component of `path`.
    ///
    /// # Errors
    /// Those of [`Self::open`]; `InvalidInput` for a path without a last component, such as `/` or
    /// `..`.
    pub fn of(path: &Path) -> io::Result<(Self, OsString)> {
        let none = || io::Error::new(io::ErrorKind::InvalidInput, "it does not name a file");
        let name = path.file_name().ok_or_else(none)?.to_owned();
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok((Self::open(parent)?, name))
    }

    /// A second handle on the same directory.
    ///
    /// # Errors
    /// Never fails here.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { path: self.path.clone() })
    }

    /// Opens the directory at `path`; refuses a symbolic link.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_no_follow(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path)?.is_dir() {
            true => Self::open(path),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Opens a subdirectory; refuses a symbolic link.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn subdirectory(&self, name: &OsStr) -> io::Result<Self> {
        Self::open_no_follow(&self.join(name)?)
    }

    /// Creates a subdirectory and opens it.
    ///
    /// # Errors
    /// `AlreadyExists` if anything has the name; otherwise the operating system's error.
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

    /// Length in bytes of the file with this name.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn len_of(&self, name: &OsStr) -> io::Result<u64> {
        Ok(fs::symlink_metadata(self.join(name)?)?.len())
    }

    /// Creates a new file and opens it for reading and writing; `mode` has no effect here.
    ///
    /// # Errors
    /// `AlreadyExists` if anything has the name; otherwise the operating system's error.
    pub fn create_file(&self, name: &OsStr, _mode: u32) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(self.join(name)?)
    }

    /// Opens a regular file; refuses anything else.
    ///
    /// # Errors
    /// The operating system's error; `InvalidInput` if it is not a regular file.
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

    fn open_as(&self, name: &OsStr, write: bool) -> io::Result<File> {
        if self.entry(name)?.is_some_and(|found| found.kind != FileType::RegularFile) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let file = File::options().read(true).write(write).open(self.join(name)?)?;
        crate::read::regular(&file)?;
        Ok(file)
    }

    /// The entry with this name, if any. Identity and owner are unknown here: all entries have the
    /// same identity and the owner 0.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn entry(&self, name: &OsStr) -> io::Result<Option<Entry>> {
        let found = match fs::symlink_metadata(self.join(name)?) {
            Ok(found) => found,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let kind = super::file_type(found.file_type());
        let identity = FileIdentity { device: 0, inode: 0, born: None };
        Ok(Some(Entry { identity, kind, owner: 0, len: found.len() }))
    }

    /// The names of all entries.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(&self.path)?.map(|entry| entry.map(|e| e.file_name())).collect()
    }

    /// Renames a file to a new name, or over another regular file of this directory.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.join(from)?, self.join(to)?)
    }

    /// Reports that an exclusive rename is impossible here: renames nothing.
    ///
    /// # Errors
    /// Never fails here.
    pub fn try_rename_to_new(&self, _from: &OsStr, _to: &OsStr) -> io::Result<bool> {
        Ok(false)
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
    /// `AlreadyExists` if anything has the name.
    pub fn rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        // A hard link fails if the name exists.
        fs::hard_link(self.join(from)?, self.join(to)?)?;
        self.remove_file(from)
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

    /// Would write back the cached data of its file system, which is impossible here.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`].
    pub fn sync_file_system(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Would ensure that new names in it survive a power failure, which is impossible here.
    ///
    /// # Errors
    /// Never fails here.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// A path that reaches this directory as long as it is not renamed.
    #[must_use]
    pub fn reached(&self) -> PathBuf {
        self.path.clone()
    }

    /// Its path when it was opened.
    ///
    /// # Errors
    /// Never fails here.
    pub fn path(&self) -> io::Result<PathBuf> {
        Ok(self.path.clone())
    }

    fn join(&self, name: &OsStr) -> io::Result<PathBuf> {
        Ok(self.path.join(single(name)?))
    }
}
