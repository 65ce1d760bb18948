//! A directory by its path.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::entry::single;
use crate::{Entry, FileIdentity, FileType};

impl FileIdentity {
    /// Of an open file or directory.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`]: it is not known here.
    pub fn of<F>(_file: F) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Of what `path` leads to.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn reached_by(_path: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Of what lies at `path`.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn at(_path: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A directory. It is kept by its path, so that renaming it leads elsewhere: no descriptor can be held open here.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The directory that `path` leads to now.
    ///
    /// # Errors
    /// What the system says, such as that there is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        match path.is_dir() {
            true => Ok(Self { path }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The directory in which `path` lies, and the last part of `path`.
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
    /// None here.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { path: self.path.clone() })
    }

    /// The directory that `path` itself is; a symbolic link is refused.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_no_follow(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path)?.is_dir() {
            true => Self::open(path),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// A directory in this one; a symbolic link is refused.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn subdirectory(&self, name: &OsStr) -> io::Result<Self> {
        Self::open_no_follow(&self.join(name)?)
    }

    /// Makes a directory in this one, and opens it.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken, by whatever; else what the system says.
    pub fn create_subdirectory(&self, name: &OsStr) -> io::Result<Self> {
        self.make_subdirectory(name)?;
        self.subdirectory(name)
    }

    /// Makes a directory in this one.
    ///
    /// # Errors
    /// As [`Self::create_subdirectory`].
    pub fn make_subdirectory(&self, name: &OsStr) -> io::Result<()> {
        fs::create_dir(self.join(name)?)
    }

    /// Makes a new file in this directory and opens it for writing.
    ///
    /// # Errors
    /// As [`Self::create_file`].
    pub fn create_to_write(&self, name: &OsStr) -> io::Result<File> {
        File::options().write(true).create_new(true).open(self.join(name)?)
    }

    /// Opens a file of this directory for reading.
    ///
    /// # Errors
    /// What the system says.
    pub fn open_own(&self, name: &OsStr) -> io::Result<File> {
        File::open(self.join(name)?)
    }

    /// Bytes of what lies under a name.
    ///
    /// # Errors
    /// What the system says.
    pub fn len_of(&self, name: &OsStr) -> io::Result<u64> {
        Ok(fs::symlink_metadata(self.join(name)?)?.len())
    }

    /// Makes a new file in this directory and opens it for reading and writing; `mode` is of no use here.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken, by whatever; else what the system says.
    pub fn create_file(&self, name: &OsStr, _mode: u32) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(self.join(name)?)
    }

    /// Opens a regular file of this directory; anything else is refused.
    ///
    /// # Errors
    /// What the system says; `InvalidInput` if it is no regular file.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        self.open_as(name, false)
    }

    /// Opens a regular file of this directory for reading and writing.
    ///
    /// # Errors
    /// As [`Self::open_file`].
    pub fn open_file_to_write(&self, name: &OsStr) -> io::Result<File> {
        self.open_as(name, true)
    }

    fn open_as(&self, name: &OsStr, write: bool) -> io::Result<File> {
        if self.entry(name)?.is_some_and(|found| found.kind != FileType::RegularFile) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
        }
        let file = File::options().read(true).write(write).open(self.join(name)?)?;
        crate::read::regular(&file)?;
        Ok(file)
    }

    /// What lies under a name, if anything does. Which file it is and whose, is not known here: its identity is that of
    /// every other, and its owner 0.
    ///
    /// # Errors
    /// What the system says.
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

    /// All names in it.
    ///
    /// # Errors
    /// What the system says.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(&self.path)?.map(|entry| entry.map(|e| e.file_name())).collect()
    }

    /// Renames a file of this directory over another regular file of it, or to a new name.
    ///
    /// # Errors
    /// What the system says.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.join(from)?, self.join(to)?)
    }

    /// Tells that a rename cannot be told to replace nothing here: nothing is renamed.
    ///
    /// # Errors
    /// None here.
    pub fn try_rename_to_new(&self, _from: &OsStr, _to: &OsStr) -> io::Result<bool> {
        Ok(false)
    }

    /// Refuses a name that something has.
    ///
    /// # Errors
    /// `AlreadyExists`; else what the system says.
    pub fn refuse_taken(&self, name: &OsStr) -> io::Result<()> {
        match self.entry(name)? {
            None => Ok(()),
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    /// Renames a file of this directory to a name that must be free.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken, by whatever.
    pub fn rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        // A hard link fails where the name is taken.
        fs::hard_link(self.join(from)?, self.join(to)?)?;
        self.remove_file(from)
    }

    /// Removes a file, or a symbolic link itself.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.join(name)?)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_dir(self.join(name)?)
    }

    /// Writes back what its file system holds in memory, which cannot be asked for here.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`].
    pub fn sync_file_system(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Makes sure that new names in it outlive a power cut, which cannot be asked for here.
    ///
    /// # Errors
    /// None here.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// A path by which this process reaches it, as long as it is not renamed.
    #[must_use]
    pub fn reached(&self) -> PathBuf {
        self.path.clone()
    }

    /// The path that it had when it was opened.
    ///
    /// # Errors
    /// None here.
    pub fn path(&self) -> io::Result<PathBuf> {
        Ok(self.path.clone())
    }

    fn join(&self, name: &OsStr) -> io::Result<PathBuf> {
        Ok(self.path.join(single(name)?))
    }
}
